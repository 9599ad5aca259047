#if Tool
import DemoOrigin
import Foundation
import HTTPPageSource
import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing
import ToolSupport

@testable import pagecache

/// A store as an operator meets it: a list with failing pages, and a pinned list that has changed. Every run, duration
/// and age is the same in each process: the store was written by a clock that stands still, thirty hours and a half ago.
struct OperatorStore {
    /// A key with a long path and a query.
    static let failing: QueryKey = "https://api.example.com/v2/regions/europe/customers?sort=name"
    static let orders: QueryKey = "orders"

    let folder = Folder()
    private(set) var reports: [(key: QueryKey, report: SyncReport)] = []
    private(set) var statistics: StoreStatistics?

    /// - Parameter now: the time of the tool.
    init(now: Timestamp) async throws {
        let clock = ManualClock(now + .seconds(-30 * 3_600 - 1_800))
        let store = try await SQLitePageStore.open(
            at: folder.store, mode: .createIfMissing, options: SQLitePageStore.Options(), clock: clock)
        let mayFail = Mutex(false)
        let origin = DemoOrigin(count: 1_200) { _, target in
            let offset = target.firstMatch(of: /offset=(\d+)/).flatMap { Int($0.1) } ?? 0
            guard mayFail.withLock({ $0 }), offset >= 300 else { return nil }
            return .status(offset % 200 < 100 ? 503 : 429, retryAfter: nil)
        }
        let root = try await origin.start()
        // All ports of this range have five digits, so every URL is equally long.
        try #require(root.count == OperatorStore.root.count, "\(root)")
        do {
            try await run(OperatorStore.orders, root, store, clock)
            for position in [0, 400] { origin.insert(at: position) }
            origin.remove(at: 21)
            try await run(OperatorStore.orders, root, store, clock)
            mayFail.withLock { $0 = true }
            try await run(OperatorStore.failing, root, store, clock)
        } catch {
            await origin.stop()
            throw error
        }
        await origin.stop()
        for record in try await store.records() where record.key == OperatorStore.orders {
            try await store.setPinned(true, record.id)
        }
        statistics = try await store.statistics()
        await store.close()
    }

    /// The root of the origin in snapshots.
    static let root = "http://127.0.0.1:12345"

    private mutating func run(
        _ key: QueryKey, _ root: String, _ store: SQLitePageStore, _ clock: ManualClock
    ) async throws {
        let configuration = HTTPSourceConfiguration(url: "\(root)/items")
        let transport = AsyncHTTPTransport(limits: configuration.limits)
        let known = try await store.query(key)
        var options = SyncOptions()
        options.concurrency = 1
        options.pageSize = 100
        options.overlap = 0
        options.retryWaitBudget = .zero
        options.reportsOutline = true
        let report: SyncReport
        do {
            let source = try HTTPSource(configuration, stored: known?.source, transport: transport, clock: clock)
            report = try await ListSync(
                storage: store, source: source, key: key, options: options, clock: clock, jitter: { 0.5 }
            ).run()
        } catch {
            await transport.close()
            throw error
        }
        await transport.close()
        await store.count(RunTally(report, after: .everything), report, since: known?.contentVersion)
        reports.append((key, report))
    }

    /// Replaces everything that differs between two stores by a text of the same length: the port, times, and the stamps
    /// of versions. The sentence about the file is left out, because it names the folder of the test.
    static func stable(_ text: String) -> String {
        text.replacing(/\u{1b}\[[0-9;]*m/, with: "")
            .replacing("\r\n", with: "\n")
            .replacing(/\b\d{5}(\/\s*items)/) { "12345\($0.1)" }
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:/, with: "2026-01-31T12:00:")
            .replacing(/\d\d\.\d{3}Z/, with: "00.000Z")
            .replacing(/\b[0-9a-f]{16}\b/, with: "00c0ffee00c0ffee")
            .replacing(/(?s)store: \S+ \S+ in.*?free\n/, with: "")
    }
}
#endif
