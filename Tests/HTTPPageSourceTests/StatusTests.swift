#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("R24, R27: what a status means")
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
        "pages, and pages with nothing on them",
        arguments: [
            (200, AnswerStatus.page), (203, .page), (204, .empty),
            (205, .empty),
        ])
    func pages(code: Int, meaning: AnswerStatus) {
        #expect(status(code) == meaning)
    }

    @Test("206 is a page where it says which part of the list it is; a part in bytes, or of nothing, is none")
    func parts() {
        #expect(status(206, [HTTPField("Content-Range", "items 0-24/66")]) == .page)
        for headers in [
            [], [HTTPField("Content-Range", "bytes 0-24/66")], [HTTPField("content-range", "Bytes 0-24/*")],
        ] {
            #expect(failure(206, headers)?.failureClass == .undecodable)
            #expect(failure(206, headers)?.isRetryable == false)
        }
    }

    @Test("304 is an answer to a validator, and hostile without one")
    func notModified() {
        #expect(status(304, isConditional: true) == .notModified)
        #expect(failure(304)?.failureClass == .hostile)
        #expect(failure(304)?.isRetryable == false)
        #expect(failure(304)?.httpStatus == 304)
    }

    @Test("400, 404 and 416 are the end behind page one, and failures of page one", arguments: [400, 404, 416])
    func end(code: Int) {
        #expect(status(code, isBeyondFirst: true) == .pastEnd)
        #expect(failure(code)?.failureClass == .refused)
    }

    @Test("no other status is an end", arguments: [401, 403, 405, 410, 429, 500, 302, 206, 304])
    func noEnd(code: Int) {
        #expect(status(code, isBeyondFirst: true) != .pastEnd)
    }

    @Test(
        "who is told to go away, who is asked to wait, and who failed",
        arguments: [
            (401, FetchFailure.Class.forbidden, false), (403, .forbidden, false), (407, .forbidden, false),
            (405, .refused, false),
            (410, .refused, false), (451, .refused, false), (408, .timeout, true), (425, .throttled, true),
            (429, .throttled, true),
            (500, .server, true), (502, .server, true), (503, .server, true), (511, .server, true),
            (599, .server, true),
            (100, .hostile, false), (101, .hostile, false), (103, .hostile, false), (300, .refused, false),
            (302, .refused, false),
            (600, .refused, false), (999, .refused, false), (0, .hostile, false),
        ])
    func failures(code: Int, failureClass: FetchFailure.Class, isRetryable: Bool) {
        #expect(failure(code)?.failureClass == failureClass)
        #expect(failure(code)?.isRetryable == isRetryable)
        #expect(failure(code)?.httpStatus == code)
    }

    @Test("Retry-After counts from the origin's own clock, where it has one; the first of several counts")
    func retryAfter() {
        let later = HTTPField("Retry-After", "Sun, 06 Nov 1994 08:50:07 GMT")
        #expect(failure(503, [later])?.retryAfter == .seconds(30))
        #expect(failure(503, [later, HTTPField("Date", "Sun, 06 Nov 1994 08:50:00 GMT")])?.retryAfter == .seconds(7))
        #expect(failure(429, [HTTPField("Retry-After", "0")])?.retryAfter == .zero)
        #expect(
            failure(429, [HTTPField("Retry-After", "5"), HTTPField("Retry-After", "9")])?.retryAfter == .seconds(5))
        #expect(failure(429, [HTTPField("Retry-After", "-1")])?.retryAfter == nil)
    }

    @Test("403 with a time to come again is a limit of rate, and not of rights")
    func limitedBy403() {
        let failure = failure(403, [HTTPField("Retry-After", "60")])
        #expect(
            failure?.failureClass == .throttled && failure?.isRetryable == true && failure?.retryAfter == .seconds(60))
    }

    @Test(
        "403 and 429 with nothing left are a limit of rate as well, until the moment that is named, in either way to count",
        arguments: [
            ("X-RateLimit", "2072915200", Duration.seconds(23)), ("RateLimit", "45", .seconds(45)),
            ("X-Rate-Limit", "2072000000", .zero),
            ("x-ratelimit", "soon", .zero), ("X-RateLimit", "-5", .zero),
        ])
    func nothingLeft(prefix: String, reset: String, pause: Duration) {
        // 2,072,915,177 seconds after 1970.
        let date = HTTPField("Date", "Sun, 09 Sep 2035 01:46:17 GMT"), moment = HTTPField("\(prefix)-Reset", reset)
        for code in [403, 429] {
            let nothing = failure(code, [date, HTTPField("\(prefix)-Remaining", "0"), moment])
            #expect(nothing?.failureClass == .throttled && nothing?.isRetryable == true)
            #expect(nothing?.retryAfter == pause)
            let asked = failure(
                code, [date, HTTPField("\(prefix)-Remaining", "0"), moment, HTTPField("Retry-After", "7")])
            #expect(asked?.retryAfter == .seconds(7), "what is asked for goes before what is counted")
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
                try await HTTPPageSource(
                    configuration,
                    transport: ScriptedOrigin { _, _ in response }
                ).fetch(PageRequest(target)))
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "a captive portal is no list: HTML with 200 is undecodable, whatever type it claims",
        arguments: ["text/html", "application/json"])
    func captivePortal(type: String) async {
        let portal = HTTPPageResponse(
            status: 200, headers: [HTTPField("Content-Type", type)],
            body: Array("\n <!DOCTYPE html><html>Log in to the hotel".utf8))
        let failure = await #expect(throws: FetchFailure.self) { _ = try await fetch(portal).get() }
        #expect(failure?.failureClass == .undecodable && failure?.isRetryable == false)
        #expect(failure?.message.contains("HTML") == true && failure?.message.contains("hotel") == false)
    }

    @Test(
        "JSON is JSON, whatever type is written on it",
        arguments: ["text/plain", "text/html; charset=utf-8", "application/octet-stream", ""])
    func wrongType(type: String) async throws {
        let answer = try await fetch(
            HTTPPageResponse(
                status: 200, headers: [HTTPField("Content-Type", type)],
                body: Array("[1,2]".utf8))
        ).get()
        guard case .page(let page) = answer else { return #expect(Bool(false), "no page") }
        #expect(page.content.count == 2)
    }

    @Test("204 is a page with nothing on it")
    func noContent() async throws {
        #expect(try await fetch(HTTPPageResponse(status: 204)).get() == .page(FetchedPage(content: PageContent())))
    }
}
#endif
