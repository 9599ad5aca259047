/// Conversions of JSON text into values.
package enum JSONText {
    /// The text of a string, without its escapes.
    package struct Unescaped {
        /// UTF-8, if the input is. An escaped lone surrogate is not a Unicode scalar and becomes U+FFFD.
        package var bytes: [UInt8]
        /// Whether the string had an escaped lone surrogate. Other strings may then have the same text.
        package var hasLoneSurrogate: Bool
    }

    /// Undoes the escapes of a string (RFC 8259, 7).
    ///
    /// The function never reads past the end, for any bytes (R46). A backslash at the end stays in the text. An escape
    /// `\u` without four digits is dropped.
    /// - Parameter raw: the bytes between the quotes.
    package static func unescape(_ raw: UnsafeRawBufferPointer) -> Unescaped {
        var units: [UInt8] = []
        units.reserveCapacity(raw.count)
        var hasLoneSurrogate = false
        var position = 0
        while position < raw.count {
            guard raw[position] == UInt8(ascii: "\\"), position + 1 < raw.count else {
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
                guard let unit = hex(raw, position) else { continue }
                let scalar = scalar(unit, raw, &position)
                hasLoneSurrogate = hasLoneSurrogate || scalar == nil
                units.append(contentsOf: scalar.flatMap { UTF8.encode($0) } ?? UTF8.encodedReplacementCharacter)
            default: units.append(code)
            }
        }
        return Unescaped(bytes: units, hasLoneSurrogate: hasLoneSurrogate)
    }

    /// The scalar that starts with `unit`, whose four digits are at `position`. Moves `position` after the escape, or
    /// after both escapes of a pair. Returns nil for a surrogate without its other half (RFC 8259, 8.2).
    private static func scalar(_ unit: UInt32, _ raw: UnsafeRawBufferPointer, _ position: inout Int) -> Unicode.Scalar?
    {
        position += 4
        guard (0xD800..<0xDC00).contains(unit), position + 6 <= raw.count, raw[position] == UInt8(ascii: "\\"),
            raw[position + 1] == UInt8(ascii: "u"), let low = hex(raw, position + 2), (0xDC00..<0xE000).contains(low)
        else { return Unicode.Scalar(unit) }
        position += 6
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    }

    /// The value of the four hexadecimal digits at `start`. Returns nil when there are none.
    private static func hex(_ raw: UnsafeRawBufferPointer, _ start: Int) -> UInt32? {
        guard start + 4 <= raw.count else { return nil }
        var number: UInt32 = 0
        for position in start..<start + 4 {
            let digit = raw[position]
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt32(digit & 0xF)
            case UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                number = number << 4 | (UInt32(digit & 0xF) + 9)
            default: return nil
            }
        }
        return number
    }
}
