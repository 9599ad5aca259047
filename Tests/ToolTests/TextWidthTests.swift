#if Tool
import Testing
@testable import pagecache

/// Widths match those of terminals. An error of one column would shift everything to the right of it.
@Suite("The width of a text in columns")
struct TextWidthTests {
    @Test(
        "Most characters take one column, wide ones two, and combining ones none",
        arguments: [
            ("", 0), ("plain", 5), ("Zürich", 6), ("Zu\u{308}rich", 6), ("漢字", 4), ("ｗｉｄｅ", 8), ("ﾊﾝｶｸ", 4),
            ("か\u{3099}", 2), ("𠀀", 2), ("한글", 4),
            ("\u{1112}\u{1161}\u{11AB}", 2), ("\u{303F}", 1), ("a\u{200B}b", 2), ("a\u{AD}b", 3), ("กำ", 2), ("नी", 2),
            ("–…·█", 4),
        ])
    func scripts(text: String, columns: Int) { #expect(TextWidth.columns(text) == columns) }

    @Test(
        "An emoji takes two columns whatever its parts, and a text symbol one",
        arguments: [
            ("👍", 2), ("👍🏽", 2), ("🏽", 2), ("👨‍👩‍👧", 2), ("🏴‍☠️", 2), ("❤\u{FE0F}", 2), ("❤", 1), ("☀", 1),
            ("1\u{FE0F}\u{20E3}", 2), ("🇩🇪", 2), ("🇩", 1),
            ("©", 1), ("⌚", 2),
        ])
    func pictures(text: String, columns: Int) { #expect(TextWidth.columns(text) == columns) }

    @Test(
        "A text is cut before the first character that does not fit, and keeps combining marks",
        arguments: [
            ("plain", 5, "plain"), ("plain", 4, "pla…"), ("plain", 1, "…"), ("漢字", 4, "漢字"), ("漢字", 3, "漢…"),
            ("漢字漢", 4, "漢…"), ("漢字漢", 5, "漢字…"),
            ("e\u{301}te\u{301}s", 3, "e\u{301}t…"), ("👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"), ("👨‍👩‍👧👨‍👩‍👧", 2, "…"),
        ])
    func cut(text: String, room: Int, shown: String) { #expect(TextWidth.cut(text, to: room) == shown) }

    @Test(
        "A URL that is cut keeps its last path segment whole where it fits",
        arguments: [
            ("https://api.example.com/v1/customers", 24, "https:/…com/v1/customers"),
            ("https://api.example.com/v1/customers", 13, "ht…/customers"),
            ("https://api.example.com/v1/customers", 11, "…/customers"),
            ("https://api.example.com/v1/customers", 10, "…customers"),
            ("https://api.example.com/v1/customers", 9, "ht…tomers"),
            ("https://api.example.com/orders?open=1", 18, "htt…/orders?open=1"),
            ("a-text-without-path", 10, "a-t…t-path"),
        ])
    func cutInside(text: String, room: Int, shown: String) { #expect(TextWidth.cutInside(text, to: room) == shown) }

    @Test("No text fits into zero or fewer columns")
    func noRoom() {
        for room in [0, -1, -6] { #expect(TextWidth.prefix("漢a", columns: room).isEmpty) }
        #expect(TextWidth.prefix("\u{200B}a", columns: 0) == "\u{200B}")
    }

    @Test(
        "The ranges of wide characters exclude their neighbours",
        arguments: [
            (0x10FF, 1), (0x1100, 2), (0x2328, 1), (0x2329, 2), (0x232B, 1), (0x2E7F, 1), (0x2E80, 2), (0x3000, 2),
            (0x303E, 2), (0x3248, 1), (0x4DC0, 2), (0xA4D0, 1),
            (0xABFF, 1), (0xAC00, 2), (0xD7A3, 2), (0xF8FF, 1), (0xF900, 2), (0xFE1A, 1), (0xFE30, 2), (0xFF00, 1),
            (0xFF01, 2), (0xFF61, 1), (0xFFE6, 2), (0xFFE8, 1),
            (0x17000, 2), (0x1B000, 2), (0x1F200, 2), (0x20000, 2), (0x3FFFD, 2), (0xE000, 1),
        ] as [(UInt32, Int)])
    func edges(scalar: UInt32, columns: Int) throws {
        #expect(TextWidth.columns(String(Character(try #require(Unicode.Scalar(scalar))))) == columns)
    }
}
#endif
