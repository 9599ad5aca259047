public import PageModel

/// A storage call that uses a transaction. Calls that read a single list contain its query.
public enum StorageCall: Hashable, Sendable {
    case register, query, state, records, summaries
    case outline(QueryID), excerpt(QueryID), window(QueryID), list(QueryID), locate(QueryID), changes(QueryID)
    case commit, claim, record, heartbeat, due, purge, setPinned, evict

    /// Whether the call changes nothing in the storage.
    public var isReading: Bool {
        switch self {
        case .query, .state, .records, .summaries, .outline, .excerpt, .window, .list, .locate, .changes, .due: true
        case .register, .commit, .claim, .record, .heartbeat, .purge, .setPinned, .evict: false
        }
    }
}

/// A storage in front of another one. By default it forwards every call.
public protocol RelayedStorage: PageStorage {
    var storage: any PageStorage { get }

    /// Wraps every call that uses a transaction. By default it only runs `body`.
    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value
}

extension RelayedStorage {
    public func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await body()
    }

    public func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        try await relay(.register) { () async throws(StorageError) in try await storage.register(key) }
    }
    public func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? {
        try await relay(.query) { () async throws(StorageError) in try await storage.query(key) }
    }
    public func state(of key: QueryKey) async throws(StorageError) -> ListState? {
        try await relay(.state) { () async throws(StorageError) in try await storage.state(of: key) }
    }
    public func records() async throws(StorageError) -> [QueryRecord] {
        try await relay(.records) { () async throws(StorageError) in try await storage.records() }
    }
    public func summaries() async throws(StorageError) -> [QuerySummary] {
        try await relay(.summaries) { () async throws(StorageError) in try await storage.summaries() }
    }
    public func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        try await relay(.outline(query)) { () async throws(StorageError) in try await storage.outline(of: query) }
    }
    public func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        try await relay(.excerpt(query)) { () async throws(StorageError) in try await storage.excerpt(of: query, range)
        }
    }
    public func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        try await relay(.window(query)) { () async throws(StorageError) in try await storage.window(of: query, range) }
    }
    public func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        try await relay(.list(query)) { () async throws(StorageError) in
            try await storage.list(of: query, reading: choose)
        }
    }
    public func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        try await relay(.locate(query)) { () async throws(StorageError) in try await storage.locate(keys, in: query) }
    }
    public func changes(
        of query: QueryID, since version: ContentVersion, limit: Int
    ) async throws(StorageError) -> ListChanges? {
        try await relay(.changes(query)) { () async throws(StorageError) in
            try await storage.changes(of: query, since: version, limit: limit)
        }
    }
    public func commit(
        _ plan: CommitPlan, claiming request: LeaseRequest?
    ) async throws(StorageError) -> CommitReceipt {
        try await relay(.commit) { () async throws(StorageError) in try await storage.commit(plan, claiming: request) }
    }
    public func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        try await relay(.claim) { () async throws(StorageError) in try await storage.claim(request, of: query) }
    }
    @discardableResult
    public func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        try await relay(.record) { () async throws(StorageError) in try await storage.record(edits, for: query) }
    }
    public func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try await relay(.heartbeat) { () async throws(StorageError) in try await storage.heartbeat(owner, for: duration)
        }
    }
    public func due(within: Duration, limit: Int) async throws(StorageError) -> DueReading {
        try await relay(.due) { () async throws(StorageError) in try await storage.due(within: within, limit: limit) }
    }
    public func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        try await relay(.purge) { () async throws(StorageError) in try await storage.purge(queries) }
    }
    public func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try await relay(.setPinned) { () async throws(StorageError) in try await storage.setPinned(isPinned, query) }
    }
    public func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport {
        try await relay(.evict) { () async throws(StorageError) in
            try await storage.evict(to: budget, exempt: exempt)
        }
    }
    public func notices(of query: QueryID?) -> AsyncStream<StorageNotice> { storage.notices(of: query) }
    public func watch() -> StorageWatch { storage.watch() }
    public func changeCount(of query: QueryID) -> UInt64? { storage.changeCount(of: query) }
    public var observedQueries: Set<QueryID> { storage.observedQueries }
}
