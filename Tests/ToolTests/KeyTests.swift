#if Tool
import Testing
@testable import pagecache

@Suite("Keys")
struct KeyTests {
    private static let sequences: [(bytes: [UInt8], keys: [Key])] = [
        ([0x1B, 0x5B, 0x41], [.up]), ([0x1B, 0x4F, 0x42], [.down]), ([0x1B], [.escape]), ([0x0D], [.enter]),
        ([0x61, 0x7F], [.character("a"), .backspace]), ([0xC3, 0xA4], [.character("ä")]),
        ([0x1B, 0x5B, 0x31, 0x3B, 0x35, 0x43, 0x71], [.character("q")]), ([0x01], []), ([], []),
        (Array("\u{1b}[5~\u{1b}[6~".utf8), [.pageUp, .pageDown]),
        (Array("\u{1b}[H\u{1b}OH\u{1b}[1~\u{1b}[7~".utf8), [.home, .home, .home, .home]),
        (Array("\u{1b}[F\u{1b}OF\u{1b}[4~\u{1b}[8~".utf8), [.end, .end, .end, .end]),
        (Array("\u{1b}[2~\u{1b}[3~\u{1b}[15~".utf8), []),
    ]

    @Test("Keys are read from the bytes of a terminal, and unknown sequences are left out")
    func decoded() {
        for (bytes, keys) in KeyTests.sequences { #expect(Key.all(in: bytes) == keys, "\(bytes)") }
    }
}
#endif
