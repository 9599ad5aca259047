import PageModel
import Synchronization

/// A storage that counts how often lists are read. What counts of changes it does not tell when it is to be one that cannot.
///
/// State: the counts, by the list that was read, under a mutex.
final class CountingStorage: PageStorage {
    private let storage: any PageStorage
    private let countsChanges: Bool
    private let reads = Mutex<[QueryID?: Int]>([:])

    init(_ storage: any PageStorage, countsChanges: Bool = true) {
        self.storage = storage
        self.countsChanges = countsChanges
    }

    /// How many transactions were made to read this list; nil: to read the records of all.
    func reads(of query: QueryID?) -> Int { reads.withLock { $0[query] ?? 0 } }
    /// Of all lists, without the records.
    var allReads: Int { reads.withLock { $0.filter { $0.key != nil }.values.reduce(0, +) } }
    private func count(_ query: QueryID?) { reads.withLock { $0[query, default: 0] += 1 } }

    func register(_ key: QueryKey, at now: Timestamp) async throws(StorageError) -> QueryRecord {
        try await storage.register(key, at: now)
    }
    func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? { try await storage.query(key) }
    func records() async throws(StorageError) -> [QueryRecord] {
        count(nil)
        return try await storage.records()
    }
    func summaries() async throws(StorageError) -> [QuerySummary] { try await storage.summaries() }
    func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        count(query)
        return try await storage.outline(of: query)
    }
    func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        count(query)
        return try await storage.excerpt(of: query, range)
    }
    func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        count(query)
        return try await storage.window(of: query, range)
    }
    func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        count(query)
        return try await storage.list(of: query, reading: choose)
    }
    func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        try await storage.locate(keys, in: query)
    }
    func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome { try await storage.commit(plan) }
    func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        try await storage.claim(offsets, of: query, until: expiry, at: now)
    }
    func record(_ edits: [LedgerEdit], for query: QueryID, at now: Timestamp) async throws(StorageError) {
        try await storage.record(edits, for: query, at: now)
    }
    func due(before moment: Timestamp, limit: Int) async throws(StorageError) -> [DueFetch] {
        try await storage.due(before: moment, limit: limit)
    }
    func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport { try await storage.purge(queries) }
    func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try await storage.setPinned(isPinned, query)
    }
    func evict(to budget: EvictionBudget, exempt: Set<QueryID>, at now: Timestamp) async throws(StorageError) -> EvictionReport {
        try await storage.evict(to: budget, exempt: exempt, at: now)
    }
    func notices(of query: QueryID?) -> AsyncStream<StorageNotice> { storage.notices(of: query) }
    func watch() -> StorageWatch { storage.watch() }
    func changeCount(of query: QueryID) -> UInt64? { countsChanges ? storage.changeCount(of: query) : nil }
    var observedQueries: Set<QueryID> { storage.observedQueries }
}
