/// The bytes of a JSON text. The `check…` functions accept any bytes. The `skip…` functions are for checked text only:
/// they rely on its structure to stop.
struct JSONBytes {
    private let bytes: UnsafeBufferPointer<UInt8>

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    subscript(position: Int) -> UInt8 { bytes[position] }

    func skipSpace(_ start: Int) -> Int {
        var position = start
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return position
            }
        }
        return position
    }

    /// The eight bytes from `position` on. The text must have them.
    func word(_ position: Int) -> ByteWord {
        ByteWord(UnsafeRawPointer(bytes.baseAddress!).loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }
}
