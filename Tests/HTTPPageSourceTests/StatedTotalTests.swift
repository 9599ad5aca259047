#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

@Suite("Detection: totals that are a lower bound, or that count the page")
struct StatedTotalTests {
    @Test(
        "A text counts the list exactly, about, or with a lower bound",
        arguments: [
            ("1-18 of 95", .exact), ("1-18 of 95.", .exact), ("Showing 1 to 18 of 95 results", .exact),
            ("(1-18 of 95)", .exact), ("1-18 of 95 films", .exact), ("1-18 of 95 search results", .exact),
            ("1-18 of 95 results found", .exact), ("1-18 of 95+", .lowerBound), ("1-18 of 95+ results", .lowerBound),
            ("1-18 of 95 +", .lowerBound), ("0-17/95+", .lowerBound), ("1-18 of 95 or more", .lowerBound),
            ("1-18 of 95 at least", .lowerBound), ("1-18 of 95, more available", .lowerBound),
            ("1-18 of 95 (estimated)", .estimate), ("1-18 of 95 approx.", .estimate), ("About 1-18 of 95", .estimate),
            ("1-18 of 95 so far", .estimate), ("1-18 of 95 and counting", .estimate), ("1-18 of 95 shown", .estimate),
        ] as [(String, StatedRange.Precision)])
    func precision(text: String, expected: StatedRange.Precision) throws {
        let range = try #require(StatedRange(text))
        #expect(range.total == 95)
        #expect(range.precision == expected)
    }

