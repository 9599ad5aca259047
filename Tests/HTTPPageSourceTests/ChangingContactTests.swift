#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: one fault, or one change of the list, among the first requests")
struct ChangingContactTests {
    /// Returns an origin that answers each request from the ids of the list at that time. `change` gets the number of
    /// the request, from 1, and the ids before it.
    private func changing(
        _ count: Int, _ change: @escaping @Sendable (Int, inout [Int]) -> Void,
        _ answer: @escaping @Sendable (Int, OriginURL, [Int]) -> HTTPPageResponse
    ) -> ScriptedOrigin {
        let list = Mutex(List(ids: Array(1...count)))
        return ScriptedOrigin { url, _ in
            let now = list.withLock { list in
                list.requestCount += 1
                change(list.requestCount, &list.ids)
                return list
            }
            return answer(now.requestCount, url, now.ids)
        }
    }

    private struct List: Sendable {
        var requestCount = 0
        var ids: [Int]
    }

    private static func page(_ ids: [Int], from start: Int, _ size: Int = 20) -> String {
        ids.dropFirst(max(start, 0)).prefix(size).map { objects($0..<$0 + 1) }.joined(separator: ",")
    }

    private static let refused = HTTPPageResponse.json(#"{"error":"unknown parameter"}"#, status: 400)

    private func run(_ url: String, _ origin: ScriptedOrigin, _ storage: MemoryStorage, _ clock: ManualClock)
        async throws -> SyncReport
    {
        // Each run has a source of its own, as in the tool.
        try await ListSync(
            storage: storage, source: try scripted(url, origin), key: QueryKey("k"), options: SyncOptions(),
            clock: clock, jitter: { 0.5 }
        ).run()
    }

    @Test(
        "One refusal of a parameter that has returned other items does not end the search, where pages have uneven lengths",
        arguments: [(404, 2), (404, 3), (404, 4), (404, 5), (400, 4), (403, 4), (400, 5)])
    func oneRefusal(status: Int, faulty: Int) async throws {
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        let origin = changing(62, { _, _ in }) { number, url, ids in
            if number == faulty { return HTTPPageResponse(status: status) }
            // Ids have gaps, and a page holds the ids of one range. The lengths of pages are therefore uneven.
            let page = url.number("page") ?? 0
            let shown = ids.filter { ($0 + $0 / 10) / 25 == page }
            return shown.isEmpty
                ? HTTPPageResponse(status: 404)
                : .json("[\(shown.map { objects($0..<$0 + 1) }.joined(separator: ","))]")
        }
        let first = try await run("http://h/shows", origin, storage, clock)
        #expect(first.outcome != .complete || first.list?.coverage.count == 62, "\(first.warnings)")
        let second = try await run("http://h/shows", origin, storage, clock)
        #expect(second.outcome == .complete, "\(second.warnings)")
        #expect(second.list?.coverage.count == 62)
    }

    @Test("A parameter that returns other items, and then fails, shows that page one is not the whole list")
    func unexplained() async throws {
        let origin = changing(67, { _, _ in }) { _, url, ids in
            switch url.value(of: "page") {
            case nil: .json("[\(Self.page(ids, from: 0, 17))]")
            case "2": .json("[\(Self.page(ids, from: 17, 17))]")
            case _: HTTPPageResponse(status: 404)
            }
        }
        let page = try await scripted("http://h/shows", origin).first()
        #expect(page.hasMore == true)
        #expect(page.detectedPaging?.warnings.contains { $0.contains("page as a page number") } == true)
    }

    @Test("A list whose items differ in each answer is not part of a longer list")
    func volatile() async throws {
        let origin = changing(7, { number, ids in ids = ids.indices.map { 100 * number + $0 } }) { _, _, ids in
            .json("[\(Self.page(ids, from: 0))]")
        }
        #expect(try await scripted("http://h/status", origin).first().hasMore != true)
    }

    @Test("A removal between the first two requests does not reject the parameter that works as an offset")
    func removal() async throws {
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        let origin = changing(50, { if $0 == 2 { $1.remove(at: 3) } }) { _, url, ids in
            let known = url.parameters.allSatisfy { ["$limit", "$offset"].contains($0.plainName) }
            return known ? .json("[\(Self.page(ids, from: url.number("$offset") ?? 0))]") : Self.refused
        }
        let report = try await run("http://h/bare?$limit=20", origin, storage, clock)
        #expect(report.outcome == .complete, "\(report.warnings)")
        #expect(report.list?.coverage.count == 49)
    }

    @Test("A search with a certain result is not repeated for the same page one")
    func settledSearch() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"items":[\#(objects(0..<7))]}"#) }
        let page = try await scripted("http://h/api", origin).first()
        let spent = origin.requests.count
        #expect(spent > 1)
        let again = try scripted("http://h/api", origin, stored: page.detectedPaging?.source)
        #expect(try await again.first().hasMore != true)
        #expect(origin.requests.count == spent + 1)
    }

    @Test("A pause or one 404 during detection leaves a request for the parameter that works", arguments: [429, 404])
    func repeated(status: Int) async throws {
        for faulty in 2...6 {
            let clock = ManualClock(), storage = MemoryStorage(clock: clock)
            let origin = changing(50, { _, _ in }) { number, url, ids in
                if number == faulty {
                    return HTTPPageResponse(status: status, headers: [HTTPField("Retry-After", "0")])
                }
                return Self.fromOne(url, ids)
            }
            let first = try await run("http://h/listings?limit=20", origin, storage, clock)
            #expect(first.outcome != .complete || first.list?.coverage.count == 50)
            let second = try await run("http://h/listings?limit=20", origin, storage, clock)
            #expect(second.outcome == .complete, "request \(faulty): \(second.warnings)")
            let query = try #require(try await storage.records().first)
            #expect(try await storage.outline(of: query.id)?.coverage.count == 50)
        }
    }

    @Test(
        "An item that is added during detection does not turn positions from 1 into positions from 0", arguments: 2...8)
    func oneBased(at request: Int) async throws {
        let origin = changing(50, { if $0 == request { $1.insert(9_999, at: 0) } }) { _, url, ids in
            Self.fromOne(url, ids)
        }
        let source = try scripted("http://h/listings?limit=20", origin)
        _ = try await source.first()
        guard source.access == .offsets else { return }
        #expect(source.explanation.contains { $0.detail == "the first item is number 1" })
    }

    @Test(
        "Positions from 1 are proven within eight requests, if the origin refuses all other parameters",
        arguments: [21, 29, 50])
    func provenInBudget(count: Int) async throws {
        let origin = changing(count, { _, _ in }) { _, url, ids in Self.fromOne(url, ids) }
        let source = try scripted("http://h/listings?limit=20", origin)
        let survey = try await source.survey()
        #expect(survey.isProven, "\(survey.warnings)")
        #expect(source.explanation.contains { $0.detail == "the first item is number 1" })
        #expect(origin.requests.count <= 8)
        #expect(survey.requests == origin.requests.count)
    }

    @Test("A stored list that wrongly counts positions from 0 is corrected while its end is not known")
    func wrongFirst() async throws {
        let origin = changing(50, { _, _ in }) { _, url, ids in Self.fromOne(url, ids) }
        let source = try scripted("http://h/listings?limit=20", origin)
        let page = try await source.first()
        let stored = try #require(page.detectedPaging?.source)
        let wrong = stored.replacing(#""firstOffset":1,"#, with: "")
        #expect(wrong != stored)
        let again = try scripted("http://h/listings?limit=20", origin)
        again.restore(
            from: QueryRecord(
                id: QueryID(rawValue: 1), key: QueryKey("k"), version: ListVersion(generation: 0, revision: 0),
                total: .exact(50), end: nil, validatedAt: nil, createdAt: ManualClock().now(),
                allowsDuplicates: false, paging: "offset", source: wrong))
        let corrected = try await again.first()
        #expect(corrected.detectedPaging?.source.contains(#""firstOffset":1"#) == true)
        #expect(try await again.page(.offset(20)).content.ids.first == "21")
    }

    /// `start` counts from 1. Other parameters are refused.
    private static func fromOne(_ url: OriginURL, _ ids: [Int]) -> HTTPPageResponse {
        let start = url.number("start") ?? 1
        let known = url.parameters.allSatisfy { ["limit", "start"].contains($0.plainName) }
        guard known, start >= 1 else { return refused }
        return .json(#"{"status":{"total_count":\#(ids.count)},"data":[\#(page(ids, from: start - 1))]}"#)
    }

    @Test(
        "A URL with page=1 stays usable when a page of items is added during detection",
        arguments: 2...4, [true, false])
    func addedPage(at request: Int, hasTotal: Bool) async throws {
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        let origin = changing(95, { if $0 == request { $1.insert(contentsOf: 1_001...1_020, at: 0) } }) { _, url, ids in
            let start = (max(url.number("page") ?? 1, 1) - 1) * 20
            let total = hasTotal ? #","total":\#(ids.count)"# : ""
            return .json("{\"items\":[\(Self.page(ids, from: start))]\(total)}")
        }
        let first = try await run("http://h/y?per_page=20&page=1", origin, storage, clock)
        #expect(first.outcome != .failed, "\(first.headFailure?.message ?? "") \(origin.urls)")
        let second = try await run("http://h/y?per_page=20&page=1", origin, storage, clock)
        #expect(second.outcome == .complete, "\(second.warnings)")
        let query = try #require(try await storage.records().first)
        #expect(try await storage.outline(of: query.id)?.coverage.count == 115)
    }

    @Test("A parameter that the caller names is not refused while the list changes")
    func namedParameter() async throws {
        let origin = changing(95, { if $0 == 2 { $1.insert(contentsOf: 1_001...1_020, at: 0) } }) { _, url, ids in
            .json(#"{"items":[\#(Self.page(ids, from: ((url.number("page") ?? 1) - 1) * 20))]}"#)
        }
        let page = try await scripted("http://h/api", origin) { $0.pageParameter = "page" }.first()
        #expect(page.hasMore == true)
        #expect(page.detectedPaging?.warnings.contains { $0.contains("the list changed meanwhile") } == true)
    }

    @Test("A parameter that the caller names is not refused for a 404 that is not repeated")
    func namedParameterMissing() async throws {
        let origin = changing(95, { _, _ in }) { number, url, ids in
            if [2, 3].contains(number) { return HTTPPageResponse(status: 404) }
            return .json(#"{"items":[\#(Self.page(ids, from: url.number("ofs") ?? 0))]}"#)
        }
        let page = try await scripted("http://h/api", origin) { $0.offsetParameter = "ofs" }.first()
        #expect(page.hasMore == true)
    }

    @Test("A removal does not prove a parameter that the origin ignores", arguments: 2...8)
    func ignored(at request: Int) async throws {
        let origin = changing(50, { if $0 == request { $1.remove(at: 3) } }) { _, url, ids in
            let start = url.number("offset") ?? 0
            return .json(
                #"{"offset":\#(start),"limit":20,"count":\#(ids.count),"results":[\#(Self.page(ids, from: start))]}"#)
        }
        let source = try scripted("http://h/species", origin)
        _ = try await source.first()
        #expect(source.summary?.hasPrefix("offset, parameter offset") == true, "\(source.summary ?? "")")
    }

    @Test(
        "Two pages that are numbered from 0 are read, although the origin refuses number 2 with 422",
        arguments: [true, false])
    func twoPagesFromZero(hasTotal: Bool) async throws {
        let clock = ManualClock(), storage = MemoryStorage(clock: clock)
        let origin = changing(29, { _, _ in }) { _, url, ids in
            let number = url.number("page") ?? 0
            guard (0...1).contains(number) else { return .json(#"{"error":"invalid page"}"#, status: 422) }
            let more = hasTotal ? "\"totalElements\":\(ids.count)" : "\"has_more\":\(number == 0)"
            return .json("{\"content\":[\(Self.page(ids, from: number * 20))],\(more)}")
        }
        let report = try await run("http://h/records?size=20", origin, storage, clock)
        #expect(report.outcome == .complete, "\(report.warnings) \(origin.urls)")
        let query = try #require(try await storage.records().first)
        #expect(try await storage.outline(of: query.id)?.coverage.count == 29)
    }
}
#endif
