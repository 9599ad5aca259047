/// Steps through bytes that may be JSON (RFC 8259) in UTF-8. Each step checks the bytes that it passes, and returns
/// `nil` when they are not JSON. No step reads beyond the end.
struct JSONScanner {
    /// The end of a string, and whether its text contains escapes.
    struct StringEnd {
        /// The position after the closing quote.
        var end: Int
        var hasEscapes: Bool
    }

    let bytes: UnsafeRawBufferPointer

    /// Returns the first position from `start` on without white space, or the end.
    @inline(__always)
    func space(_ start: Int) -> Int {
        var position = start
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return position
            }
        }
        return position
    }

    /// Returns the end of the string whose opening quote is at `start`.
    @inline(__always)
    func string(_ start: Int) -> StringEnd? {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else { return nil }
        var position = start + 1
        var hasEscapes = false
        while true {
            position = plainEnd(position)
            guard position < bytes.count else { return nil }
            switch bytes[position] {
            case UInt8(ascii: "\""): return StringEnd(end: position + 1, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                guard let end = escape(position) else { return nil }
                position = end
            case 0x80...:
                guard let end = sequence(position) else { return nil }
                position = end
            default: return nil
            }
        }
    }

    /// Returns the end of the number at `start`.
    func number(_ start: Int) -> Int? {
        var position = start
        if position < bytes.count, bytes[position] == UInt8(ascii: "-") { position += 1 }
        guard position < bytes.count, isDigit(bytes[position]) else { return nil }
        let isZero = bytes[position] == UInt8(ascii: "0")
        position = isZero ? position + 1 : digits(position)
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            let end = digits(position + 1)
            guard end > position + 1 else { return nil }
            position = end
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            let end = digits(position)
            guard end > position else { return nil }
            position = end
        }
        return position
    }

    /// Returns the end of `word` at `start`.
    func word(_ word: StaticString, _ start: Int) -> Int? {
        let length = word.utf8CodeUnitCount
        guard length <= bytes.count - start, (0..<length).allSatisfy({ bytes[start + $0] == word.utf8Start[$0] }) else {
            return nil
        }
        return start + length
    }

    private func digits(_ start: Int) -> Int {
        var position = start
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
        return position
    }

    @inline(__always)
    private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    /// Returns the first position from `start` on with a quote, a backslash, a control character or a byte beyond
    /// ASCII.
    @inline(__always)
    private func plainEnd(_ start: Int) -> Int {
        var position = start
        while position + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let found = JSONScanner.special(word)
            guard found == 0 else { return position + found.trailingZeroBitCount / 8 }
            position += 8
        }
        while position < bytes.count {
            let byte = bytes[position]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
            position += 1
        }
        return position
    }

    /// Marks the highest bit of each byte that ends plain text. The lowest mark is always right; a higher one may be
    /// wrong.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (ones &* 0x22)
        let slash = word ^ (ones &* 0x5C)
        let low = (word &- ones &* 0x20) & ~word
        return (low | (quote &- ones) & ~quote | (slash &- ones) & ~slash | word) & (ones &* 0x80)
    }

    @inline(never)
    private func escape(_ start: Int) -> Int? {
        guard start + 1 < bytes.count else { return nil }
        switch bytes[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"):
            return unit(start + 2) == nil ? nil : start + 6
        default:
            return nil
        }
    }

    /// Returns the number that the four hexadecimal digits at `start` represent.
    private func unit(_ start: Int) -> UInt32? {
        guard start + 4 <= bytes.count else { return nil }
        var number: UInt32 = 0
        for position in start..<start + 4 {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt32(byte & 0xF)
            case UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                number = number << 4 | UInt32(byte & 0xF) + 9
            default: return nil
            }
        }
        return number
    }

    /// Returns the end of the UTF-8 sequence of two to four bytes at `start` (RFC 3629, 4).
    @inline(never)
    private func sequence(_ start: Int) -> Int? {
        let first = bytes[start]
        let length =
            switch first {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 0
            }
        guard length > 0, start + length <= bytes.count else { return nil }
        for position in start + 1..<start + length where bytes[position] & 0xC0 != 0x80 { return nil }
        let second = bytes[start + 1]
        switch first {
        case 0xE0 where second < 0xA0, 0xED where second > 0x9F: return nil
        case 0xF0 where second < 0x90, 0xF4 where second > 0x8F: return nil
        default: return start + length
        }
    }
}

extension JSONScanner {
    /// Returns the text of a string that `string` has checked, in UTF-8. An escaped lone surrogate becomes the three
    /// bytes that UTF-8 would use for it. No valid text contains these bytes.
    /// - Parameter range: the bytes between the quotes.
    func text(_ range: Range<Int>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(range.count)
        var position = range.lowerBound
        while position < range.upperBound {
            guard bytes[position] == UInt8(ascii: "\\") else {
                text.append(bytes[position])
                position += 1
                continue
            }
            let code = bytes[position + 1]
            position += 2
            switch code {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): append(scalar(&position, before: range.upperBound), to: &text)
            default: text.append(code)
            }
        }
        return text
    }

    /// Returns the code point of the escape whose digits are at `position`. Moves `position` after the escape, or
    /// after both escapes of a surrogate pair.
    private func scalar(_ position: inout Int, before end: Int) -> UInt32 {
        let high = unit(position) ?? 0
        position += 4
        guard (0xD800..<0xDC00).contains(high), position + 6 <= end, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u"), let low = unit(position + 2), (0xDC00..<0xE000).contains(low)
        else { return high }
        position += 6
        return 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
    }

    private func append(_ scalar: UInt32, to text: inout [UInt8]) {
        func rest(_ shift: UInt32) -> UInt8 { UInt8(0x80 | scalar >> shift & 0x3F) }
        switch scalar {
        case ..<0x80: text.append(UInt8(scalar))
        case ..<0x800: text += [UInt8(0xC0 | scalar >> 6), rest(0)]
        case ..<0x10000: text += [UInt8(0xE0 | scalar >> 12), rest(6), rest(0)]
        default: text += [UInt8(0xF0 | scalar >> 18), rest(12), rest(6), rest(0)]
        }
    }
}