    @Test(
        "A text whose last number is not a whole number of items counts nothing",
        arguments: [
            "1-18 of 95K", "1-18 of 95 k", "1-18 of 95.5", "1-18 of 95 thousand", "1-18 of 9,500", "1-18 of 9,500+",
            "1-18 of 9 500", "1-18 of about 95", "1-18 of >95", "1-18 of many", "1-18 of 95...", "1-18 of 95%",
            "1-18 of 95 pages",
        ])
    func noRange(text: String) { #expect(StatedRange(text) == nil) }

    @Test(
        "A text that counts the page and an unreadable number of items in all shows that more items follow",
        arguments: ["1-17 of 9,500", "0–16 of many", "Results 1 to 17 of >95", "1-17 of 95 pages"])
    func openRange(text: String) async throws {
        #expect(StatedRange.isOpen(text, count: 17))
        let body = ScriptedOrigin { _, _ in .json(#"{"items":[\#(objects(0..<17))],"summary":"\#(text)"}"#) }
        #expect(try await scripted("http://h/api", body).first().hasMore == true)
        let header = ScriptedOrigin { _, _ in .json("[\(objects(0..<17))]", [HTTPField("X-Shown", text)]) }
        #expect(try await scripted("http://h/api", header).first().hasMore == true)
    }

    @Test(
        "A text that counts another page or exactly the whole list does not show that more items follow",
        arguments: ["1-17 of 17", "1-18 of 9,500", "18-34 of many", "17 of many", "1-17 from many", "1-17/*"])
    func closedRange(text: String) { #expect(!StatedRange.isOpen(text, count: 17)) }

    @Test("A total that equals the size in the URL may count the page, under any name")
    func totalOfRequestedSize() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 60), end = min(start + 25, 60)
            return .json(#"{"items":[\#(objects(start..<end))],"totalResults":\#(end - start)}"#)
        }
        let source = try scripted("http://h/api?limit=25", origin)
        #expect(try await source.first().total == .unknown)
        #expect(source.access == .offsets)

        let whole = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 25)
            return .json(#"{"items":[\#(objects(start..<25))],"totalResults":25}"#)
        }
        let page = try await scripted("http://h/api?limit=25", whole).first()
        #expect(page.total == .exact(25))
        #expect(page.hasMore != true)
    }

    @Test(
        "A total that equals a page of a usual size may count the page, under any name",
        arguments: ["total", "total_count", "totalResults", "totalItems"], [10, 20, 25])
    func totalOfUsualSize(name: String, size: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 60), end = min(start + size, 60)
            return .json(#"{"objects":[\#(objects(start..<end))],"\#(name)":\#(end - start)}"#)
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().total == .unknown)
        #expect(source.access == .offsets)

        let whole = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, size)
            return .json(#"{"objects":[\#(objects(start..<size))],"\#(name)":\#(size)}"#)
        }
        let page = try await scripted("http://h/api", whole).first()
        #expect(page.total == .exact(size))
        #expect(page.hasMore != true)
    }

    /// An origin of `length` items by `paging`, whose total counts the page or the list.
    private static func counting(
        _ length: Int, _ size: Int, by paging: String?, inHeader: Bool, countsPage: Bool
    ) -> ScriptedOrigin {
        ScriptedOrigin { url, _ in
            var start = 0
            if let paging, let number = url.number(paging) {
                start = ParameterNames.page.contains(paging) ? (number - 1) * size : number
            }
            start = min(max(start, 0), length)
            let shown = min(start, length)..<min(start + size, length)
            let total = countsPage ? shown.count : length
            return inHeader
                ? .json("[\(objects(shown))]", [HTTPField("X-Total-Count", "\(total)")])
                : .json(#"{"total":\#(total),"items":[\#(objects(shown))]}"#)
        }
    }

    /// Synchronises a list twice. Returns the second report, the stored list, and the requests of the second run.
    private func synchronise(
        _ origin: ScriptedOrigin, _ url: String = "http://h/api"
    ) async throws -> (SyncReport, ListOutline, again: Int) {
        let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("k")
        var reports: [SyncReport] = [], requests = 0
        for _ in 0..<2 {
            requests = origin.requests.count
            let source = try scripted(url, origin, stored: try await storage.query(key)?.source)
            reports.append(
                try await ListSync(
                    storage: storage, source: source, key: key, options: SyncOptions(), clock: clock,
                    jitter: { 0.5 }
                ).run())
        }
        #expect(reports[1].outcome == reports[0].outcome, "\(reports[1].warnings)")
        let query = try #require(try await storage.query(key))
        let list = try #require(try await storage.outline(of: query.id))
        return (reports[1], list, origin.requests.count - requests)
    }

    @Test(
        "A total that equals the page is believed only if no probe finds more: in headers, and for pages of any size",
        arguments: ["offset", "page"],
        [
            (25, true), (30, true), (37, true), (37, false), (13, false), (7, true), (7, false), (2, false),
        ])
    func totalOfPage(paging: String, page: (Int, Bool)) async throws {
        let (size, inHeader) = page
        for length in [size + 1, 95] {
            let part = Self.counting(length, size, by: paging, inHeader: inHeader, countsPage: true)
            let (report, list, _) = try await synchronise(part)
            #expect(report.outcome == .complete, "\(report.warnings)")
            #expect(list.coverage.count == length)
        }
    }

    @Test(
        "A true total that equals page one stays exact, and an unchanged list costs one request",
        arguments: ["offset", "page", nil], [(25, true), (37, true), (37, false), (13, false), (7, true), (7, false)])
    func totalOfOnePage(paging: String?, page: (Int, Bool)) async throws {
        let (size, inHeader) = page
        let origin = Self.counting(size, size, by: paging, inHeader: inHeader, countsPage: false)
        let (report, list, again) = try await synchronise(origin)
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(list.record.total == .exact(size))
        #expect(again == 1)
    }

    @Test(
        "A count of the page is not a total, whatever its plain name, and also below the size in the URL",
        arguments: ["count", "hits", "X-Total-Count", "Content-Range"], [(33, ""), (25, "?limit=100"), (7, "")])
    func countOfPage(name: String, page: (Int, String)) async throws {
        let (size, query) = page
        let origin = ScriptedOrigin { url, _ in
            let start = min(((url.number("page") ?? 1) - 1) * size, 95), end = min(start + size, 95)
            let items = objects(max(start, 0)..<end), count = end - start
            return switch name {
            case "Content-Range":
                .json("[\(items)]", [HTTPField(name, count == 0 ? "items */0" : "items \(start)-\(end - 1)/\(count)")])
            case "X-Total-Count": .json("[\(items)]", [HTTPField(name, "\(count)")])
            case _: .json(#"{"\#(name)":\#(count),"items":[\#(items)]}"#)
            }
        }
        let (report, list, _) = try await synchronise(origin, "http://h/api\(query)")
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(list.coverage.count == 95)
    }

    @Test(
        "A count of a short page is not a total, whatever parameter pages the list",
        arguments: ["skip", "start", "p", "pg", "pageNo"], [true, false])
    func countOfShortPage(paging: String, inHeader: Bool) async throws {
        for query in ["", "?limit=4"] {
            let origin = Self.counting(17, 4, by: paging, inHeader: inHeader, countsPage: true)
            let (report, list, _) = try await synchronise(origin, "http://h/api\(query)")
            let isWhole = report.outcome == .complete && list.coverage.count == 17
            #expect(isWhole || report.outcome == .unproven, "\(query): \(origin.urls)")
            #expect(isWhole || paging != "skip", "\(query): \(origin.urls)")
        }
    }

    @Test(
        "A short list with a true total costs three requests, where the origin ignores all parameters",
        arguments: [2, 7])
    func costOfShortList(count: Int) async throws {
        for inHeader in [true, false] {
            let origin = Self.counting(count, count, by: nil, inHeader: inHeader, countsPage: false)
            #expect(try await scripted("http://h/api", origin).first().total == .exact(count))
            #expect(origin.requests.count == 3, "\(origin.urls)")
        }
    }

    @Test("A header that equals the size in the URL may count the page, where no parameter works")
    func headerOfRequestedSize() async throws {
        let origin = Self.counting(60, 25, by: nil, inHeader: true, countsPage: true)
        #expect(try await scripted("http://h/api?limit=25", origin).first().hasMore == true)
    }

    @Test(
        "No probe is sent if the answer shows that the page is short, or that the list ends",
        arguments: [
            #""limit":50"#, #""next":null"#, #""has_more":false"#, #""total_pages":1"#,
        ])
    func shortPage(member: String) async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"total":37,\#(member),"items":[\#(objects(0..<37))]}"#) }
        let page = try await scripted("http://h/api", origin).first()
        #expect(page.total == .exact(37) && page.hasMore != true)
        #expect(origin.requests.count == 1)
    }

    @Test("A list is read to its end behind a lower bound of its total")
    func lowerBound() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 230), end = min(start + 50, 230)
            return .json(
                #"{"items":[\#(objects(start..<end))],"summary":"Showing \#(start + 1)-\#(end) of \#(max(end, 100))+"}"#
            )
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().total == .estimate(100))
        #expect(try await walk(source) == (0..<230).map { String($0) })
    }

    @Test(
        "A page as long as the lower bound of its total is not the whole list",
        arguments: [#""summary":"1-23 of 23+""#, #""total":{"value":23,"relation":"gte"}"#])
    func boundOfPage(member: String) async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"items":[\#(objects(0..<23))],\#(member)}"#) }
        #expect(try await scripted("http://h/api", origin).first().hasMore == true)
    }

    @Test(
        "A text in a header counts the list only if it also counts the items of the page",
        arguments: [
            ("X-Range", "1-20 of 45", .exact(45)), ("X-Range", "1-20 of 45+", .estimate(45)),
            ("X-Load", "1-2/45", .unknown),
        ] as [(String, String, ListTotal)])
    func header(name: String, value: String, total: ListTotal) async throws {
        let origin = ScriptedOrigin { _, _ in .json("[\(objects(0..<20))]", [HTTPField(name, value)]) }
        #expect(try await scripted("http://h/api", origin).first().total == total)
    }

    @Test("A header of HEAD that equals a full page counts the page")
    func head() async throws {
        let items = (0..<50).map { #"{"n":\#($0)}"# }.joined(separator: ",")
        let origin = ScriptedOrigin { _, request in
            request.method == "HEAD"
                ? HTTPPageResponse(status: 200, headers: [HTTPField("X-Result-Count", "50")]) : .json("[\(items)]")
        }
        let page = try await scripted("http://h/api", origin).first()
        #expect(origin.requests.contains { $0.method == "HEAD" })
        #expect(page.hasMore == true)
        #expect(page.total == .unknown)
    }

    @Test(
        "A count that equals the page is not proof of the end, whatever the size of the page",
        arguments: ["X-Result-Count", "X-Item-Count", "X-Record-Count", "result_count"])
    func pageCount(name: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(((url.number("page") ?? 1) - 1) * 23, 46), end = min(start + 23, 46)
            let items = objects(max(start, 0)..<end)
            return name.hasPrefix("X")
                ? .json("[\(items)]", [HTTPField(name, "\(end - start)")])
                : .json(#"{"items":[\#(items)],"\#(name)":\#(end - start)}"#)
        }
        #expect(try await walk(scripted("http://h/api", origin)) == (0..<46).map { String($0) })
    }
}
#endif
