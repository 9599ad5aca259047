#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("The meaning of a status (R24, R27)")
struct StatusTests {
    private static let noon = Timestamp(milliseconds: 784_111_777_000)  // Sun, 06 Nov 1994 08:49:37 GMT

    private func status(
        _ status: Int, _ headers: [HTTPField] = [], isConditional: Bool = false, isBeyondFirst: Bool = false
    ) -> AnswerStatus {
        AnswerStatus(
            HTTPPageResponse(status: status, headers: headers), isConditional: isConditional,
            isBeyondFirst: isBeyondFirst,
            now: Self.noon)
    }

    private func failure(_ code: Int, _ headers: [HTTPField] = [], isConditional: Bool = false) -> FetchFailure? {
        if case .failure(let failure) = status(code, headers, isConditional: isConditional) { failure } else { nil }
    }

    @Test(
        "Successful statuses are pages or empty pages",
        arguments: [
            (200, AnswerStatus.page), (203, .page), (204, .empty),
            (205, .empty),
        ])
    func pages(code: Int, meaning: AnswerStatus) {
        #expect(status(code) == meaning)
    }

    @Test("A 206 answer is a page only with a Content-Range in items")
    func parts() {
        #expect(status(206, [HTTPField("Content-Range", "items 0-24/66")]) == .page)
        for headers in [
            [], [HTTPField("Content-Range", "bytes 0-24/66")], [HTTPField("content-range", "Bytes 0-24/*")],
        ] {
            #expect(failure(206, headers)?.failureClass == .undecodable)
            #expect(failure(206, headers)?.isRetryable == false)
        }
    }

    @Test("A 304 answer is valid for a conditional request and refused otherwise")
    func notModified() {
        #expect(status(304, isConditional: true) == .notModified)
        #expect(failure(304)?.failureClass == .limitExceeded)
        #expect(failure(304)?.isRetryable == false)
        #expect(failure(304)?.httpStatus == 304)
    }

    @Test(
        "The statuses 400, 404 and 416 end the list after page one, and are failures of page one",
        arguments: [400, 404, 416])
    func end(code: Int) {
        #expect(status(code, isBeyondFirst: true) == (code == 404 ? .notFound : .pastEnd))
        #expect(failure(code)?.failureClass == .rejected)
    }

    @Test("Other statuses are not an end of the list", arguments: [401, 403, 405, 410, 429, 500, 302, 206, 304])
    func noEnd(code: Int) {
        #expect(![.pastEnd, .notFound].contains(status(code, isBeyondFirst: true)))
    }

    @Test(
        "Each status has its failure class and is retryable or not",
        arguments: [
            (401, FetchFailure.Class.forbidden, false), (403, .forbidden, false), (407, .forbidden, false),
            (405, .rejected, false),
            (410, .rejected, false), (451, .rejected, false), (408, .timeout, true), (425, .throttled, true),
            (429, .throttled, true),
            (500, .server, true), (502, .server, true), (503, .server, true), (511, .server, true),
            (599, .server, true),
            (100, .limitExceeded, false), (101, .limitExceeded, false), (103, .limitExceeded, false),
            (300, .rejected, false),
            (302, .rejected, false),
            (600, .rejected, false), (999, .rejected, false), (0, .limitExceeded, false),
        ])
    func failures(code: Int, failureClass: FetchFailure.Class, isRetryable: Bool) {
        #expect(failure(code)?.failureClass == failureClass)
        #expect(failure(code)?.isRetryable == isRetryable)
        #expect(failure(code)?.httpStatus == code)
    }

