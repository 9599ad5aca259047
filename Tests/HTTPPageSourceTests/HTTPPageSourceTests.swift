#if HTTP
import Foundation
import PageModel
import PagedRepository
import Synchronization
import Testing

@testable import HTTPPageSource

/// Answers by a function of the request, and keeps what it was asked.
private final class Script: HTTPTransport {
    private let log = Mutex<[HTTPPageRequest]>([])
    private let answer: @Sendable (OriginURL, HTTPPageRequest) -> HTTPPageResponse

    init(_ answer: @escaping @Sendable (OriginURL, HTTPPageRequest) -> HTTPPageResponse) { self.answer = answer }

    var requests: [HTTPPageRequest] { log.withLock { $0 } }
    var urls: [String] { requests.map(\.url) }

    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        log.withLock { $0.append(request) }
        return answer(OriginURL(request.url)!, request)
    }
}

private func json(_ text: String, _ headers: [HTTPField] = [], status: Int = 200) -> HTTPPageResponse {
    HTTPPageResponse(status: status, headers: [HTTPField("Content-Type", "application/json")] + headers, body: Array(text.utf8))
}

private func objects(_ range: Range<Int>) -> String { range.map { #"{"id":\#($0),"name":"n\#($0)"}"# }.joined(separator: ",") }

/// Walks a source as the engine would, by the access it claims; the ids, in order.
private func walk(_ source: HTTPPageSource, size: Int? = nil) async throws -> [String?] {
    var ids: [String?] = []
    var target = PageRequest.Target.first
    while ids.count < 1_000 {
        guard case .page(let page) = try await source.fetch(PageRequest(target, size: size)) else { return ids }
        ids += page.content.ids
        if page.content.isEmpty { return ids }
        switch source.access {
        case .offsets, .grid:
            if let total = page.total.exactCount, ids.count >= total { return ids }
            target = .offset(ids.count)
        case .chain:
            guard let next = page.next else { return ids }
            target = .cursor(next)
        case .single: return ids
        }
    }
    return ids
}

@Suite("Detection")
struct DetectionTests {
    private let all = (0..<45).map { Optional(String($0)) }

    private func source(_ url: String, _ script: Script, _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }) throws -> HTTPPageSource {
        var configuration = HTTPSourceConfiguration(url: url)
        change(&configuration)
        return try HTTPPageSource(configuration, transport: script)
    }

    @Test("offset and limit in the next URL, total in the body: asked by offset")
    func offsets() async throws {
        let script = Script { url, _ in
            let start = Int(url.value(of: "offset") ?? "0")!, limit = Int(url.value(of: "limit") ?? "20")!
            let end = min(start + limit, 45)
            let next = end < 45 ? #""http://h/api?limit=\#(limit)&offset=\#(end)""# : "null"
            return json(#"{"count":45,"next":\#(next),"previous":null,"results":[\#(objects(min(start, 45)..<end))]}"#)
        }
        let source = try source("http://h/api", script)
        #expect(try await walk(source) == all)
        #expect(source.access == .offsets)
        #expect(script.urls == ["http://h/api", "http://h/api?offset=20", "http://h/api?offset=40"])
        #expect(source.summary?.contains("items /results · id /id · total /count") == true)
    }

    @Test("page numbers in a Link header, total in a header: asked by page")
    func pages() async throws {
        let script = Script { url, _ in
            let page = Int(url.value(of: "page") ?? "1")!, start = (page - 1) * 10, end = min(start + 10, 45)
            let link = end < 45 ? [HTTPField("Link", #"<http://h/api?page=\#(page + 1)>; rel="next""#)] : []
            return json("[\(objects(start..<end))]", link + [HTTPField("X-Total-Count", "45")])
        }
        let source = try source("http://h/api", script)
        #expect(try await walk(source) == all)
        #expect(source.access == .grid(size: 10))
        #expect(script.urls.last == "http://h/api?page=5")
    }

    @Test("a next URL in the body, two levels deep and relative")
    func nextURL() async throws {
        let script = Script { url, _ in
            let start = Int(url.value(of: "after") ?? "-1")! + 1, end = min(start + 20, 45)
            let next = end < 45 ? #""?after=\#(end - 1)&token=page&api_key=S3CRET""# : "null"
            return json(#"{"meta":{"next":\#(next)},"data":{"entries":[\#(objects(start..<end))]}}"#)
        }
        let source = try source("http://h/api?api_key=S3CRET", script)
        #expect(try await walk(source) == all)
        #expect(source.access == .chain)
        #expect(script.urls.last == "http://h/api?after=39&token=page&api_key=S3CRET", "R45: put back when asking")
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(page.next == PageCursor("http://h/api?after=19&token=page"), "R45: an echoed secret is not stored")
    }

    @Test("a relative Link header, items that are plain strings, no total")
    func link() async throws {
        let script = Script { url, _ in
            let start = url.value(of: "last").map { Int($0.dropFirst())! + 1 } ?? 0, end = min(start + 20, 45)
            let link = end < 45 ? [HTTPField("link", #"</v2/_catalog?last=r\#(end - 1)&n=20>; rel="next""#)] : []
            return json(#"{"repositories":[\#((start..<end).map { "\"r\($0)\"" }.joined(separator: ","))]}"#, link)
        }
        let source = try source("http://h/v2/_catalog?n=20", script)
        #expect(try await walk(source) == (0..<45).map { "r\($0)" })
        #expect(source.access == .chain)
        #expect(script.urls[1] == "http://h/v2/_catalog?last=r19&n=20")
    }

    @Test("a next URL in a header of the origin's own")
    func ownHeader() async throws {
        let script = Script { url, _ in
            let start = Int(url.value(of: "_token") ?? "0")!, end = min(start + 20, 45)
            let next = end < 45 ? [HTTPField("Next-Page", "http://h/api?_limit=20&_token=\(end)")] : []
            return json(#"{"data":[\#(objects(start..<end))]}"#, next)
        }
        let source = try source("http://h/api", script)
        #expect(try await walk(source) == all)
        #expect(script.requests.count == 3)
    }

    @Test("what looks like a full page and shows no way on is not passed over in silence")
    func suspiciouslyRound() async throws {
        let source = try source("http://h/api", Script { _, _ in json("[\(objects(0..<20))]") })
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(page.lesson?.warnings.first?.contains("full page of 20 items") == true)
    }

    @Test("nothing tells how it goes on: the usual parameters are tried, and one is kept that proves itself", arguments: [
        ("offset", 2, 0), ("page", 4, 1), ("page", 3, 0), ("skip", 5, 0), ("_page", 7, 1), ("_start", 8, 0),
    ])
    func probes(parameter: String, requests: Int, first: Int) async throws {
        let isPage = parameter.hasSuffix("page")
        let script = Script { url, _ in
            let value = url.value(of: parameter).flatMap { Int($0) }
            let start = isPage ? ((value ?? first) - first) * 20 : value ?? 0
            return json(#"{"total":45,"items":[\#(objects(min(start, 45)..<min(start + 20, 45)))]}"#)
        }
        let source = try source("http://h/api", script)
        _ = try await source.fetch(PageRequest(.first))
        #expect(script.requests.count == requests)
        #expect(source.access == (isPage ? .grid(size: 20) : .offsets))
        guard case .page(let second) = try await source.fetch(PageRequest(.offset(20))) else { return }
        #expect(second.content.ids.first == "20")
    }

    @Test("the URL says page=0: then the next page is 1, with and without a total", arguments: [true, false])
    func zeroBased(hasTotal: Bool) async throws {
        let script = Script { url, _ in
            let start = (url.value(of: "page").flatMap { Int($0) } ?? 0) * 20
            return json(#"{\#(hasTotal ? #""total":45,"# : "")"items":[\#(objects(min(start, 45)..<min(start + 20, 45)))]}"#)
        }
        let source = try source("http://h/api?page=0", script)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(page.content.ids.first == "0")
        _ = try await source.fetch(PageRequest(.offset(20)))
        #expect(script.urls.last == "http://h/api?page=1")
    }

    @Test("a list that moves by an item during detection is still seen to page")
    func movingProbe() async throws {
        let count = Mutex(0)
        let script = Script { url, _ in
            let shift = count.withLock { $0 += 1; return $0 > 1 ? 1 : 0 }
            let start = (url.value(of: "offset").flatMap { Int($0) } ?? 0) - shift
            return json("[\(objects(start + 1_000..<start + 1_020))]")
        }
        let source = try source("http://h/api", script)
        _ = try await source.fetch(PageRequest(.first))
        #expect(source.access == .offsets)
    }

    @Test("another page size, or another default, is another grid: positions follow what page one brings now")
    func changedGrid() async throws {
        let script = Script { url, _ in
            let page = Int(url.value(of: "page") ?? "1")!, size = Int(url.value(of: "per_page") ?? "50")!
            let start = min((page - 1) * size, 300)
            return json(#"{"total":300,"page":\#(page),"items":[\#(objects(start..<min(start + size, 300)))]}"#)
        }
        let first = try source("http://h/api?page=1&per_page=10", script)
        guard case .page(let page) = try await first.fetch(PageRequest(.first)), let lesson = page.lesson else { return }
        #expect(first.access == .grid(size: 10))
        let second = try HTTPPageSource(HTTPSourceConfiguration(url: "http://h/api?page=1"), stored: lesson.source, transport: script)
        guard case .page(let again) = try await second.fetch(PageRequest(.first)) else { return }
        #expect(second.access == .grid(size: 50))
        #expect(again.lesson != nil)
        guard case .page(let next) = try await second.fetch(PageRequest(.offset(50))) else { return }
        #expect(next.content.ids.first == "50")
    }

    @Test("an empty list teaches nothing that could be wrong later", arguments: [
        #"{"total":0}"#, #"{"items":null,"total":0}"#, #"{"items":[],"total":0}"#, "[]",
    ])
    func emptyFirst(body: String) async throws {
        let source = try source("http://h/api?page=1", Script { _, _ in json(body) })
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(page.content.isEmpty)
        #expect(page.lesson?.source.contains(#""isProvisional":true"#) == true, "it is not gone by")
    }

    @Test("R45: another credential, or none, is not whose list it is")
    func credentials() async throws {
        func made(_ header: String?, _ stored: String? = nil, url: String = "http://h/api") throws -> HTTPPageSource {
            var configuration = HTTPSourceConfiguration(url: url)
            configuration.paging = .none
            if let header { configuration.headers = [HTTPField("Authorization", header)] }
            return try HTTPPageSource(configuration, stored: stored, transport: Script { _, _ in json("[1,2]") })
        }
        guard case .page(let page) = try await made("Bearer A").fetch(PageRequest(.first)), let stored = page.lesson?.source else { return }
        #expect(!stored.contains("Bearer"))
        #expect(try !made("Bearer A").belongsToAnother(stored: stored))
        #expect(try made("Bearer B").belongsToAnother(stored: stored))
        #expect(try made(nil).belongsToAnother(stored: stored))
        guard case .page(let open) = try await made(nil).fetch(PageRequest(.first)), let anonymous = open.lesson?.source else { return }
        #expect(try !made(nil).belongsToAnother(stored: anonymous))
        #expect(try made(nil, url: "http://h/api?api_key=x").belongsToAnother(stored: anonymous))
        #expect(try !made("Bearer A").belongsToAnother(stored: ""))
    }

    @Test("nothing proves itself: at most eight requests, and it is said")
    func noWay() async throws {
        let script = Script { _, _ in json(#"{"total":45,"items":[\#(objects(0..<20))]}"#) }
        let source = try source("http://h/api", script)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(script.requests.count <= 8)
        #expect(source.access == .single)
        #expect(page.lesson?.warnings.first?.contains("counts 45 items") == true)
    }

    @Test("a count of the page is not taken for a total of the list")
    func pageCount() async throws {
        let script = Script { url, _ in
            json(#"{"count":20,"next":"/api?cursor=x","items":[\#(objects(0..<20))]}"#)
        }
        let source = try source("http://h/api", script)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(page.total == .unknown)
    }

    @Test("totals as strings, negative or absurd (R44)", arguments: [
        ("\"45\"", Total.exact(45)), ("-3", .unknown), ("1e30", .exact(1 << 53)), ("\"many\"", .unknown), ("null", .unknown),
    ])
    func totals(text: String, total: Total) async throws {
        let script = Script { _, _ in json(#"{"total":\#(text),"items":[\#(objects(0..<2))]}"#) }
        let source = try source("http://h/api", script) { $0.total = .init("/total"); $0.paging = .none }
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(page.total == total)
    }

    @Test("an id must be there in every item, and differ; else there is none")
    func ids() async throws {
        for (items, expected) in [
            (#"{"id":1},{"id":1}"#, [nil, nil]), (#"{"id":1},{"x":2}"#, [nil, nil]), (#"{"id":{}},{"id":{}}"#, [nil, nil]),
            (#"{"id":1,"uuid":"a"},{"id":1,"uuid":"b"}"#, ["a", "b"]), ("1,2", ["1", "2"]), ("1,1", [nil, nil]),
        ] as [(String, [String?])] {
            let source = try source("http://h/api", Script { _, _ in json("[\(items)]") })
            guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { continue }
            #expect(page.content.ids == expected, "\(items)")
        }
    }

    @Test("what was learned is stored, and asked with again without looking")
    func lesson() async throws {
        let script = Script { url, _ in
            let start = Int(url.value(of: "offset") ?? "0")!
            return json(#"{"count":45,"next":"http://h/api?limit=20&offset=\#(start + 20)","results":[\#(objects(start..<min(start + 20, 45)))]}"#)
        }
        let first = try source("http://h/api?api_key=S3CRET", script)
        guard case .page(let page) = try await first.fetch(PageRequest(.first)), let lesson = page.lesson else {
            Issue.record("no lesson")
            return
        }
        #expect(lesson.paging == "offset")
        #expect(!lesson.source.contains("S3CRET"))
        let second = try HTTPPageSource(HTTPSourceConfiguration(url: "http://h/api?api_key=S3CRET"), stored: lesson.source, transport: script)
        #expect(second.access == .offsets)
        _ = try await second.fetch(PageRequest(.offset(20), size: 20))
        #expect(script.urls == ["http://h/api?api_key=S3CRET", "http://h/api?offset=20&limit=20&api_key=S3CRET"])
    }

    @Test("what the caller says is not questioned")
    func overrides() async throws {
        let script = Script { url, _ in json(#"{"a":[{"k":"x"}],"b":[{"id":1},{"id":2}],"n":7}"#) }
        let source = try source("http://h/api", script) {
            $0.paging = .offset
            $0.items = JSONPointer("/a")
            $0.id = JSONPointer("/k")
            $0.total = .init("/n")
            $0.offsetParameter = "from"
            $0.limitParameter = "size"
        }
        guard case .page(let page) = try await source.fetch(PageRequest(.first, size: 1)) else { return }
        #expect(page.content.ids == ["x"])
        #expect(page.total == .exact(7))
        _ = try await source.fetch(PageRequest(.offset(1), size: 1))
        #expect(script.urls == ["http://h/api?size=1", "http://h/api?from=1&size=1"])
    }
}

@Suite("Origins that misbehave")
struct MisbehaviourTests {
    private func fetch(_ response: HTTPPageResponse, _ change: (inout HTTPSourceConfiguration) -> Void = { _ in }) async -> FetchFailure? {
        var configuration = HTTPSourceConfiguration(url: "https://h/api")
        change(&configuration)
        do {
            _ = try await HTTPPageSource(configuration, transport: Script { _, _ in response }).fetch(PageRequest(.first))
            return nil
        } catch {
            return error as? FetchFailure
        }
    }

    @Test("HTML, nothing, and half a JSON are permanent failures that say what came", arguments: [
        ("<!doctype html><html>", "HTML"), ("", "empty"), (#"{"items":[1,"#, "not JSON"), ("Service temporarily", "not JSON"),
    ])
    func undecodable(body: String, word: String) async {
        let failure = await fetch(json(body))
        #expect(failure?.failureClass == .undecodable)
        #expect(failure?.isRetryable == false)
        #expect(failure?.message.contains(word) == true)
    }

    @Test("an items pointer that finds nothing, or no array, is told")
    func pointers() async {
        #expect(await fetch(json(#"{"a":[1]}"#)) { $0.items = JSONPointer("/b") }?.message == "the answer has nothing at /b")
        #expect(await fetch(json(#"{"b":7}"#)) { $0.items = JSONPointer("/b") }?.message == "what the answer has at /b is not an array")
        #expect(await fetch(json(#"{"a":1}"#))?.message.contains("--items") == true)
        #expect(await fetch(json(#"{"total":0}"#)) { $0.items = JSONPointer("/b"); $0.total = .init("/total") } == nil)
    }

    @Test("R43: past a limit the answer is refused as a whole, and the limit is named")
    func limits() async {
        #expect(await fetch(json("[1,2,3]")) { $0.limits.itemsPerPage = 2 }?.message == "the page has more than 2 items")
        #expect(await fetch(json(#"["abcdef"]"#)) { $0.limits.item = 4 }?.failureClass == .hostile)
        #expect(await fetch(json(String(repeating: "[", count: 100_000)))?.message == "the answer nests deeper than 64 levels")
    }

    @Test("R45: a next link to another origin, or away from https, is refused", arguments: [
        "https://evil.example/api?page=2", "http://other/api", "ftp://h/api", "https://h:8443/api?x=1",
    ])
    func foreignNext(next: String) async {
        let failure = await fetch(json(#"{"items":[{"id":1}],"next":"\#(next)"}"#)) { $0.next = .init("/next"); $0.paging = .nextURL }
        #expect(failure != nil)
        #expect(failure?.isRetryable == false)
    }

    @Test("R45: an http next link of an https origin on the same host is taken as https")
    func upgradedNext() async throws {
        let source = try HTTPPageSource(
            HTTPSourceConfiguration(url: "https://h/api"),
            transport: Script { _, _ in json(#"{"items":[{"id":1}],"next":"http://h/api?cursor=2"}"#) })
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(page.next == PageCursor("https://h/api?cursor=2"))
    }

    @Test("R45: redirects stay at the origin; credentials never follow one away", arguments: [
        ("/moved", true), ("https://h/moved", true), ("https://evil.example/moved", false), ("http://h/moved", false), ("file:///etc/passwd", false),
    ])
    func redirects(location: String, isFollowed: Bool) async throws {
        let script = Script { url, _ in
            url.text.hasSuffix("/moved") ? json("[1]") : HTTPPageResponse(status: 302, headers: [HTTPField("Location", location)])
        }
        var configuration = HTTPSourceConfiguration(url: "https://h/api")
        configuration.headers = [HTTPField("X-Api-Key", "S3CRET")]
        configuration.paging = .none
        let source = try HTTPPageSource(configuration, transport: script)
        if isFollowed {
            _ = try await source.fetch(PageRequest(.first))
            #expect(script.requests.count == 2)
            #expect(source.usage.requests == 2)
        } else {
            await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first)) }
            #expect(script.requests.count == 1)
        }
    }

    @Test("a redirect to itself ends")
    func redirectLoop() async throws {
        let script = Script { _, _ in HTTPPageResponse(status: 301, headers: [HTTPField("Location", "/api")]) }
        let source = try HTTPPageSource(HTTPSourceConfiguration(url: "https://h/api"), transport: script)
        await #expect(throws: FetchFailure.self) { _ = try await source.fetch(PageRequest(.first)) }
        #expect(script.requests.count == 6)
    }

    @Test("userinfo goes into a header, and nowhere else")
    func userInfo() async throws {
        let script = Script { _, _ in json("[1]") }
        var configuration = HTTPSourceConfiguration(url: "https://me:p%40ss@h/api")
        configuration.paging = .none
        let source = try HTTPPageSource(configuration, transport: script)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)) else { return }
        #expect(script.urls == ["https://h/api"])
        #expect(script.requests[0].headers.contains(HTTPField("Authorization", "Basic bWU6cEBzcw==")))
        #expect(page.lesson?.source.contains("me:") == false)
    }

    @Test("Retry-After counts from the origin's own clock")
    func retryAfter() async {
        let failure = await fetch(
            HTTPPageResponse(
                status: 503,
                headers: [HTTPField("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), HTTPField("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT")]))
        #expect(failure?.retryAfter == .seconds(10))
        #expect(failure?.isRetryable == true)
    }
}

@Suite("Conditional requests")
struct ConditionalTests {
    @Test("R1: a validator goes with the request that it answered, and with no other")
    func validators() async throws {
        let script = Script { _, request in
            request.headers.contains { $0.name == "If-None-Match" } ? HTTPPageResponse(status: 304)
                : json(#"{"count":2,"results":[{"id":1},{"id":2}]}"#, [HTTPField("ETag", "W/\"x\"")])
        }
        let source = try HTTPPageSource(HTTPSourceConfiguration(url: "http://h/api"), transport: script)
        guard case .page(let page) = try await source.fetch(PageRequest(.first)), let validator = page.validator else {
            Issue.record("no validator")
            return
        }
        #expect(validator.entityTag == "W/\"x\"")
        #expect(validator.coversTotal)
        #expect(try await source.fetch(PageRequest(.first, validator: validator)) == .notModified(total: .unknown, validator: nil))
        guard case .page = try await source.fetch(PageRequest(.first, size: 5, validator: validator)) else {
            Issue.record("a validator was sent with another request")
            return
        }
    }
}
#endif
