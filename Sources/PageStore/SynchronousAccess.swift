public import PageModel

/// A store on the caller's own thread, for callers that may block it: request handlers with threads of their own,
/// tools, crawlers. Each call is one transaction, and spares the way to another thread and back.
///
/// Not for `async` code: there a blocked thread is one of few.
public struct SynchronousAccess: Sendable {
    private let pool: ReaderPool
    private let accesses: AccessLog
    private let writer: WriterActor
    private let isReadOnly: Bool
    private let clock: any StorageClock

    init(pool: ReaderPool, accesses: AccessLog, writer: WriterActor, isReadOnly: Bool, clock: any StorageClock) {
        self.clock = clock
        self.pool = pool
        self.accesses = accesses
        self.writer = writer
        self.isReadOnly = isReadOnly
    }

    /// The query with this key; nil when there is none.
    /// - Throws: `StorageError`, as every reading does.
    public func query(_ key: QueryKey) throws(StorageError) -> QueryRecord? {
        try read { reading throws(StorageError) in try QueryTable.find(key, in: reading.connection) }
    }

    /// The list without its items; nil when the query is gone.
    /// - Throws: `StorageError`, as every reading does.
    public func outline(of query: QueryID) throws(StorageError) -> ListOutline? {
        try read { reading throws(StorageError) in try reading.outline(of: query) }
    }

    /// The items at `range`; nil when the query is gone. Positions that do not exist are simply missing.
    /// - Throws: `StorageError`, as every reading does.
    public func window(of query: QueryID, _ range: Range<Int>) throws(StorageError) -> ListWindow? {
        try read { reading throws(StorageError) in try reading.window(of: query, range) }
    }

    /// The page that starts at `offset`, with its items; nil when none does, or when its bytes are damaged.
    /// - Throws: `StorageError`, as every reading does.
    public func page(at offset: Int, of query: QueryID) throws(StorageError) -> StoredPage? {
        try read { reading throws(StorageError) in try reading.page(at: offset, of: query) }
    }

    /// What changed in a list since `version`; nil when the query is gone. See `PageStorage.changes(of:since:limit:)`.
    /// - Throws: `StorageError`, as every reading does.
    public func changes(of query: QueryID, since version: ContentVersion, limit: Int) throws(StorageError)
        -> ListChanges?
    {
        try read { reading throws(StorageError) in try reading.changes(of: query, since: version, limit: limit) }
    }

    /// Applies a plan, wholly or not at all (R1, R4). Waits for commits under way, in this process and in others.
    /// - Throws: `StorageError`, as every writing does; `invalidPlan` for a plan that no list can follow.
    public func commit(_ plan: CommitPlan) throws(StorageError) -> CommitOutcome {
        try commit(plan, claiming: nil).outcome
    }

    /// Applies a plan, wholly or not at all, and then takes leases (R1, R4, R30); see
    /// `PageStorage.commit(_:claiming:)`.
    /// - Throws: `StorageError`, as every writing does; `invalidPlan` for a plan that no list can follow, or an offset
    ///   that none can have.
    public func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) throws(StorageError) -> CommitReceipt {
        try write { session throws(StorageError) in try CommitTransaction.apply(plan, claiming: request, in: session) }
    }

    /// Takes leases on pages that are about to be fetched (R30); see `PageStorage.claim`.
    /// - Throws: `StorageError`, as every writing does; `invalidPlan` for an offset that none can have.
    public func claim(_ request: LeaseRequest, of query: QueryID) throws(StorageError) -> LeaseGrant {
        try write { session throws(StorageError) in try LedgerWriting.claim(request, of: query, in: session) }
    }

    /// Applies changes to the ledger alone, in one transaction; ignored for queries that are gone.
    /// - Returns: the tokens among the edits whose lease had been lost (R30); see `PageStorage.record`.
    /// - Throws: `StorageError`, as every writing does; `invalidPlan` for an offset that none can have.
    @discardableResult
    public func record(_ edits: [LedgerEdit], for query: QueryID) throws(StorageError) -> Set<LeaseToken> {
        try write { session throws(StorageError) in try LedgerWriting.record(edits, for: query, in: session) }
    }

    /// Keeps an owner alive (R30); see `PageStorage.heartbeat`.
    /// - Throws: `StorageError`, as every writing does.
    public func heartbeat(_ owner: LeaseOwner, for duration: Duration) throws(StorageError) -> Set<LeaseToken> {
        try write { session throws(StorageError) in try LedgerWriting.heartbeat(owner, for: duration, in: session) }
    }

    private func write<Value: Sendable>(
        _ body: @Sendable (Session) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        guard !isReadOnly else { throw StorageError(.permission, "the store is open for reading only") }
        return try writer.runOnThisThread(body)
    }

    private func read<Value: Sendable>(
        _ body: (StoreReading) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try pool.read { connection throws(StorageError) in
            try body(StoreReading(connection: connection, accesses: accesses, clock: clock))
        }
    }
}
