#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Peculiarities of real origins")
struct OriginQuirkTests {
    private func list(start: Int, end: Int, of total: Int = 45) -> String {
        #"{"total":\#(total),"items":[\#(objects(start..<max(start, end)))]}"#
    }

    @Test("An answer without the member of the items is an empty page, in page one and past the end")
    func absentItems() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            return .json(start < 45 ? self.list(start: start, end: min(start + 20, 45)) : #"{"total":45}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(try await source.page(.offset(60)).content.isEmpty)
        for body in [#"{"total":0}"#, #"{"has_more":false}"#] {
            #expect(
                try await scripted("http://h/api", ScriptedOrigin { _, _ in .json(body) }).first().content.isEmpty,
                "\(body)")
        }
        // This body gives no evidence of a list, or of an empty one.
        await #expect(throws: FetchFailure.self) {
            _ = try await scripted("http://h/api", ScriptedOrigin { _, _ in .json(#"{"status":"ok"}"#) }).first()
        }
    }

    @Test("An answer with an error member is not mistaken for an empty page")
    func errorInside() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            return .json(start < 30 ? self.list(start: start, end: start + 20) : #"{"error":"try later"}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        await #expect(throws: FetchFailure.self) { _ = try await source.page(.offset(40)) }
    }

    @Test("A page size that the origin reduces silently is detected, and reported in a warning")
    func clamped() async throws {
        let origin = ScriptedOrigin { url, _ in
            let page = url.number("page") ?? 1, size = min(url.number("per_page") ?? 10, 10),
                start = max(page - 1, 0) * size
            return .json("[\(objects(from: start, size, of: 45))]", [HTTPField("X-Total-Count", "45")])
        }
        let source = try scripted("http://h/api?page=1", origin) { $0.limitParameter = "per_page" }
        let page = try await source.first(size: 200)
        #expect(source.access == .grid(size: 10))
        #expect(
            page.detectedPaging?.warnings.first?.contains(
                "requested 200 items a page (per_page), and the origin returns 10;")
                == true)
        #expect(try await source.page(.offset(20), size: 200).content.ids.first == "20")
    }

    @Test(
        "A maximum page size that only the body states is respected from then on",
        arguments: [
            #""meta":{"max_per_page":25}"#, #""limit":25"#, #""pagination":{"per_page":25,"total":90}"#,
        ])
    func statedMaximum(member: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0, size = min(url.number("limit") ?? 25, 25)
            return .json(#"{"total":90,\#(member),"items":[\#(objects(from: start, size, of: 90))]}"#)
        }
        let source = try scripted("http://h/api", origin) { $0.limitParameter = "limit" }
        let page = try await source.first(size: 500)
        #expect(page.detectedPaging?.warnings == ["the origin returns at most 25 items a page; 500 were requested"])
        #expect(source.access == .offsets)
        _ = try await source.page(.offset(25), size: 500)
        #expect(origin.urls.last == "http://h/api?offset=25&limit=25")
    }

