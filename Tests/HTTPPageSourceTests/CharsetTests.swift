#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Answers in other encodings than UTF-8")
struct CharsetTests {
    private static let text = #"{"items":[{"id":1,"name":"Käse"},{"id":2,"name":"😀 ½"}],"total":2}"#
    private static let western = #"{"items":[{"id":1,"name":"Käse"}],"total":1}"#

    private func first(_ body: [UInt8], _ type: String) async throws -> FetchedPage {
        let origin = ScriptedOrigin { _, _ in
            HTTPPageResponse(status: 200, headers: [HTTPField("Content-Type", type)], body: body)
        }
        return try await scripted("http://h/api", origin).first()
    }

    private static func utf16(_ text: String, isBig: Bool, mark: Bool) -> [UInt8] {
        (mark ? [0xFEFF] : []).appending(contentsOf: text.utf16).flatMap { unit in
            let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
            return isBig ? [high, low] : [low, high]
        }
    }

    @Test("UTF-16 is converted, with a byte order mark and without", arguments: [true, false], [true, false])
    func utf16(isBig: Bool, mark: Bool) async throws {
        let page = try await first(
            CharsetTests.utf16(CharsetTests.text, isBig: isBig, mark: mark), "application/json; charset=utf-16")
        #expect(
            page.content.items.map { String(decoding: $0.payload, as: UTF8.self) }
                == [#"{"id":1,"name":"Käse"}"#, #"{"id":2,"name":"😀 ½"}"#])
        #expect(page.total == .exact(2))
    }

    @Test("ISO-8859-1 is converted where the header names it", arguments: ["iso-8859-1", "\"ISO-8859-1\"", "latin1"])
    func latin(name: String) async throws {
        let bytes = CharsetTests.western.unicodeScalars.map { UInt8($0.value) }
        let page = try await first(bytes, "application/json; charset=\(name)")
        #expect(page.content.items.map { String(decoding: $0.payload, as: UTF8.self) } == [#"{"id":1,"name":"Käse"}"#])
    }

    @Test("Valid UTF-8 keeps its bytes, whatever charset the header names", arguments: ["iso-8859-1", "windows-1252"])
    func misnamed(name: String) async throws {
        let page = try await first(Array(CharsetTests.western.utf8), "application/json; charset=\(name)")
        #expect(page.content.items.map { String(decoding: $0.payload, as: UTF8.self) } == [#"{"id":1,"name":"Käse"}"#])
    }

    @Test(
        "Another encoding is refused in one line that names it",
        arguments: [
            (
                "application/json; charset=windows-1252", [0xE4] as [UInt8],
                "windows-1252, and only UTF-8, UTF-16 and ISO-8859-1 are supported"
            ),
            ("application/json; charset=iso-8859-1", [0x80], "iso-8859-1, with bytes that are no characters of it"),
        ])
    func refused(type: String, bytes: [UInt8], reason: String) async throws {
        let body = Array(#"{"items":[{"id":1,"name":""#.utf8) + bytes + Array(#""}]}"#.utf8)
        await #expect(
            throws: FetchFailure(
                .undecodable, "the answer is not UTF-8: it is in \(reason)", isRetryable: false, httpStatus: 200)
        ) {
            try await first(body, type)
        }
        await #expect(throws: FetchFailure.self) {
            try await first([0xFF, 0xFE, 0x5B, 0x00, 0x00, 0xD8, 0x5D, 0x00], "application/json")
        }
    }

    @Test("A body in UTF-8 with a broken byte is refused, also under a header that names ISO-8859-1")
    func mixed() async throws {
        let body =
            Array(#"{"items":[{"id":1,"name":"Köln"},{"id":2,"name":"caf"#.utf8) + [0xC3]
            + Array(#""}],"total":2}"#.utf8)
        await #expect(
            throws: FetchFailure(
                .undecodable, "the answer is not UTF-8: it is in iso-8859-1, with characters in UTF-8",
                isRetryable: false, httpStatus: 200)
        ) {
            try await first(body, "application/json; charset=iso-8859-1")
        }
    }

    /// Returns a page with one name, under a header that names ISO-8859-1.
    private static func page(_ name: [UInt8], _ next: String) -> HTTPPageResponse {
        HTTPPageResponse(
            status: 200, headers: [HTTPField("Content-Type", "application/json; charset=iso-8859-1")],
            body: Array(#"{"items":[{"id":1,"name":""#.utf8) + name + Array(#""}],"next":\#(next)}"#.utf8))
    }

    @Test(
        "A later page in another encoding than page one is refused, also after a restart",
        arguments: [
            (Array("Köln".utf8), [0x63, 0x61, 0x66, 0xC3], "the page is encoded in ISO-8859-1, and the list in UTF-8"),
            ([0x4B, 0xF6, 0x6C, 0x6E], [0xC3, 0xA9], "the page is encoded in UTF-8, and the list in ISO-8859-1"),
        ] as [([UInt8], [UInt8], String)])
    func laterPage(one: [UInt8], two: [UInt8], message: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            url.value(of: "cursor") == nil
                ? CharsetTests.page(one, #""/api?cursor=x""#) : CharsetTests.page(two, "null")
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        let next = try #require(page.next)
        let restarted = try scripted("http://h/api", origin, stored: page.detectedPaging?.source)
        for reader in [source, restarted] {
            await #expect { try await reader.page(.cursor(next)) } throws: { ($0 as? FetchFailure)?.message == message }
        }
    }

    @Test("A broken byte without another charset is named by its position")
    func broken() async throws {
        let body = Array(#"["a"#.utf8) + [0xE4] + Array(#""]"#.utf8)
        await #expect { try await first(body, "application/json; charset=utf-8") } throws: {
            ($0 as? FetchFailure)?.message == "the answer is not JSON (byte 3)"
        }
    }
}

extension [UInt16] {
    fileprivate func appending(contentsOf units: some Sequence<UInt16>) -> [UInt16] { self + units }
}
#endif
