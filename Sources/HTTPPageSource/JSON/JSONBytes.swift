/// The bytes of a JSON text. The `check…` functions and `skipSpace` accept any bytes. `skipString`, `skipValue` and
/// `plainEnd` are for checked text only: they rely on its structure to stop.
struct JSONBytes {
    /// The address of the first byte. Without bytes, an arbitrary address that is never read.
    private let base: UnsafeRawPointer
    let count: Int

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        count = bytes.count
        base = bytes.baseAddress.map { UnsafeRawPointer($0) } ?? UnsafeRawPointer(bitPattern: 1)!
    }

    @inline(__always)
    subscript(position: Int) -> UInt8 { base.load(fromByteOffset: position, as: UInt8.self) }

    @inline(__always)
    func skipSpace(_ start: Int) -> Int {
        // Most texts have no space between two values.
        start < count && self[start] > 0x20 ? start : skipSpaces(start)
    }

    private func skipSpaces(_ start: Int) -> Int {
        var position = start
        while position < count {
            switch self[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return position
            }
        }
        return position
    }

    /// The sixteen bytes from `position` on.
    /// - Precondition: at least sixteen bytes remain, including the byte at `position`.
    @inline(__always)
    func block(_ position: Int) -> ByteBlock {
        ByteBlock(base.loadUnaligned(fromByteOffset: position, as: SIMD16<Int8>.self))
    }

    /// The eight bytes from `position` on.
    /// - Precondition: at least eight bytes remain, including the byte at `position`.
    func word(_ position: Int) -> ByteWord {
        ByteWord(base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }
}
