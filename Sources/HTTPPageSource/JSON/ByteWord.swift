/// Eight bytes that are examined together (Mycroft's test for a zero byte in a word). A match is marked by the highest
/// bit of its byte. Only the first mark is certain, because the subtraction borrows from the bytes after it.
struct ByteWord {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080
    private let word: UInt64

    init(_ loaded: UInt64) { word = UInt64(littleEndian: loaded) }

    /// - Parameter limit: the first value that does not match, at most 0x80.
    func bytes(below limit: UInt8) -> UInt64 { (word &- ByteWord.ones &* UInt64(limit)) & ~word & ByteWord.highBits }

    func bytes(equalTo byte: UInt8) -> UInt64 { ByteWord(word: word ^ (ByteWord.ones &* UInt64(byte))).bytes(below: 1) }

    var bytesBeyondASCII: UInt64 { word & ByteWord.highBits }

    private init(word: UInt64) { self.word = word }
}
