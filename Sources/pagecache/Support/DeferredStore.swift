#if Tool
import PageModel
import PageStore
import PagedRepository

/// A store that is made when the first query is registered in it, and not before: a URL that cannot be reached, or is
/// mistyped, leaves no trace.
actor DeferredStore: PageStorage {
    private let path: String
    private var store: PageStore?

    /// Opens the store if there is one. One that cannot be opened is an error now, not later.
    init(at path: String) async throws(StorageError) {
        self.path = path
        do throws(StorageError) {
            store = try await PageStore.open(at: path, mode: .mustExist, now: SystemClock().now())
        } catch {
            guard error.code == .notFound else { throw error }
        }
    }

    func close() async { await store?.close() }

    func register(_ key: QueryKey, at now: Timestamp) async throws(StorageError) -> QueryRecord {
        if store == nil { store = try await PageStore.open(at: path, mode: .createIfMissing, now: now) }
        return try await existing().register(key, at: now)
    }

    func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? { try await store?.query(key) }
    func summaries() async throws(StorageError) -> [QuerySummary] { try await store?.summaries() ?? [] }

    func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        try await existing().outline(of: query)
    }

    func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        try await existing().excerpt(of: query, range)
    }

    func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        try await existing().window(of: query, range)
    }

    func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: Int] {
        try await existing().locate(keys, in: query)
    }

    func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome { try await existing().commit(plan) }

    func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        try await existing().claim(offsets, of: query, until: expiry, at: now)
    }

    func record(_ edits: [LedgerEdit], for query: QueryID, at now: Timestamp) async throws(StorageError) {
        try await existing().record(edits, for: query, at: now)
    }

    func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport { try await existing().purge(queries) }

    private func existing() throws(StorageError) -> PageStore {
        guard let store else { throw StorageError(.notFound, "there is no store at \(path)") }
        return store
    }
}
#endif
