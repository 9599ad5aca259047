/// The few places where JSON text is turned into values.
enum JSONText {
    /// What a string says, without its escapes.
    struct Unescaped {
        /// An escaped lone surrogate is no Unicode scalar; here it is U+FFFD.
        var text: String
        /// Whether there was such a one. Then other strings may come to the same text.
        var hasLoneSurrogate: Bool
    }

    /// Undoes the escapes of a checked string.
    static func unescape(_ raw: ArraySlice<UInt8>) -> Unescaped {
        var units: [UInt8] = []
        units.reserveCapacity(raw.count)
        var hasLoneSurrogate = false
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
                let scalar = scalar(raw, &position)
                hasLoneSurrogate = hasLoneSurrogate || scalar == nil
                units.append(contentsOf: scalar.flatMap { UTF8.encode($0) } ?? UTF8.encodedReplacementCharacter)
            default: units.append(code)
            }
        }
        return Unescaped(text: String(decoding: units, as: UTF8.self), hasLoneSurrogate: hasLoneSurrogate)
    }

    /// The scalar whose digits begin at `position`, which is moved behind them: behind both escapes of a pair. Nil for a
    /// surrogate without its other half (RFC 8259, 8.2).
    private static func scalar(_ raw: ArraySlice<UInt8>, _ position: inout Int) -> Unicode.Scalar? {
        let unit = hex(raw[position..<position + 4])
        position += 4
        guard (0xD800..<0xDC00).contains(unit), position + 6 <= raw.endIndex, raw[position] == UInt8(ascii: "\\"),
            raw[position + 1] == UInt8(ascii: "u")
        else { return Unicode.Scalar(unit) }
        let low = hex(raw[position + 2..<position + 6])
        guard (0xDC00..<0xE000).contains(low) else { return nil }
        position += 6
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    }

    private static func hex(_ digits: ArraySlice<UInt8>) -> UInt32 {
        digits.reduce(0) { $0 << 4 | UInt32($1 & 0xF) + ($1 > UInt8(ascii: "9") ? 9 : 0) }
    }
}
