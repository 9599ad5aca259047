import Foundation
import Measuring
import PageModel
import PageStore
import PagedRepository
import Synchronization

/// A store with lists of one page each, whole and had just now.
struct StoredLists<Value: BenchmarkItem>: Sendable {
    let store: SQLitePageStore
    let clock: SettableClock
    let queries: [QueryID]
    /// The moment at which every list was had.
    let filledAt: Timestamp

    /// In a new directory, which goes with `body`.
    static func with(lists: Int, _ body: (StoredLists) async throws -> Void) async throws {
        try await Scratch.with { directory in
            let stored = try await StoredLists(path: directory + "/store.sqlite", lists: lists)
            try await body(stored)
            await stored.store.close()
        }
    }

    init(path: String, lists: Int) async throws {
        let clock = SettableClock()
        let store = try await SQLitePageStore.open(at: path, mode: .createIfMissing, clock: clock)
        let content = try Value.page()
        var queries: [QueryID] = []
        for number in 0..<lists {
            let record = try await store.register(StoredLists.key(number))
            let plan = CommitPlan(
                query: record.id, version: record.version,
                edits: [
                    .insertPage(PageWrite(offset: 0, content: content, evidence: .verified)),
                    .setTotal(.exact(content.count)),
                    .setEnd(content.count), .validated,
                ],
                ledger: [.succeeded(offset: 0)])
            try expect(try await store.commit(plan) == .committed(record.version), "a page that is stored")
            queries.append(record.id)
        }
        self.store = store
        self.queries = queries
        self.clock = clock
        filledAt = clock.now()
    }

    static func key(_ number: Int) -> QueryKey { QueryKey("list-\(number)") }

    func list(_ number: Int, of repository: ListRepository<Value>) -> PagedList<Value> {
        repository.list(StoredLists.key(number))
    }

    /// - Parameter memoryBudget: bytes of payloads whose values are kept in memory.
    func repository(memoryBudget: Int = 32 << 20) -> ListRepository<Value> {
        ListRepository(
            storage: store, codec: JSONItemCodec<Value>(), memoryBudget: memoryBudget, source: { _ in UnusedSource() })
    }
}

/// A storage's clock that stands still until it is set: what is committed then has a moment that observers can wait
/// for.
///
/// State: the moment, under a mutex.
final class SettableClock: StorageClock {
    private let moment = Mutex(SystemClock().now())

    func now() -> Timestamp { moment.withLock { $0 } }
    func uptime() -> Uptime { Uptime(milliseconds: now().milliseconds, boot: "shelf") }
    func set(to new: Timestamp) { moment.withLock { $0 = new } }
}

/// An origin of lists that are served from the cache alone.
struct UnusedSource: PageSource {
    var access: PagingAccess { .offsets }
    var usage: SourceUsage { SourceUsage() }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        throw FetchFailure(.rejected, "this source must not be used", isRetryable: false)
    }
}

/// A directory for as long as it is needed.
enum Scratch {
    static func with(_ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pagecache-bench-\(UUID().uuidString)"
        ).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }
}