    @Test("A Retry-After date counts from the origin's Date if there is one, and the first of several counts")
    func retryAfter() {
        let later = HTTPField("Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT")
        #expect(failure(503, [later])?.retryAfter == .seconds(30))
        #expect(failure(503, [later, HTTPField("Date", "Sun, 06 Nov 1994 08:50:00 GMT")])?.retryAfter == .seconds(7))
        #expect(failure(429, [HTTPField("Retry-After", "0")])?.retryAfter == .zero)
        #expect(
            failure(429, [HTTPField("Retry-After", "5"), HTTPField("Retry-After", "9")])?.retryAfter == .seconds(5))
        #expect(failure(429, [HTTPField("Retry-After", "-1")])?.retryAfter == nil)
    }

    @Test("A 403 answer with Retry-After is a rate limit and not a lack of permission")
    func limitedBy403() {
        let failure = failure(403, [HTTPField("Retry-After", "60")])
        #expect(
            failure?.failureClass == .throttled && failure?.isRetryable == true && failure?.retryAfter == .seconds(60))
    }

    @Test(
        "A 403 or 429 answer with no requests left is a rate limit until the reset time, in seconds or as a date",
        arguments: [
            ("X-RateLimit", "2072915200", Duration.seconds(23)), ("RateLimit", "45", .seconds(45)),
            ("X-Rate-Limit", "2072000000", .zero),
            ("x-ratelimit", "soon", .zero), ("X-RateLimit", "-5", .zero),
        ])
    func nothingLeft(prefix: String, reset: String, pause: Duration) {
        // This is 2,072,915,177 seconds after 1970.
        let date = HTTPField("Date", "Sun, 09 Sep 2035 01:46:17 GMT"), moment = HTTPField("\(prefix)-Reset", reset)
        for code in [403, 429] {
            let nothing = failure(code, [date, HTTPField("\(prefix)-Remaining", "0"), moment])
            #expect(nothing?.failureClass == .throttled && nothing?.isRetryable == true)
            #expect(nothing?.retryAfter == pause)
            let withRetryAfter = failure(
                code, [date, HTTPField("\(prefix)-Remaining", "0"), moment, HTTPField("Retry-After", "7")])
            #expect(withRetryAfter?.retryAfter == .seconds(7), "Retry-After takes precedence over the reset time")
        }
        #expect(failure(403, [date, HTTPField("\(prefix)-Remaining", "12"), moment])?.failureClass == .forbidden)
        #expect(failure(500, [date, HTTPField("\(prefix)-Remaining", "0"), moment])?.retryAfter == nil)
    }

    // MARK: The source

    private func fetch(_ response: HTTPPageResponse, _ target: PageRequest.Target = .first) async -> Result<
        PageAnswer,
        any Error
    > {
        var configuration = HTTPSourceConfiguration(url: "https://h/api")
        configuration.paging = .offset
        do {
            return .success(
                try await HTTPSource(
                    configuration,
                    transport: ScriptedOrigin { _, _ in response }
                ).fetch(PageRequest(target)))
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "HTML with status 200, as from a captive portal, is undecodable whatever its content type",
        arguments: ["text/html", "application/json"])
    func captivePortal(type: String) async {
        let portal = HTTPPageResponse(
            status: 200, headers: [HTTPField("Content-Type", type)],
            body: Array("\n <!DOCTYPE html><html>Log in to the hotel".utf8))
        let failure = await #expect(throws: FetchFailure.self) { _ = try await fetch(portal).get() }
        #expect(failure?.failureClass == .undecodable && failure?.isRetryable == false)
        #expect(failure?.message.contains("HTML") == true && failure?.message.contains("hotel") == false)
    }

    @Test("An unreadable answer counts once: as unusable with status 200, as a failure with an error status")
    func unusableAnswers() async throws {
        for (status, unusable, failures) in [(200, 1, 0), (500, 0, 1)] {
            let source = try HTTPSource(
                HTTPSourceConfiguration(url: "http://h/api"),
                transport: ScriptedOrigin { _, _ in HTTPPageResponse(status: status, body: Array("<html>".utf8)) })
            await #expect(throws: FetchFailure.self) { try await source.fetch(PageRequest(.first)) }
            #expect(source.usage.requests == 1)
            #expect(source.usage.unusable == unusable)
            #expect(source.usage.failures == failures)
        }
    }

    @Test(
        "A JSON body is accepted with any content type",
        arguments: ["text/plain", "text/html; charset=utf-8", "application/octet-stream", ""])
    func wrongType(type: String) async throws {
        let answer = try await fetch(
            HTTPPageResponse(
                status: 200, headers: [HTTPField("Content-Type", type)],
                body: Array("[1,2]".utf8))
        ).get()
        guard case .page(let page) = answer else {
            Issue.record("the answer is not a page")
            return
        }
        #expect(page.content.count == 2)
    }

    @Test("A 204 answer is an empty page")
    func noContent() async throws {
        #expect(try await fetch(HTTPPageResponse(status: 204)).get() == .page(FetchedPage(content: PageContent())))
    }
}
#endif
