#if HTTP
import Testing

@testable import HTTPPageSource

@Suite("The escapes of JSON strings")
struct JSONTextTests {
    private func unescape(_ raw: [UInt8]) -> JSONText.Unescaped { raw.withUnsafeBytes { JSONText.unescape($0) } }

    @Test(
        "Each escape is decoded, and lone surrogates are reported (RFC 8259, 7)",
        arguments: [
            ("", "", false), ("plain ü", "plain ü", false), (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t", false),
            (#"\u00fc\u00FC\u0000"#, "üü\0", false), (#"\ud83d\ude00"#, "😀", false), (#"\ud83d"#, "\u{FFFD}", true),
            (#"\ude00\ud83d"#, "\u{FFFD}\u{FFFD}", true), (#"\ud83d\u0041"#, "\u{FFFD}A", true),
        ])
    func escapes(raw: String, text: String, hasLoneSurrogate: Bool) {
        let unescaped = unescape(Array(raw.utf8))
        #expect(unescaped.bytes == Array(text.utf8))
        #expect(unescaped.hasLoneSurrogate == hasLoneSurrogate)
    }

    @Test(
        "Invalid escapes from a damaged store are skipped, without a read beyond the end (R46)",
        arguments: [
            (#"a\"#, #"a\"#), (#"\u"#, ""), (#"\u12"#, "12"), (#"\u00g0"#, "00g0"), (#"\q"#, "q"),
            (#"\ud83d\u12"#, "\u{FFFD}12"),
            (#"\ud83d\"#, "\u{FFFD}\\"),
        ])
    func broken(raw: String, text: String) {
        #expect(unescape(Array(raw.utf8)).bytes == Array(text.utf8))
        // The text is now part of a longer one, whose next bytes would complete the escape.
        let longer = Array((raw + "0041").utf8)
        let part = longer.withUnsafeBytes {
            JSONText.unescape(UnsafeRawBufferPointer(rebasing: $0[0..<raw.utf8.count]))
        }
        #expect(part.bytes == Array(text.utf8))
        #expect(unescape([0xFF, 0xC3]).bytes == [0xFF, 0xC3])
    }
}
#endif
