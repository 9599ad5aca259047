#if Tool
import PageModel
import PageStore
import PagedRepository
import Synchronization

/// A store that is created when the first query is registered in it. A URL that is mistyped or cannot be reached leaves
/// no file.
///
/// State, behind mutexes: the store, once it exists, and the start of each `register`, `commit`, `claim` and `record`
/// that has not returned yet.
final class DeferredStore: PageStorage {
    private let place: StorePlace
    private let store: Mutex<(any ToolStore)?>
    private let writes = Mutex<[ContinuousClock.Instant]>([])

    /// Opens the store if it exists. Throws at once when an existing store cannot be opened.
    /// - Parameter access: `reading` for a command that writes nothing. Defaults to `writing`.
    init(at place: StorePlace, _ access: StoreAccess = .writing) async throws(StorageError) {
        self.place = place
        do throws(StorageError) {
            store = Mutex(try await place.openShowingWait(access))
        } catch {
            guard error.code == .notFound else { throw error }
            store = Mutex(nil)
        }
    }

    func close() async { await opened?.close() }
    func closeInPlace() async throws(StorageError) { try await opened?.closeInPlace() }
    func checkPlace() throws(StorageError) { try opened?.checkPlace(while: "it was open") }

    /// The time that the longest of the present writes has lasted. `nil` when no write is under way.
    var writeWait: Duration? { writes.withLock { $0.min() }.map { ContinuousClock.now - $0 } }

    private func writeBegins() -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        writes.withLock { $0.append(now) }
        return now
    }

    private func writeEnded(_ began: ContinuousClock.Instant) {
        writes.withLock { writes in
            if let index = writes.firstIndex(of: began) { writes.remove(at: index) }
        }
    }

    func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        let write = writeBegins()
        defer { writeEnded(write) }
        if let opened { return try await opened.register(key) }
        let made = try await place.openShowingWait(.creating)
        store.withLock { $0 = made }
        return try await made.register(key)
    }

    func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? { try await opened?.query(key) }
    func state(of key: QueryKey) async throws(StorageError) -> ListState? { try await opened?.state(of: key) }
    func summaries() async throws(StorageError) -> [QuerySummary] { try await opened?.summaries() ?? [] }

    func summary(of query: QueryID) async throws(StorageError) -> QuerySummary? { try await opened?.summary(of: query) }

    func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        try await existing().outline(of: query)
    }

    func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        try await existing().excerpt(of: query, range)
    }

    func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        try await existing().window(of: query, range)
    }

    func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        try await existing().list(of: query, reading: choose)
    }

    func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
        try await existing().damage(of: query, thoroughly: thoroughly)
    }

    func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        try await existing().locate(keys, in: query)
    }

    func changes(of query: QueryID, since version: ContentVersion, limit: Int) async throws(StorageError)
        -> ListChanges?
    {
        try await existing().changes(of: query, since: version, limit: limit)
    }

    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt {
        let write = writeBegins()
        defer { writeEnded(write) }
        return try await existing().commit(plan, claiming: request)
    }

    func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        let write = writeBegins()
        defer { writeEnded(write) }
        return try await existing().claim(request, of: query)
    }

    @discardableResult
    func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        let write = writeBegins()
        defer { writeEnded(write) }
        return try await existing().record(edits, for: query)
    }

    func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try await opened?.heartbeat(owner, for: duration) ?? []
    }

    func due(within: Duration, limit: Int) async throws(StorageError) -> DueReading {
        try await opened?.due(within: within, limit: limit) ?? DueReading([], readAt: SystemStorageClock().now())
    }

    func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport { try await existing().purge(queries) }

    func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try await existing().setPinned(isPinned, query)
    }

    func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport {
        try await opened?.evict(to: budget, exempt: exempt) ?? EvictionReport()
    }

    func notices(of query: QueryID?) -> AsyncStream<StorageNotice> {
        opened?.notices(of: query) ?? AsyncStream { $0.finish() }
    }

    func watch() -> StorageWatch { opened?.watch() ?? ChangeBroadcaster().watch() }

    func records() async throws(StorageError) -> [QueryRecord] { try await opened?.records() ?? [] }

    func storedQueries() async throws(StorageError) -> StoredQueries {
        try await opened?.storedQueries() ?? StoredQueries()
    }

    var observedQueries: Set<QueryID> { opened?.observedQueries ?? [] }

    var opened: (any ToolStore)? { store.withLock { $0 } }

    private func existing() throws(StorageError) -> any ToolStore {
        guard let opened else { throw StorageError(.notFound, "there is no store at \(place.name)") }
        return opened
    }
}
#endif
