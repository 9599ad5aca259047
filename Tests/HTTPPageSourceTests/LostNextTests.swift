#if HTTP
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("A known chain whose page one no longer has the member that names the next page")
struct LostNextTests {
    /// Synchronises 95 items by a cursor, and again after the member has changed. Returns the second report.
    private func synchroniseTwice(_ later: @escaping @Sendable (_ end: Int) -> String) async throws -> SyncReport {
        let isLater = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("cursor") ?? 0, end = min(start + 20, 95)
            let next =
                isLater.withLock { $0 }
                ? later(end) : #","next_cursor":\#(end < 95 ? #""\#(end)""# : "null")"#
            return .json("{\"data\":[\(objects(start..<end))]\(next)}")
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("k")
        func sync() async throws -> SyncReport {
            let source = try scripted("http://h/api", origin, stored: try await storage.query(key)?.source)
            return try await ListSync(
                storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run()
        }
        let first = try await sync()
        #expect(first.outcome == .complete && first.list?.coverage.count == 95)
        isLater.withLock { $0 = true }
        clock.advance(by: .seconds(60))
        let second = try await sync()
        let query = try #require(try await storage.query(key))
        // Pages of the earlier generation stay readable until the list is read again (R19).
        let readable = try await storage.outline(of: query.id)?.pages.map(\.range.upperBound).max()
        #expect(readable == 95, "no item is dropped")
        return second
    }

    @Test("A cursor with another name is found, and the list stays complete")
    func renamed() async throws {
        let report = try await synchroniseTwice { end in #","nextCursor":\#(end < 95 ? #""\#(end)""# : "null")"# }
        #expect(report.outcome == .complete)
    }

    @Test("A page without a cursor whose total counts more items makes the list unproven, and no item is lost")
    func counted() async throws {
        let report = try await synchroniseTwice { _ in #","total":95"# }
        #expect(report.outcome == .unproven)
    }

    /// Synchronises a list by `Link` headers, and again after the origin has stopped sending them. The second list has
    /// `later` items.
    private func loseLinks(
        _ count: Int, later: Int, by name: String, with more: String = ""
    ) async throws -> (outcome: SyncReport.Outcome, readable: Int?, requests: Int) {
        let isLater = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            let hasLost = isLater.withLock { $0 }
            let number = url.number(name), length = hasLost ? later : count
            let start = name == "page" ? ((number ?? 1) - 1) * 20 : number ?? 0
            let next = name == "page" ? (number ?? 1) + 1 : start + 20
            let link = HTTPField("Link", "<http://h/api?limit=20&\(name)=\(next)>; rel=\"next\"")
            return .json(
                "{\"data\":[\(objects(from: start, 20, of: length))]\(hasLost ? more : "")}",
                hasLost || start + 20 >= length ? [] : [link])
        }
        let clock = ManualClock(), storage = MemoryStorage(clock: clock), key = QueryKey("k")
        func sync() async throws -> SyncReport {
            let stored = try await storage.query(key)?.source
            let source = try scripted("http://h/api?limit=20", origin, stored: stored)
            return try await ListSync(
                storage: storage, source: source, key: key, options: SyncOptions(), clock: clock, jitter: { 0.5 }
            ).run()
        }
        let first = try await sync()
        #expect(first.outcome == .complete && first.list?.coverage.count == count)
        isLater.withLock { $0 = true }
        clock.advance(by: .seconds(60))
        let before = origin.requests.count, second = try await sync()
        let query = try #require(try await storage.query(key))
        let readable = try await storage.outline(of: query.id)?.pages.map(\.range.upperBound).max()
        return (second.outcome, readable, origin.requests.count - before)
    }

    @Test("Items behind a page one without its Link header start a new detection", arguments: ["offset", "page"])
    func lostLinks(name: String) async throws {
        let run = try await loseLinks(95, later: 95, by: name)
        #expect(run.outcome == .complete && run.readable == 95)
    }

    @Test("A full page without the Link header makes the list unproven, if the earlier links had no number")
    func lostTokens() async throws {
        for more in ["", #","total":95"#] {
            let run = try await loseLinks(95, later: 95, by: "resume", with: more)
            #expect(run.outcome == .unproven && run.readable == 95)
        }
    }

    @Test("A total above a page without the Link header contradicts the end, although less than a page is missing")
    func countedBehindLinks() async throws {
        let run = try await loseLinks(39, later: 39, by: "resume", with: #","total":39"#)
        #expect(run.outcome == .unproven && run.readable == 39)
    }

    @Test("A list that shrinks to one full page is complete, after one request for the second page")
    func shrunkToOnePage() async throws {
        let run = try await loseLinks(35, later: 20, by: "page")
        #expect(run.outcome == .complete && run.readable == 20 && run.requests == 2)
    }

    @Test("A full page without the member and without a total makes the list unproven, and the list keeps its items")
    func absent() async throws {
        #expect(try await synchroniseTwice { _ in "" }.outcome == .unproven)
        #expect(try await synchroniseTwice { _ in #","paging":{}"# }.outcome == .unproven)
    }
}
#endif
