#if Tool
/// Looks into JSON without decoding it. Payloads come from a store that may hold anything (R46): nothing here reads past the
/// end, and what is not JSON has no members.
enum JSONBytes {
    typealias Buffer = UnsafeRawBufferPointer

    /// Calls `body` with each member of the object that `value` is, in order: the name without its quotes, and the value.
    /// Nothing for anything else. Stops when `body` says false.
    static func eachMember(of value: Buffer, _ body: (_ name: Buffer, _ value: Buffer) throws -> Bool) rethrows {
        var position = skipSpace(value, 0)
        guard byte(value, position) == UInt8(ascii: "{") else { return }
        position = skipSpace(value, position + 1)
        while byte(value, position) == UInt8(ascii: "\"") {
            let nameEnd = skipString(value, position)
            let colon = skipSpace(value, nameEnd)
            guard byte(value, colon) == UInt8(ascii: ":") else { return }
            let start = skipSpace(value, colon + 1)
            let end = skipValue(value, start)
            guard end > start, try body(slice(value, position + 1, nameEnd - 1), slice(value, start, end)) else { return }
            position = skipSpace(value, end)
            guard byte(value, position) == UInt8(ascii: ",") else { return }
            position = skipSpace(value, position + 1)
        }
    }

    /// The element at `index` of the array that `value` is.
    static func element(_ index: Int, of value: Buffer) -> Buffer? {
        var position = skipSpace(value, 0)
        guard byte(value, position) == UInt8(ascii: "[") else { return nil }
        position = skipSpace(value, position + 1)
        var number = 0
        while position < value.count, byte(value, position) != UInt8(ascii: "]") {
            let end = skipValue(value, position)
            guard end > position else { return nil }
            if number == index { return slice(value, position, end) }
            number += 1
            position = skipSpace(value, end)
            guard byte(value, position) == UInt8(ascii: ",") else { return nil }
            position = skipSpace(value, position + 1)
        }
        return nil
    }

    /// Whether a value is neither an object nor an array.
    static func isScalar(_ value: Buffer) -> Bool {
        guard let first = value.first else { return false }
        return first != UInt8(ascii: "{") && first != UInt8(ascii: "[")
    }

    /// The text between the quotes of a string with its escapes undone (RFC 8259, 7). A lone surrogate becomes U+FFFD.
    static func unescape(_ raw: Buffer) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(raw.count)
        var position = 0
        while position < raw.count {
            guard raw[position] == UInt8(ascii: "\\"), position + 1 < raw.count else {
                text.append(raw[position])
                position += 1
                continue
            }
            let code = raw[position + 1]
            position += 2
            switch code {
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): position = unescape(raw, at: position, into: &text)
            default: text.append(code)
            }
        }
        return text
    }

    private static func unescape(_ raw: Buffer, at start: Int, into text: inout [UInt8]) -> Int {
        guard let unit = hex(raw, start) else { return start }
        var scalar = unit
        var end = start + 4
        if (0xD800..<0xDC00).contains(unit), byte(raw, end) == UInt8(ascii: "\\"), byte(raw, end + 1) == UInt8(ascii: "u"),
            let low = hex(raw, end + 2), (0xDC00..<0xE000).contains(low)
        {
            scalar = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            end += 6
        }
        text.append(contentsOf: UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
        return end
    }

    private static func hex(_ raw: Buffer, _ start: Int) -> UInt32? {
        guard start + 4 <= raw.count else { return nil }
        var value: UInt32 = 0
        for position in start..<start + 4 {
            guard let digit = Character(Unicode.Scalar(raw[position])).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    // MARK: Steps

    private static func byte(_ value: Buffer, _ position: Int) -> UInt8? { position < value.count ? value[position] : nil }

    private static func slice(_ value: Buffer, _ start: Int, _ end: Int) -> Buffer {
        Buffer(rebasing: value[start..<max(start, end)])
    }

    private static func skipSpace(_ value: Buffer, _ start: Int) -> Int {
        var position = start
        while position < value.count {
            switch value[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return position
            }
        }
        return position
    }

    /// Behind the closing quote; the end where there is none.
    private static func skipString(_ value: Buffer, _ start: Int) -> Int {
        var position = start + 1
        while position < value.count {
            if value[position] == UInt8(ascii: "\"") { return position + 1 }
            position += value[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return value.count
    }

    /// Behind the value that begins at `start`; `start` itself where none begins.
    private static func skipValue(_ value: Buffer, _ start: Int) -> Int {
        var position = start
        var depth = 0
        while position < value.count {
            switch value[position] {
            case UInt8(ascii: "\""):
                position = skipString(value, position)
                if depth == 0 { return position }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return position }
                depth -= 1
                position += 1
                if depth == 0 { return position }
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
                guard depth > 0 else { return position }
                position += 1
            default:
                position += 1
            }
        }
        return position
    }
}
#endif
