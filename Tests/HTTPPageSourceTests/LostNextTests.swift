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

    @Test("Without a cursor, a total that counts more makes the list unproven, and it keeps its items")
    func counted() async throws {
        let report = try await synchroniseTwice { _ in #","total":95"# }
        #expect(report.outcome == .unproven)
    }
}
#endif
