#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Validators (RFC 9110, 8.8 and 13.1) (R1)")
struct ValidatorTests {
    private static let monday = "Mon, 07 Nov 1994 08:49:37 GMT"
    private static let sunday = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// Returns an origin whose first answer has `headers`. Its answer to a conditional request is a 304 with `renewal`.
    private func origin(_ headers: [HTTPField], then renewal: [HTTPField] = []) -> ScriptedOrigin {
        ScriptedOrigin { _, request in
            request.header("If-None-Match") != nil || request.header("If-Modified-Since") != nil
                ? HTTPPageResponse(status: 304, headers: renewal)
                : .json(#"{"total":2,"items":[{"id":1},{"id":2}]}"#, headers)
        }
    }

    private func source(_ origin: ScriptedOrigin) throws -> HTTPSource {
        var configuration = HTTPSourceConfiguration(url: "https://h/api")
        configuration.paging = .none
        return try HTTPSource(configuration, transport: origin)
    }

    private func validator(_ source: HTTPSource) async throws -> Validator? {
        try await source.first().validator
    }

    @Test(
        "An entity tag is sent back exactly as received",
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
        "An ambiguous entity tag is ignored: empty, a wildcard, several, not a text, or too long",
        arguments: [
            [""], ["  "], ["*"], [#""a""#, #""b""#], ["\"a\u{0}\""], ["\"\u{FFFD}\""],
            [String(repeating: "x", count: 4_097)],
        ])
    func noTags(tags: [String]) async throws {
        let origin = origin(tags.map { HTTPField("ETag", $0) })
        #expect(try await validator(source(origin)) == nil)
    }

    @Test("A repeated entity tag counts as one")
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
        "A valid Last-Modified date is a validator, and an invalid one is ignored",
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

    @Test("A 304 answer to an unconditional request is refused")
    func unasked() async throws {
        let source = try source(
            ScriptedOrigin { _, _ in HTTPPageResponse(status: 304, headers: [HTTPField("ETag", #""x""#)]) })
        let failure = await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first)) }
        #expect(failure?.failureClass == .limitExceeded && failure?.isRetryable == false && failure?.httpStatus == 304)
        // A validator of another request is not sent, so the request is unconditional.
        let foreign = Validator(request: "https://h/other", entityTag: #""x""#, lastModified: nil, coversTotal: false)
        await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first, validator: foreign)) }
    }

    @Test(
        "A validator in a 304 answer replaces the stored one (15.4.5)",
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
            Issue.record("the answer is not 304")
            return
        }
        #expect(
            renewed
                == Validator(request: held.request, entityTag: tag, lastModified: date, coversTotal: held.coversTotal))
    }

    @Test(
        "A 304 answer with the same, no or an invalid validator changes nothing",
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
