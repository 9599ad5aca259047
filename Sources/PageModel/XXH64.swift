/// XXH64, the 64-bit hash of the xxHash family, by its published specification
/// (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md).
///
/// It hashes ids, names and rows; `XXH3` hashes items. All uses need speed and an even distribution, and none has to
/// resist an adversary. Where the equality of ids matters, the ids themselves are compared.
public enum XXH64 {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    /// The hash of `bytes`. Different seeds give unrelated hashes.
    public static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var position = 0
        let length = bytes.count
        var hash: UInt64
        if length >= 32 {
            var lane1 = seed &+ prime1 &+ prime2
            var lane2 = seed &+ prime2
            var lane3 = seed
            var lane4 = seed &- prime1
            while position <= length - 32 {
                lane1 = round(lane1, word64(bytes, position))
                lane2 = round(lane2, word64(bytes, position + 8))
                lane3 = round(lane3, word64(bytes, position + 16))
                lane4 = round(lane4, word64(bytes, position + 24))
                position += 32
            }
            hash = rotate(lane1, 1) &+ rotate(lane2, 7) &+ rotate(lane3, 12) &+ rotate(lane4, 18)
            hash = merge(hash, lane1)
            hash = merge(hash, lane2)
            hash = merge(hash, lane3)
            hash = merge(hash, lane4)
        } else {
            hash = seed &+ prime5
        }
        hash = hash &+ UInt64(length)
        while position <= length - 8 {
            hash ^= round(0, word64(bytes, position))
            hash = rotate(hash, 27) &* prime1 &+ prime4
            position += 8
        }
        if position <= length - 4 {
            hash ^=
                UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))) &* prime1
            hash = rotate(hash, 23) &* prime2 &+ prime3
            position += 4
        }
        while position < length {
            hash ^= UInt64(bytes[position]) &* prime5
            hash = rotate(hash, 11) &* prime1
            position += 1
        }
        hash = (hash ^ (hash >> 33)) &* prime2
        hash = (hash ^ (hash >> 29)) &* prime3
        return hash ^ (hash >> 32)
    }

    /// The hash of an array of bytes.
    public static func hash(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
        bytes.withUnsafeBytes { hash($0, seed: seed) }
    }

    /// The hash of the UTF-8 bytes of `text`.
    public static func hash(_ text: String, seed: UInt64 = 0) -> UInt64 {
        var text = text
        return text.withUTF8 { hash(UnsafeRawBufferPointer($0), seed: seed) }
    }

    @inline(__always)
    private static func word64(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
        (value << count) | (value >> (64 &- count))
    }

    @inline(__always)
    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotate(lane &+ word &* prime2, 31) &* prime1
    }

    @inline(__always)
    private static func merge(_ hash: UInt64, _ lane: UInt64) -> UInt64 {
        (hash ^ round(0, lane)) &* prime1 &+ prime4
    }
}
