#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Origins that misbehave")
struct MisbehaviourTests {
    private func fetch(_ response: HTTPPageResponse, _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }) async
        -> FetchFailure?
    {
        var configuration = HTTPSourceConfiguration(url: "https://h/api")
        change(&configuration)
        do {
            _ = try await HTTPSource(configuration, transport: ScriptedOrigin { _, _ in response }).fetch(
                PageRequest(.first))
            return nil
        } catch {
            return error as? FetchFailure
        }
    }

    @Test(
        "HTML, an empty body and truncated JSON are permanent failures that describe the body",
        arguments: [
            ("<!doctype html><html>", "HTML"), ("", "empty"), (#"{"items":[1,"#, "not JSON"),
            ("Service temporarily", "not JSON"),
        ])
    func undecodable(body: String, word: String) async {
        let failure = await fetch(.json(body))
        #expect(failure?.failureClass == .undecodable)
        #expect(failure?.isRetryable == false)
        #expect(failure?.message.contains(word) == true)
    }

    @Test("An items pointer that finds no value, or no array, is reported in the error")
    func pointers() async {
        #expect(
            await fetch(.json(#"{"a":[1]}"#)) { $0.items = JSONPointer("/b") }?.message
                == "the answer has nothing at /b")
        #expect(
            await fetch(.json(#"{"b":7}"#)) { $0.items = JSONPointer("/b") }?.message
                == "the value at /b is not an array")
        #expect(await fetch(.json(#"{"a":1}"#))?.message.contains("HTTPSourceConfiguration.items") == true)
        #expect(
            await fetch(.json(#"{"total":0}"#)) {
                $0.items = JSONPointer("/b"); $0.total = .init("/total")
            } == nil)
    }

    @Test("An answer beyond a limit is refused as a whole, and the error names the limit (R43)")
    func limits() async {
        #expect(
            await fetch(.json("[1,2,3]")) { $0.limits.itemsPerPage = 2 }?.message == "the page has more than 2 items")
        #expect(await fetch(.json(#"["abcdef"]"#)) { $0.limits.item = 4 }?.failureClass == .limitExceeded)
        #expect(
            await fetch(.json(String(repeating: "[", count: 100_000)))?.message
                == "the answer nests deeper than 64 levels")
    }

    @Test(
        "A next link to another origin, or away from https, is refused (R45)",
        arguments: [
            "https://evil.example/api?page=2", "http://other/api", "ftp://h/api", "https://h:8443/api?x=1",
        ])
    func foreignNext(next: String) async {
        let failure = await fetch(.json(#"{"items":[{"id":1}],"next":"\#(next)"}"#)) {
            $0.next = .init("/next"); $0.paging = .nextURL
        }
        #expect(failure != nil)
        #expect(failure?.isRetryable == false)
    }

    @Test("An http next link of an https origin on the same host is upgraded to https (R45)")
    func upgradedNext() async throws {
        let source = try HTTPSource(
            HTTPSourceConfiguration(url: "https://h/api"),
            transport: ScriptedOrigin { _, _ in .json(#"{"items":[{"id":1}],"next":"http://h/api?cursor=2"}"#) })
        let page = try await source.first()
        #expect(page.next == PageCursor("https://h/api?cursor=2"))
    }

    @Test(
        "Redirects within the origin are followed, and others are refused without sending credentials (R45)",
        arguments: [
            ("/moved", true), ("https://h/moved", true), ("https://evil.example/moved", false),
            ("http://h/moved", false), ("file:///etc/passwd", false),
        ])
    func redirects(location: String, isFollowed: Bool) async throws {
        let origin = ScriptedOrigin { url, _ in
            url.text.hasSuffix("/moved") ? .json("[1]") : .redirect(to: location)
        }
        var configuration = HTTPSourceConfiguration(url: "https://h/api")
        configuration.headers = [HTTPField("X-Api-Key", "S3CRET")]
        configuration.paging = .none
        let source = try HTTPSource(configuration, transport: origin)
        if isFollowed {
            _ = try await source.fetch(PageRequest(.first))
            #expect(origin.requests.count == 2)
            #expect(source.usage.requests == 2)
        } else {
            await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first)) }
            #expect(origin.requests.count == 1)
        }
    }

    @Test("A redirect to itself ends with a failure")
    func redirectLoop() async throws {
        let origin = ScriptedOrigin { _, _ in .redirect(to: "/api", status: 301) }
        let source = try HTTPSource(HTTPSourceConfiguration(url: "https://h/api"), transport: origin)
        await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first)) }
        #expect(origin.requests.count == 1)
    }

    @Test("User and password of a URL are sent in a header only")
    func userInfo() async throws {
        let origin = ScriptedOrigin { _, _ in .json("[1]") }
        var configuration = HTTPSourceConfiguration(url: "https://me:p%40ss@h/api")
        configuration.paging = .none
        let source = try HTTPSource(configuration, transport: origin)
        let page = try await source.first()
        #expect(origin.urls == ["https://h/api"])
        #expect(origin.requests[0].headers.contains(HTTPField("Authorization", "Basic bWU6cEBzcw==")))
        #expect(page.detectedPaging?.source.contains("me:") == false)
    }

    @Test("A Retry-After date counts from the origin's own Date")
    func retryAfter() async {
        let failure = await fetch(
            HTTPPageResponse(
                status: 503,
                headers: [
                    HTTPField("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                    HTTPField("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"),
                ]))
        #expect(failure?.retryAfter == .seconds(10))
        #expect(failure?.isRetryable == true)
    }
}
#endif