    @Test("When the size parameter has another name than guessed, page one is fetched again, so that the grid matches")
    func otherSizeName() async throws {
        let origin = ScriptedOrigin { url, _ in
            let page = url.number("page") ?? 1, size = url.number("per_page") ?? 10, start = (page - 1) * size,
                end = min(start + size, 45)
            let link =
                end < 45 ? [HTTPField("Link", #"<http://h/api?page=\#(page + 1)&per_page=\#(size)>; rel="next""#)] : []
            return .json("[\(objects(min(start, 45)..<end))]", link + [HTTPField("X-Total-Count", "45")])
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first(size: 15).content.count == 15)
        #expect(source.access == .grid(size: 15))
        #expect(try await source.page(.offset(30), size: 15).content.ids.first == "30")
        #expect(
            origin.urls == ["http://h/api?limit=15", "http://h/api?per_page=15", "http://h/api?page=3&per_page=15"])
    }

    @Test("A request past the end may get 400, 404, 416, or 200 with an empty page", arguments: [400, 404, 416, 200])
    func pastEnd(status: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            if start >= 45 { return .json(self.list(start: 0, end: 0), status: status) }
            return .json(self.list(start: start, end: min(start + 20, 45)))
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        switch try await source.fetch(PageRequest(.offset(60))) {
        case .pastEnd, .notFound: #expect(status != 200)
        case .page(let page): #expect(status == 200 && page.content.isEmpty)
        case .notModified: Issue.record("the request was not conditional")
        }
    }

    @Test(
        "An origin that accepts only multiples of the page size as offsets is read whole, and later gets no others",
        arguments: [true, false], ["", #""limit":20,"offset":$start,"#])
    func multiplesOnly(hasNext: Bool, echo: String) async throws {
        let length = Mutex(61)
        let origin = ScriptedOrigin { url, _ in
            let (start, count) = (url.number("offset") ?? 0, length.withLock { $0 })
            guard start.isMultiple(of: 20) else { return HTTPPageResponse(status: 400) }
            let end = min(start + 20, count)
            let next = hasNext && end < count ? #","next":"http://h/api?limit=20&offset=\#(end)""# : ""
            return .json(
                #"{"total":\#(count),\#(echo.replacing("$start", with: "\(start)"))"items":[\#(objects(min(start, end)..<end))]\#(next)}"#
            )
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("http://h/api")
        func run(_ source: HTTPSource) async throws -> SyncReport {
            try await ListSync(storage: storage, source: source, key: key, clock: clock, jitter: { 0.5 }).run()
        }
        let report = try await run(try scripted("http://h/api?limit=20", origin))
        #expect(report.outcome == .complete)
        #expect(report.list?.coverage.count == 61)
        let stored = try await storage.query(key)?.source
        let source = try scripted("http://h/api?limit=20", origin, stored: stored)
        length.withLock { $0 = 95 }
        let again = try await run(source)
        #expect(again.outcome == .complete)
        #expect(again.list?.coverage.count == 95)
        #expect(source.access == .grid(size: 20))
        #expect(source.largestOverlap == 0 && source.probeSize == nil)
        let before = origin.requests.count
        length.withLock { $0 = 140 }
        let last = try scripted("http://h/api?limit=20", origin, stored: try await storage.query(key)?.source)
        #expect(try await run(last).list?.coverage.count == 140)
        #expect(origin.urls.dropFirst(before).allSatisfy { (OriginURL($0)?.number("offset") ?? 0).isMultiple(of: 20) })
    }

    @Test("Only a refusal with an answered multiple behind it shows that an origin accepts multiples of the page size")
    func multiples() {
        var positions = PositionMultiples(pageSize: 20)
        positions.observe(refusalOf: 19)
        #expect(positions.size == nil, "it may be the end of a result window")
        positions.observe(itemsAt: 20)
        #expect(positions.size == 20)
        positions.observe(itemsAt: 38)
        #expect(positions.size == nil, "another position was answered")
        var window = PositionMultiples(pageSize: 20)
        window.observe(itemsAt: 40)
        window.observe(refusalOf: 59)
        window.observe(refusalOf: 60)
        #expect(window.size == nil)
        #expect(PositionMultiples(pageSize: nil).size == nil)
    }

    @Test("A total beyond the real end does not hide fetched items")
    func excessiveTotal() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0
            return .json(self.list(start: min(start, 45), end: min(start + 20, 45), of: 100))
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().total == .exact(100))
        #expect(try await source.page(.offset(40)).content.count == 5)
        #expect(try await source.page(.offset(60)).content.isEmpty)
    }

    @Test("Next links that repeat the same items under new URLs end with the failure loop (R24)")
    func loop() async throws {
        let origin = ScriptedOrigin { url, _ in
            .json(
                "[\(objects(0..<20))]",
                [HTTPField("Link", "</api?cursor=\((url.number("cursor") ?? 0) + 1)>; rel=\"next\"")])
        }
        let source = try scripted("http://h/api", origin)
        let sync = ListSync(
            storage: MemoryStorage(), source: source, key: QueryKey("http://h/api"), clock: ManualClock())
        let report = try await sync.run()
        #expect(report.list?.failures.first?.failure?.failureClass == .loop)
        #expect(report.list?.coverage.count == 20)
        #expect(origin.requests.count <= 2 * 21 + 2)
    }

    @Test(
        "A next link that only counts further ends with an answer without items behind an exact total (R24)",
        arguments: [(3, "offset"), (95, "offset"), (3, "cursor")])
    func endlessCount(count: Int, parameter: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number(parameter) ?? 0
            // A total that equals the length of page one may count the page. The answer without items shows that it
            // counts the list.
            return .json(
                #"{"total":\#(count),"items":[\#(objects(from: start, 20, of: count))],"next":"/api?limit=20&\#(parameter)=\#(start + 20)"}"#
            )
        }
        let source = try scripted("http://h/api?limit=20", origin)
        let sync = ListSync(
            storage: MemoryStorage(), source: source, key: QueryKey("http://h/api"), clock: ManualClock())
        let report = try await sync.run()
        #expect(report.outcome == .complete)
        #expect(report.list?.coverage.count == count)
        #expect(origin.requests.count <= count / 20 + 8)
    }

    @Test(
        "A next link with a larger offset is followed after an empty answer, unless a total counts no item there"
    )
    func countedOn() async throws {
        for more in [#""total":45"#, #""has_more":true"#, #""kind":"list""#] {
            // The origin leaves out the items of its second page.
            let origin = ScriptedOrigin { url, _ in
                let start = min(url.number("offset") ?? 0, 45), end = min(start + 20, 45)
                let items = start == 20 ? "" : objects(start..<end)
                return end < 45
                    ? .json(#"{\#(more),"items":[\#(items)],"next":"/api?limit=20&offset=\#(end)"}"#)
                    : .json(#"{"total":45,"items":[\#(items)],"next":null}"#)
            }
            let source = try scripted("http://h/api?limit=20", origin) { $0.paging = .nextURL }
            _ = try await source.first()
            let second = try await source.page(.cursor(PageCursor("http://h/api?limit=20&offset=20")))
            #expect(second.content.isEmpty)
            #expect(second.next == PageCursor("http://h/api?limit=20&offset=40"))
        }
    }

    @Test("A page one without items and with a next page is unchanged when it is fetched again (R24)")
    func emptyPageOne() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min((url.number("offset") ?? 0) - 20, 95), end = min(start + 20, 95)
            let next = end < 95 ? #""/api?limit=20&offset=\#(end + 20)""# : "null"
            return .json(#"{"data":[\#(start < 0 ? "" : objects(start..<end))],"next":\#(next)}"#)
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("http://h/api?limit=20")
        var options = SyncOptions()
        options.reportsOutline = true
        for run in 0..<3 {
            let before = origin.requests.count
            let source = try scripted(
                "http://h/api?limit=20", origin, stored: try await storage.query(key)?.source)
            let report = try await ListSync(
                storage: storage, source: source, key: key, options: options, clock: clock, jitter: { 0.5 }
            ).run()
            #expect(report.outcome == .complete, "run \(run): \(report.warnings)")
            #expect(report.list?.coverage.count == 95)
            if run > 0 { #expect(origin.requests.count - before <= 4, "run \(run)") }
        }
    }

    @Test(
        "A next link that is relative to a base in the answer is followed behind that base",
        arguments: [
            (#""base":"http://h/wiki","context":"/wiki","#, "/content"), (#""context":"/wiki","#, "/content"),
            (#""base":"http://h/wiki","#, "/wiki/content"), (#""base":"http://other/wiki","#, "/wiki/content"),
        ])
    func linkBehindBase(base: String, path: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            guard url.path == "/wiki/content" else { return HTTPPageResponse(status: 404) }
            let start = url.number("start") ?? 0, end = min(start + 20, 45)
            let next = end < 45 ? #""next":"\#(path)?limit=20&start=\#(end)","# : ""
            return .json(
                #"{"results":[\#(objects(start..<end))],"_links":{\#(base)\#(next)"self":"http://h/wiki/content"}}"#)
        }
        let source = try scripted("http://h/wiki/content", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(origin.urls.allSatisfy { $0.hasPrefix("http://h/wiki/content") })
    }

    @Test("Parameters that a next link omits are added again if the answers differ")
    func droppedParameters() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("cursor") ?? 0, end = min(start + 20, 45)
            // Without the filter, the origin returns everything.
            let items = url.value(of: "kind") == "a" ? start..<end : start + 500..<end + 500
            return .json(#"{"next":\#(end < 45 ? "\"/api?cursor=\(end)\"" : "null"),"items":[\#(objects(items))]}"#)
        }
        let source = try scripted("http://h/api?kind=a", origin)
        let page = try await source.first()
        #expect(page.next == PageCursor("http://h/api?cursor=20&kind=a"))
        #expect(page.detectedPaging?.warnings.first == "the next link leaves out kind; added again")
        #expect(try await walk(source) == fortyFive)
    }

    @Test("Parameters that a next link omits are added again if the origin refuses the link")
    func neededParameters() async throws {
        let origin = ScriptedOrigin { url, _ in
            guard url.value(of: "kind") == "a" else { return HTTPPageResponse(status: 400) }
            let start = url.number("cursor") ?? 0, end = min(start + 20, 45)
            return .json(
                #"{"next":\#(end < 45 ? "\"/api?cursor=\(end)\"" : "null"),"items":[\#(objects(start..<end))]}"#)
        }
        #expect(try await walk(try scripted("http://h/api?kind=a", origin)) == fortyFive)
    }

    @Test("A next link whose token includes all parameters stays unchanged")
    func wholeToken() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("cursor") ?? 0, end = min(start + 20, 45)
            return .json(
                #"{"next":\#(end < 45 ? "\"/api?cursor=\(end)\"" : "null"),"items":[\#(objects(start..<end))]}"#)
        }
        let source = try scripted("http://h/api?kind=a", origin)
        #expect(try await source.first().next == PageCursor("http://h/api?cursor=20"))
        #expect(
            source.explanation.contains(
                PagingDecision("link", "kind", .failed, detail: "the next link returns the same items without them")))
    }

    @Test(
        "A JSON body is accepted with any content type",
        arguments: ["text/plain", "text/html; charset=utf-8", "application/octet-stream"])
    func contentType(type: String) async throws {
        let body = Array(#"{"items":[{"id":1}],"total":1}"#.utf8)
        let origin = ScriptedOrigin { _, _ in
            HTTPPageResponse(status: 200, headers: [HTTPField("Content-Type", type)], body: body)
        }
        #expect(Array(try await scripted("http://h/api", origin).first().content.ids) == ["1"])
    }

    @Test(
        "An entity tag is sent back exactly as received: unquoted, weak or quoted",
        arguments: ["abc123", "W/\"abc\"", "\"abc\"", "W/abc"])
    func entityTags(tag: String) async throws {
        let origin = ScriptedOrigin { _, request in
            request.headers.contains(HTTPField("If-None-Match", tag))
                ? HTTPPageResponse(status: 304)
                : .json(#"{"items":[{"id":1}],"total":1}"#, [HTTPField("ETag", tag)])
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        #expect(page.validator?.entityTag == tag)
        #expect(
            try await source.fetch(PageRequest(.first, validator: page.validator))
                == .notModified(total: .unknown, validator: nil))
    }

    @Test("Bodies that differ although their items are equal have one fingerprint (R6)")
    func noisyBodies() async throws {
        let calls = Mutex(0)
        let origin = ScriptedOrigin { _, _ in
            .json(#"{"request_id":"\#(calls.withLock { $0 += 1; return $0 })","items":[\#(objects(0..<3))],"total":3}"#)
        }
        let source = try scripted("http://h/api", origin)
        let first = try await source.first(), second = try await source.first()
        #expect(first.content.fingerprint == second.content.fingerprint)

        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        let sync = ListSync(
            storage: storage, source: try scripted("http://h/api", origin), key: QueryKey("http://h/api"), clock: clock)
        #expect(try await sync.run().reconciliation == .firstLoad)
        clock.advance(by: .seconds(600))
        let again = try await sync.run()
        #expect(again.outcome == .complete && again.reconciliation == .unchanged)
        #expect(again.pagesFetched == 0 && again.pagesUnchanged == 1)
    }

    @Test("Items with NUL, lone surrogates and escapes in ids, names and texts are stored byte for byte (R5, R7)")
    func oddText() async throws {
        let items = [
            #"{"id":"a\ud800","text":"\u0000"}"#, #"{"id":"a\ud801","text":"\udc00\ud800"}"#,
            #"{"id":"a\ufffd","\ud800":"\u001b[2J"}"#,
            #"{ "id" : "\u0061\u0000" , "n" : 1.50e0 }"#,
        ]
        let origin = ScriptedOrigin { _, _ in
            .json(#"{"total":4,"\ud800":1,"items":[\#(items.joined(separator: ","))]}"#)
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("http://h/api")
        let source = try scripted("http://h/api", origin)
        #expect(try await ListSync(storage: storage, source: source, key: key, clock: clock).run().outcome == .complete)
        let repository = ListRepository(storage: storage, codec: RawItemCodec(), clock: clock, source: { _ in source })
        let held = try await repository.page(key, offset: 0, limit: 10, policy: .cacheOnly).items
        #expect(held.map { String(decoding: $0, as: UTF8.self) } == items)
    }

    @Test("A cookie from the origin is not sent back")
    func cookies() async throws {
        let origin = ScriptedOrigin { _, _ in
            .json("[\(objects(0..<3))]", [HTTPField("Set-Cookie", "a=b"), HTTPField("Link", "</api?c=1>; rel=next")])
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        _ = try await source.page(.cursor(page.next!))
        #expect(
            origin.requests.allSatisfy { request in !request.headers.contains { $0.name.lowercased() == "cookie" } })
    }
}
#endif
