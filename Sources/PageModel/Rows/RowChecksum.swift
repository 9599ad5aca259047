/// The checksum of a row over its own columns, in their order.
///
/// Texts and blobs are first hashed to one word. Every step is a bijection of the previous value and of the mixed word.
/// A single different word therefore always changes the seal. Two different words go unnoticed with a probability of
/// about 2^-64.
package struct RowChecksum {
    package private(set) var value: UInt64

    package init(_ table: UInt64) {
        value = table &* RowChecksum.odd
    }

    package mutating func mix(_ word: UInt64) {
        value = (value ^ word) &* RowChecksum.odd
        value ^= value >> 32
    }

    package mutating func mix(_ number: Int64) { mix(UInt64(bitPattern: number)) }
    package mutating func mix(_ number: Int) { mix(UInt64(bitPattern: Int64(number))) }
    package mutating func mix(_ bytes: UnsafeRawBufferPointer) { mix(XXH64.hash(bytes, seed: UInt64(bytes.count))) }
    package mutating func mixNull() { mix(RowChecksum.null) }

    package mutating func mix(_ text: String?) {
        guard var text else { return mixNull() }
        text.withUTF8 { mix(UnsafeRawBufferPointer($0)) }
    }

    package mutating func mix(_ number: Int?) {
        guard let number else { return mixNull() }
        mix(number)
    }

    package mutating func mix(_ time: Timestamp?) {
        guard let time else { return mixNull() }
        mix(time.milliseconds)
    }

    private static let odd: UInt64 = 0x9E37_79B9_7F4A_7C15
    private static let null: UInt64 = 0x6e75_6c6c_6e75_6c6c

    package static let query: UInt64 = 1
    package static let page: UInt64 = 2
    package static let identity: UInt64 = 3
    package static let body: UInt64 = 4
    package static let store: UInt64 = 5
    package static let journal: UInt64 = 6
}
