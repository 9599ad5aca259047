/// Sixteen bytes that are examined together. A returned position is the index of a matching byte in the block.
struct ByteBlock {
    /// The number of bytes in a block.
    static let size = 16

    private let bytes: SIMD16<Int8>

    @inline(__always)
    init(_ loaded: SIMD16<Int8>) { bytes = loaded }

    /// The position of the first byte that ends plain ASCII text: a quote, a backslash, a control character, or a byte
    /// beyond ASCII. 16 without such a byte.
    @inline(__always)
    var firstSpecial: Int { ByteBlock.first(special) }

    /// Whether one of two blocks has a byte that ends plain ASCII text.
    @inline(__always)
    static func hasSpecial(_ one: ByteBlock, _ two: ByteBlock) -> Bool {
        let halves = unsafeBitCast(one.special .| two.special, to: SIMD2<UInt64>.self)
        return halves[0] | halves[1] != 0
    }

    /// Marks the bytes that end plain ASCII text. A byte beyond ASCII is negative as a signed number, and so less than
    /// 0x20.
    @inline(__always)
    private var special: SIMDMask<SIMD16<Int8>> {
        let control = bytes .< SIMD16<Int8>(repeating: 0x20)
        let quote = bytes .== SIMD16<Int8>(repeating: 0x22)
        let slash = bytes .== SIMD16<Int8>(repeating: 0x5C)
        return control .| quote .| slash
    }

    /// The position of the first quote or backslash. 16 without one.
    @inline(__always)
    var firstQuoteOrBackslash: Int {
        let quote = bytes .== SIMD16<Int8>(repeating: 0x22)
        let slash = bytes .== SIMD16<Int8>(repeating: 0x5C)
        return ByteBlock.first(quote .| slash)
    }

    /// The index of the first byte that is set in a mask. 16 when none is.
    @inline(__always)
    private static func first(_ mask: SIMDMask<SIMD16<Int8>>) -> Int {
        let halves = unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        let low = UInt64(littleEndian: halves[0])
        if low != 0 { return low.trailingZeroBitCount >> 3 }
        let high = UInt64(littleEndian: halves[1])
        return high != 0 ? 8 + high.trailingZeroBitCount >> 3 : size
    }
}
