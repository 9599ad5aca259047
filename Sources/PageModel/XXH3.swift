/// XXH3 in its 64-bit form, without a seed, by its published specification
/// (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md).
///
/// It hashes the items of pages, which make up nearly all hashed bytes, and processes more bytes at a time than XXH64.
/// Like XXH64, it does not resist an adversary, and does not have to.
package enum XXH3 {
    private static let prime32 = (one: UInt64(0x9E37_79B1), two: UInt64(0x85EB_CA77), three: UInt64(0xC2B2_AE3D))
    private static let prime64 = (
        one: UInt64(0x9E37_79B1_85EB_CA87), two: UInt64(0xC2B2_AE3D_27D4_EB4F), three: UInt64(0x1656_67B1_9E37_79F9),
        four: UInt64(0x85EB_CA77_C2B2_AE63), five: UInt64(0x27D4_EB2F_1656_67C5)
    )
    private static let mixing = (one: UInt64(0x1656_6791_9E37_79F9), two: UInt64(0x9FB2_1C65_1E98_DF25))

    /// The hash of `bytes`.
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        secret.withUnsafeBytes { secret in
            switch bytes.count {
            case 0: avalanche64(word(secret, 56) ^ word(secret, 64))
            case 1...3: few(bytes, secret)
            case 4...8: half(bytes, secret)
            case 9...16: pair(bytes, secret)
            case 17...128: short(bytes, secret)
            case 129...240: medium(bytes, secret)
            default: long(bytes, secret)
            }
        }
    }

    // MARK: Up to 16 bytes

    private static func few(_ bytes: UnsafeRawBufferPointer, _ secret: UnsafeRawBufferPointer) -> UInt64 {
        let count = bytes.count
        let ends = UInt32(bytes[count - 1]) | UInt32(count) << 8
        let combined = ends | UInt32(bytes[0]) << 16 | UInt32(bytes[count >> 1]) << 24
        return avalanche64(UInt64(half(secret, 0) ^ half(secret, 4)) ^ UInt64(combined))
    }

    private static func half(_ bytes: UnsafeRawBufferPointer, _ secret: UnsafeRawBufferPointer) -> UInt64 {
        let combined = UInt64(half(bytes, bytes.count - 4)) | UInt64(half(bytes, 0)) << 32
        var hash = (word(secret, 8) ^ word(secret, 16)) ^ combined
        hash ^= rotate(hash, 49) ^ rotate(hash, 24)
        hash = hash &* mixing.two
        hash ^= (hash >> 35) &+ UInt64(bytes.count)
        hash = hash &* mixing.two
        return hash ^ hash >> 28
    }

    private static func pair(_ bytes: UnsafeRawBufferPointer, _ secret: UnsafeRawBufferPointer) -> UInt64 {
        let low = (word(secret, 24) ^ word(secret, 32)) ^ word(bytes, 0)
        let high = (word(secret, 40) ^ word(secret, 48)) ^ word(bytes, bytes.count - 8)
        return avalanche(UInt64(bytes.count) &+ low.byteSwapped &+ high &+ folded(low, high))
    }

    // MARK: Up to 240 bytes

    private static func short(_ bytes: UnsafeRawBufferPointer, _ secret: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(bytes.count) &* prime64.one
        // Mixes from both ends inwards, up to the middle.
        for round in 0...(bytes.count - 1) >> 5 {
            hash = hash &+ mixed(bytes, round * 16, secret, round * 32)
            hash = hash &+ mixed(bytes, bytes.count - round * 16 - 16, secret, round * 32 + 16)
        }
        return avalanche(hash)
    }

    private static func medium(_ bytes: UnsafeRawBufferPointer, _ secret: UnsafeRawBufferPointer) -> UInt64 {
        var hash = UInt64(bytes.count) &* prime64.one
        for round in 0..<8 { hash = hash &+ mixed(bytes, round * 16, secret, round * 16) }
        hash = avalanche(hash)
        for round in 8..<bytes.count >> 4 { hash = hash &+ mixed(bytes, round * 16, secret, (round - 8) * 16 + 3) }
        return avalanche(hash &+ mixed(bytes, bytes.count - 16, secret, 136 - 17))
    }

    private static func mixed(
        _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ secret: UnsafeRawBufferPointer, _ place: Int
    ) -> UInt64 {
        folded(word(bytes, offset) ^ word(secret, place), word(bytes, offset + 8) ^ word(secret, place + 8))
    }

    // MARK: More than 240 bytes

    /// Hashes stripes of 64 bytes in eight lanes. The specification adds each word to the neighbouring lane at once.
    /// This code sums the words in `sums` and adds them at the end of a block. The result is the same, because within a
    /// block the lanes are only added to. No word has to change lanes at each stripe.
    private static func long(_ bytes: UnsafeRawBufferPointer, _ secret: UnsafeRawBufferPointer) -> UInt64 {
        var lanes = SIMD8(
            prime32.three, prime64.one, prime64.two, prime64.three, prime64.four, prime32.two, prime64.five, prime32.one
        )
        var sums = SIMD8<UInt64>.zero
        var offset = 0
        // A block has as many stripes as the secret has offsets for: 16. The last byte never belongs to a full block.
        while offset + 1024 < bytes.count {
            for stripe in 0..<16 { add(bytes, offset + stripe * 64, secret, stripe * 8, &lanes, &sums) }
            foldSums(&lanes, &sums)
            lanes = ((lanes ^ (lanes &>> 47)) ^ stripe(secret, 128)) &* prime32.one
            offset += 1024
        }
        var place = 0
        while offset + 64 < bytes.count {
            add(bytes, offset, secret, place, &lanes, &sums)
            offset += 64
            place += 8
        }
        add(bytes, bytes.count - 64, secret, 128 - 7, &lanes, &sums)
        foldSums(&lanes, &sums)
        let keyed = lanes ^ stripe(secret, 11)
        var hash = UInt64(bytes.count) &* prime64.one
        for lane in 0..<4 { hash = hash &+ folded(keyed[lane * 2], keyed[lane * 2 + 1]) }
        return avalanche(hash)
    }

    @inline(__always)
    private static func add(
        _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ secret: UnsafeRawBufferPointer, _ place: Int,
        _ lanes: inout SIMD8<UInt64>, _ sums: inout SIMD8<UInt64>
    ) {
        let data = stripe(bytes, offset)
        let keyed = data ^ stripe(secret, place)
        lanes = lanes &+ (keyed & 0xFFFF_FFFF) &* (keyed &>> 32)
        sums = sums &+ data
    }

    @inline(__always)
    private static func foldSums(_ lanes: inout SIMD8<UInt64>, _ sums: inout SIMD8<UInt64>) {
        lanes = lanes &+ SIMD8(sums[1], sums[0], sums[3], sums[2], sums[5], sums[4], sums[7], sums[6])
        sums = .zero
    }

    // MARK: Words

    /// Loads the words as they are in memory: every platform of Swift is little-endian.
    @inline(__always)
    private static func stripe(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> SIMD8<UInt64> {
        bytes.loadUnaligned(fromByteOffset: offset, as: SIMD8<UInt64>.self)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    @inline(__always)
    private static func half(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
    }

    @inline(__always)
    private static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 { value << count | value >> (64 &- count) }

    /// The two halves of the product, combined by XOR.
    @inline(__always)
    private static func folded(_ one: UInt64, _ other: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: other)
        return product.low ^ product.high
    }

    private static func avalanche(_ hash: UInt64) -> UInt64 {
        let mixed = (hash ^ hash >> 37) &* mixing.one
        return mixed ^ mixed >> 32
    }

    /// The final mixing step of XXH64.
    private static func avalanche64(_ hash: UInt64) -> UInt64 {
        var mixed = (hash ^ hash >> 33) &* prime64.two
        mixed = (mixed ^ mixed >> 29) &* prime64.three
        return mixed ^ mixed >> 32
    }
}

/// The specification's default secret, in words of eight bytes.
private let secret: [UInt64] = [
    0xBE4B_A423_396C_FEB8, 0x1CAD_21F7_2C81_017C, 0xDB97_9083_E96D_D4DE, 0x1F67_B3B7_A4A4_4072,
    0x78E5_C0CC_4EE6_79CB, 0x2172_FFCC_7DD0_5A82, 0x8E24_43F7_7446_08B8, 0x4C26_3A81_E690_35E0,
    0xCB00_C391_BB52_283C, 0xA32E_531B_8B65_D088, 0x4EF9_0DA2_9748_6471, 0xD8AC_DEA9_46EF_1938,
    0x3F34_9CE3_3F76_FAA8, 0x1D4F_0BC7_C7BB_DCF9, 0x3159_B4CD_4BE0_518A, 0x6473_78D9_C97E_9FC8,
    0xC3EB_D334_83AC_C5EA, 0xEB63_13FA_FFA0_81C5, 0x49DA_F0B7_51DD_0D17, 0x9E68_D429_2655_16D3,
    0xFCA1_477D_58BE_162B, 0xCE31_D07A_D1B8_F88F, 0x2804_1695_8F3A_CB45, 0x7E40_4BBB_CAFB_D7AF,
]
