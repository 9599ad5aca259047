#if Tool
import Testing
@testable import pagecache

@Suite("Keys")
struct KeyTests {
    private static let sequences: [(bytes: [UInt8], keys: [Key])] = [
        ([0x1B, 0x5B, 0x41], [.up]), ([0x1B, 0x4F, 0x42], [.down]), ([0x1B], [.escape]), ([0x0D], [.enter]),
        ([0x61, 0x7F], [.character("a"), .backspace]), ([0xC3, 0xA4], [.character("ä")]),
        ([0x1B, 0x5B, 0x31, 0x3B, 0x35, 0x43, 0x71], [.character("q")]), ([0x01], []), ([], []),
    ]

    @Test("Keys are read from the bytes of a terminal, and unknown sequences are left out")
    func decoded() {
        for (bytes, keys) in KeyTests.sequences { #expect(Key.all(in: bytes) == keys, "\(bytes)") }
    }
}
#endif
