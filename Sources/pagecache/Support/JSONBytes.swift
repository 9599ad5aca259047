#if Tool
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Reads JSON without decoding it. Payloads come from a store that may hold any bytes (R46). The functions never read
/// past the end. They check no more syntax than they need, and stop where it is broken.
enum JSONBytes {
    typealias Buffer = UnsafeRawBufferPointer

    /// Calls `body` with each member of the object `value`, in order: the name without its quotes but with its escapes,
    /// and the value. Does not call `body` for a value of another kind. Stops when `body` returns false.
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
            guard end > start, try body(slice(value, position + 1, nameEnd - 1), slice(value, start, end)) else {
                return
            }
            position = skipSpace(value, end)
            guard byte(value, position) == UInt8(ascii: ",") else { return }
            position = skipSpace(value, position + 1)
        }
    }

    /// The element at `index` of the array `value`. Returns nil when there is none.
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

    /// The position of the first `wanted` byte from `start` on. Returns nil when there is none. memchr(3) compares many
    /// bytes at once, which matters because an export reads every byte several times.
    static func first(_ wanted: UInt8, in value: Buffer, from start: Int = 0) -> Int? {
        guard let base = value.baseAddress, start < value.count,
            let found = memchr(base + start, Int32(wanted), value.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }

    // MARK: Steps

    private static func byte(_ value: Buffer, _ position: Int) -> UInt8? {
        position < value.count ? value[position] : nil
    }

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

    /// The position after the closing quote. The end of the bytes when there is none.
    private static func skipString(_ value: Buffer, _ start: Int) -> Int {
        var position = start + 1
        while let quote = first(UInt8(ascii: "\""), in: value, from: position) {
            // An odd number of backslashes before a quote escapes it (RFC 8259, 7).
            var backslashes = 0
            while quote - backslashes > position, value[quote - backslashes - 1] == UInt8(ascii: "\\") {
                backslashes += 1
            }
            position = quote + 1
            if backslashes % 2 == 0 { return position }
        }
        return value.count
    }

    /// The position after the value at `start`. `start` itself when no value begins there.
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
