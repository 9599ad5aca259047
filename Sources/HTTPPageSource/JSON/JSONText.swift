/// The few places where JSON text is turned into values.
enum JSONText {
    /// Undoes the escapes of a checked string. An escaped lone surrogate is no Unicode scalar; it becomes U+FFFD.
    static func unescape(_ raw: ArraySlice<UInt8>) -> String {
        var units: [UInt8] = []
        units.reserveCapacity(raw.count)
        var position = raw.startIndex
        while position < raw.endIndex {
            guard raw[position] == UInt8(ascii: "\\") else {
                units.append(raw[position])
                position += 1
                continue
            }
            let code = raw[position + 1]
            position += 2
            switch code {
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0C)
            case UInt8(ascii: "n"): units.append(0x0A)
            case UInt8(ascii: "r"): units.append(0x0D)
            case UInt8(ascii: "t"): units.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = hex(raw[position..<position + 4])
                position += 4
                let isHigh = (0xD800..<0xDC00).contains(scalar)
                if isHigh, position + 6 <= raw.endIndex, raw[position] == UInt8(ascii: "\\"),
                    raw[position + 1] == UInt8(ascii: "u")
                {
                    let low = hex(raw[position + 2..<position + 6])
                    if (0xDC00..<0xE000).contains(low) {
                        scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
                        position += 6
                    }
                }
                let character = Unicode.Scalar(scalar) ?? "\u{FFFD}"
                units.append(contentsOf: UTF8.encode(character) ?? UTF8.encodedReplacementCharacter)
            default: units.append(code)
            }
        }
        return String(decoding: units, as: UTF8.self)
    }

    /// A whole number in any of JSON's spellings (`30`, `30.0`, `3e1`), with spaces around it; nil for everything
    /// else. Numbers beyond `Int` are clamped: a total that large is a lie anyway (R44).
    static func wholeNumber(_ text: String) -> Int? {
        let trimmed = text.drop(while: \.isWhitespace)
        let digits = trimmed.reversed().drop(while: \.isWhitespace).reversed()
        let number = String(digits)
        if let exact = Int(number) { return exact }
        // `Double` also reads hexadecimal, "inf" and "nan"; JSON knows none of them.
        guard number.utf8.allSatisfy({ Array("0123456789+-.eE".utf8).contains($0) }),
            let value = Double(number), value.isFinite, value == value.rounded(.towardZero)
        else { return nil }
        if value >= 0x1p62 { return Int.max }
        if value <= -0x1p62 { return Int.min }
        return Int(value)
    }

    private static func hex(_ digits: ArraySlice<UInt8>) -> UInt32 {
        digits.reduce(0) { $0 << 4 | UInt32($1 & 0xF) + ($1 > UInt8(ascii: "9") ? 9 : 0) }
    }
}
