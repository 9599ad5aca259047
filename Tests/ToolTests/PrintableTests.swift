import Testing

@testable import pagecache

@Suite("Text for a terminal")
struct PrintableTests {
    @Test(
        "Characters that control the cursor, change the direction or are invisible are shown as escapes",
        arguments: [
            ("a\u{1B}[31mb", "a\\u{1b}[31mb"), ("tab\there", "tab\\u{9}here"), ("\u{9B}", "\\u{9b}"),
            ("re\u{202E}versed", "re\\u{202e}versed"),
            ("list\u{200B}1", "list\\u{200b}1"), ("\u{FEFF}list", "\\u{feff}list"),
            ("soft\u{AD}hyphen", "soft\\u{ad}hyphen"), ("two\u{2028}lines", "two\\u{2028}lines"),
        ])
    func shown(text: String, expected: String) { #expect(Printable.text(text) == expected) }

    @Test("Text in any script stays unchanged", arguments: ["naïve", "می‌خواهم", "क्‍ष", "👩‍👩‍👧", "日本語", "שלום"])
    func kept(text: String) { #expect(Printable.text(text) == text) }
}
