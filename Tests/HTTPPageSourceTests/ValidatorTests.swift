#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("R1: validators (RFC 9110, 8.8 and 13.1)")
struct ValidatorTests {
    private static let monday = "Mon, 07 Nov 1994 08:49:37 GMT"
    private static let sunday = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// An origin whose first answer has these headers, and whose answer to a condition is a 304 with those.
    private func origin(_ headers: [HTTPField], then renewal: [HTTPField] = []) -> ScriptedOrigin {
        ScriptedOrigin { _, request in
            request.header("If-None-Match") != nil || request.header("If-Modified-Since") != nil
                ? HTTPPageResponse(status: 304, headers: renewal)
                : .json(#"{"total":2,"items":[{"id":1},{"id":2}]}"#, headers)
        }
    }

    private func source(_ origin: ScriptedOrigin) throws -> HTTPPageSource {
        var configuration = HTTPSourceConfiguration(url: "https://h/api")
        configuration.paging = .none
        return try HTTPPageSource(configuration, transport: origin)
    }

    private func validator(_ source: HTTPPageSource) async throws -> Validator? {
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return nil }
        return page.validator
    }

    @Test(
        "an entity tag comes back exactly as it went",
        arguments: [
            #""x""#, #"W/"x""#, "\"\"", "x", "5f3-a", #""a, b""#, #""a b""#, "a, b", "a b", #"w/"x""#, #""é""#, #""x"#,
            #""x-gzip""#,
            #""W/"x"""#,
        ])
    func tags(tag: String) async throws {
        let origin = origin([HTTPField("ETag", tag)])
        let source = try source(origin)
        let validator = try await validator(source)
        #expect(validator?.entityTag == tag)
        #expect(
            try await source.fetch(PageRequest(.first, validator: validator))
                == .notModified(
                    total: .unknown,
                    validator: nil))
        #expect(origin.requests.last?.header("If-None-Match") == tag)
    }

    @Test(
        "what could be taken for something else is no tag: nothing, any, several, and what is no text",
        arguments: [
            [""], ["  "], ["*"], [#""a""#, #""b""#], ["\"a\u{0}\""], ["\"\u{FFFD}\""],
            [String(repeating: "x", count: 4_097)],
        ])
    func noTags(tags: [String]) async throws {
        let origin = origin(tags.map { HTTPField("ETag", $0) })
        #expect(try await validator(source(origin)) == nil)
    }

    @Test("the same tag twice is one tag")
    func twice() async throws {
        #expect(
            try await validator(
                source(
                    origin([
                        HTTPField("ETag", #""a""#),
                        HTTPField("etag", #""a""#),
                    ])))?.entityTag == #""a""#)
    }

    @Test(
        "a date is a validator, and what is no date is none",
        arguments: [
            (monday, true), ("Sunday, 06-Nov-94 08:49:37 GMT", true), ("yesterday", false), ("-1", false), ("0", false),
            ("", false),
            ("1994-11-06T08:49:37Z", false),
        ])
    func dates(date: String, isValid: Bool) async throws {
        let origin = origin([HTTPField("Last-Modified", date)])
        let source = try source(origin)
        let validator = try await validator(source)
        #expect(validator?.lastModified == (isValid ? date : nil))
        guard let validator else { return }
        #expect(
            try await source.fetch(PageRequest(.first, validator: validator))
                == .notModified(
                    total: .unknown,
                    validator: nil))
        #expect(origin.requests.last?.header("If-Modified-Since") == date)
    }

    @Test("304 to a request without a validator is hostile, and no page")
    func unasked() async throws {
        let source = try source(
            ScriptedOrigin { _, _ in HTTPPageResponse(status: 304, headers: [HTTPField("ETag", #""x""#)]) })
        let failure = await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first)) }
        #expect(failure?.failureClass == .hostile && failure?.isRetryable == false && failure?.httpStatus == 304)
        // A validator of another request was not sent, so the answer is unasked for, too.
        let foreign = Validator(request: "https://h/other", entityTag: #""x""#, lastModified: nil, coversTotal: false)
        await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first, validator: foreign)) }
    }

    @Test(
        "a 304 with a new validator replaces what was held (15.4.5)",
        arguments: [
            ([HTTPField("ETag", #""b""#)], #""b""#, nil),
            ([HTTPField("ETag", #""b""#), HTTPField("Last-Modified", monday)], #""b""#, monday),
            ([HTTPField("Last-Modified", monday)], #""a""#, monday),
            ([HTTPField("ETag", #""a""#), HTTPField("Last-Modified", monday)], #""a""#, monday),
        ] as [([HTTPField], String?, String?)])
    func renewed(fields: [HTTPField], tag: String?, date: String?) async throws {
        let source = try source(
            origin([HTTPField("ETag", #""a""#), HTTPField("Last-Modified", Self.sunday)], then: fields))
        let held = try #require(try await validator(source))
        guard case .notModified(_, let renewed) = try await source.fetch(PageRequest(.first, validator: held)) else {
            Issue.record("it was modified")
            return
        }
        #expect(
            renewed
                == Validator(request: held.request, entityTag: tag, lastModified: date, coversTotal: held.coversTotal))
    }

    @Test(
        "a 304 that says the same, nothing, or nonsense changes nothing",
        arguments: [
            [HTTPField("ETag", #""a""#)], [HTTPField("ETag", "*")], [HTTPField("Last-Modified", "never")], [],
        ])
    func unchanged(fields: [HTTPField]) async throws {
        let source = try source(
            origin([HTTPField("ETag", #""a""#), HTTPField("Last-Modified", Self.sunday)], then: fields))
        let held = try #require(try await validator(source))
        #expect(
            try await source.fetch(PageRequest(.first, validator: held))
                == .notModified(total: .unknown, validator: nil))
    }
}
#endif
