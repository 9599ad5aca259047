import PageModel
import Synchronization

/// A storage that works on threads of its own: counts the calls that have not come back, so that a world knows when nothing
/// more can come.
///
/// State: the count, atomic; a call is counted from before it leaves until it is back with its task.
final class CountedStorage: RelayedStorage {
    let storage: any PageStorage
    private let count = Atomic<Int>(0)

    init(_ storage: any PageStorage) { self.storage = storage }

    var isBusy: Bool { count.load(ordering: .acquiring) > 0 }

    private func counted<Value>(_ call: () async throws(StorageError) -> Value) async throws(StorageError) -> Value {
        count.add(1, ordering: .acquiringAndReleasing)
        defer { count.subtract(1, ordering: .acquiringAndReleasing) }
        return try await call()
    }

    func register(_ key: QueryKey, at now: Timestamp) async throws(StorageError) -> QueryRecord {
        try await counted { () async throws(StorageError) in try await storage.register(key, at: now) }
    }
    func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? {
        try await counted { () async throws(StorageError) in try await storage.query(key) }
    }
    func records() async throws(StorageError) -> [QueryRecord] {
        try await counted { () async throws(StorageError) in try await storage.records() }
    }
    func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        try await counted { () async throws(StorageError) in try await storage.outline(of: query) }
    }
    func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        try await counted { () async throws(StorageError) in try await storage.excerpt(of: query, range) }
    }
    func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        try await counted { () async throws(StorageError) in try await storage.window(of: query, range) }
    }
    func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        try await counted { () async throws(StorageError) in try await storage.list(of: query, reading: choose) }
    }
    func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        try await counted { () async throws(StorageError) in try await storage.locate(keys, in: query) }
    }
    func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        try await counted { () async throws(StorageError) in try await storage.commit(plan) }
    }
    func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        try await counted { () async throws(StorageError) in try await storage.claim(offsets, of: query, until: expiry, at: now) }
    }
    func record(_ edits: [LedgerEdit], for query: QueryID, at now: Timestamp) async throws(StorageError) {
        try await counted { () async throws(StorageError) in try await storage.record(edits, for: query, at: now) }
    }
    func due(before moment: Timestamp, limit: Int) async throws(StorageError) -> [DueFetch] {
        try await counted { () async throws(StorageError) in try await storage.due(before: moment, limit: limit) }
    }
    func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        try await counted { () async throws(StorageError) in try await storage.purge(queries) }
    }
    func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try await counted { () async throws(StorageError) in try await storage.setPinned(isPinned, query) }
    }
    func evict(to budget: EvictionBudget, exempt: Set<QueryID>, at now: Timestamp) async throws(StorageError) -> EvictionReport {
        try await counted { () async throws(StorageError) in try await storage.evict(to: budget, exempt: exempt, at: now) }
    }
}
