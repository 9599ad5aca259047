/// A hash of a JSON value. White space and the order of members do not count. Strings count by their text without
/// escapes, and numbers by their spelling.
///
/// Equal values have equal hashes. The order of the values of a repeated name does not affect the hash.
struct JSONDigest {
    /// The most levels of arrays and objects, which is also the default of `HTTPLimits.depth`. Deeper values are not
    /// hashed.
    static let depth = 64

    private let scanner: JSONScanner

    /// Returns the hash of an array, an object or a string that makes up the whole of `payload`. Returns `nil` for a
    /// value that nests deeper than `depth`, and for any other payload: numbers and literals are compared by their
    /// bytes.
    static func hash(of payload: UnsafeRawBufferPointer) -> UInt64? {
        let digest = JSONDigest(payload)
        let start = digest.scanner.space(0)
        guard start < payload.count else { return nil }
        switch payload[start] {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): break
        default: return nil
        }
        guard let value = digest.value(start, depth), digest.scanner.space(value.end) == payload.count else {
            return nil
        }
        return value.hash
    }

    init(_ payload: UnsafeRawBufferPointer) { scanner = JSONScanner(bytes: payload) }

    /// Returns the end and the hash of the value at `start`. Returns `nil` when there is no value, or when it nests
    /// deeper than `levels`.
    func value(_ start: Int, _ levels: Int) -> (end: Int, hash: UInt64)? {
        guard start < scanner.bytes.count else { return nil }
        switch scanner.bytes[start] {
        case UInt8(ascii: "{"): return levels > 0 ? object(start, levels - 1) : nil
        case UInt8(ascii: "["): return levels > 0 ? array(start, levels - 1) : nil
        case UInt8(ascii: "\""): return string(start).map { ($0.end, JSONDigest.mixed($0.hash, 1)) }
        case UInt8(ascii: "t"): return scanner.word("true", start).map { ($0, 2) }
        case UInt8(ascii: "f"): return scanner.word("false", start).map { ($0, 3) }
        case UInt8(ascii: "n"): return scanner.word("null", start).map { ($0, 4) }
        default: return scanner.number(start).map { ($0, JSONDigest.mixed(bytes(start..<$0), 5)) }
        }
    }

    private func object(_ start: Int, _ levels: Int) -> (end: Int, hash: UInt64)? {
        var (sum, count): (UInt64, UInt64) = (0, 0)
        var position = scanner.space(start + 1)
        if position < scanner.bytes.count, scanner.bytes[position] == UInt8(ascii: "}") {
            return (position + 1, JSONDigest.mixed(0, 6))
        }
        while true {
            guard let name = string(position) else { return nil }
            position = scanner.space(name.end)
            guard position < scanner.bytes.count, scanner.bytes[position] == UInt8(ascii: ":"),
                let value = value(scanner.space(position + 1), levels)
            else { return nil }
            // A sum makes the hash independent of the order of the members.
            sum = sum &+ JSONDigest.mixed(name.hash, value.hash)
            count += 1
            position = scanner.space(value.end)
            guard position < scanner.bytes.count else { return nil }
            if scanner.bytes[position] == UInt8(ascii: "}") { return (position + 1, JSONDigest.mixed(sum, 6 + count)) }
            guard scanner.bytes[position] == UInt8(ascii: ",") else { return nil }
            position = scanner.space(position + 1)
        }
    }

    private func array(_ start: Int, _ levels: Int) -> (end: Int, hash: UInt64)? {
        var hash: UInt64 = 7
        var position = scanner.space(start + 1)
        if position < scanner.bytes.count, scanner.bytes[position] == UInt8(ascii: "]") { return (position + 1, hash) }
        while true {
            guard let value = value(position, levels) else { return nil }
            hash = JSONDigest.mixed(hash, value.hash)
            position = scanner.space(value.end)
            guard position < scanner.bytes.count else { return nil }
            if scanner.bytes[position] == UInt8(ascii: "]") { return (position + 1, hash) }
            guard scanner.bytes[position] == UInt8(ascii: ",") else { return nil }
            position = scanner.space(position + 1)
        }
    }

    /// Returns the end of the string at `start`, and the hash of its text.
    @inline(__always)
    private func string(_ start: Int) -> (end: Int, hash: UInt64)? {
        guard let string = scanner.string(start) else { return nil }
        let inside = start + 1..<string.end - 1
        guard string.hasEscapes else { return (string.end, bytes(inside)) }
        return (string.end, scanner.text(inside).withUnsafeBytes { JSONDigest.hash(of: $0, 0..<$0.count) })
    }

    @inline(__always)
    private func bytes(_ range: Range<Int>) -> UInt64 { JSONDigest.hash(of: scanner.bytes, range) }

    /// Returns the hash of a text. Most texts are too short for `XXH3` to be fast, and are hashed in words of eight
    /// bytes.
    @inline(__always)
    private static func hash(of bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> UInt64 {
        guard range.count <= 64 else { return XXH3.hash(UnsafeRawBufferPointer(rebasing: bytes[range])) }
        var hash = UInt64(truncatingIfNeeded: range.count) &* 0x1656_67B1_9E37_79F9
        var position = range.lowerBound
        while position &+ 8 <= range.upperBound {
            hash = mixed(hash, UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)))
            position &+= 8
        }
        guard position < range.upperBound else { return hash }
        let rest = range.upperBound &- position
        var word: UInt64 = 0
        if position &+ 8 <= bytes.count {
            // Bytes after the text are masked out.
            word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            word &= ~0 &>> UInt64(truncatingIfNeeded: 64 &- 8 &* rest)
        } else {
            for index in 0..<rest { word |= UInt64(bytes[position &+ index]) &<< UInt64(8 &* index) }
        }
        return mixed(hash, word)
    }

    @inline(__always)
    private static func mixed(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = (one ^ 0x9E37_79B1_85EB_CA87).multipliedFullWidth(by: other ^ 0xC2B2_AE3D_27D4_EB4F)
        return product.high ^ product.low
    }
}
