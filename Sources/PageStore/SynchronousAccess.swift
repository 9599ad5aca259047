public import PageModel

/// Access to a store on the caller's own thread, for callers that may block their thread. Examples are request handlers
/// with threads of their own, tools and crawlers.
///
/// Each call is one transaction, and switches no threads. Do not use it in `async` code, where few threads serve all
/// tasks.
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

    /// Returns the query with this key, or nil when there is none.
    /// - Throws: `StorageError`, as every read does.
    public func query(_ key: QueryKey) throws(StorageError) -> QueryRecord? {
        try read { reading throws(StorageError) in try QueryTable.find(key, in: reading.connection) }
    }

    /// Returns the list without its items, or nil when the query has been purged.
    /// - Throws: `StorageError`, as every read does.
    public func outline(of query: QueryID) throws(StorageError) -> ListOutline? {
        try read { reading throws(StorageError) in try reading.outline(of: query) }
    }

    /// Returns the items at `range`, or nil when the query has been purged. Positions after the end of the list count
    /// as missing.
    /// - Throws: `StorageError`, as every read does.
    public func window(of query: QueryID, _ range: Range<Int>) throws(StorageError) -> ListWindow? {
        try read { reading throws(StorageError) in try reading.window(of: query, range) }
    }

    /// Returns the page that starts at `offset`, with its items. Returns nil when no page starts there, or when its
    /// bytes are damaged.
    /// - Throws: `StorageError`, as every read does.
    public func page(at offset: Int, of query: QueryID) throws(StorageError) -> StoredPage? {
        try read { reading throws(StorageError) in try reading.page(at: offset, of: query) }
    }

    /// Returns the changes of a list since `version`, or nil when the query has been purged. See
    /// `PageStorage.changes(of:since:limit:)`.
    /// - Throws: `StorageError`, as every read does.
    public func changes(of query: QueryID, since version: ContentVersion, limit: Int) throws(StorageError)
        -> ListChanges?
    {
        try read { reading throws(StorageError) in try reading.changes(of: query, since: version, limit: limit) }
    }

    /// Applies a plan as a whole or not at all (R1, R4). Waits for commits under way, in this process and in others.
    /// - Throws: `StorageError`, as every write does; `invalidPlan` for a plan that contradicts itself or has a
    ///   position out of range.
    public func commit(_ plan: CommitPlan) throws(StorageError) -> CommitOutcome {
        try commit(plan, claiming: nil).outcome
    }

    /// Applies a plan as a whole or not at all, and then takes leases (R1, R4, R30). See
    /// `PageStorage.commit(_:claiming:)`.
    /// - Throws: `StorageError`, as every write does; `invalidPlan` for a plan that contradicts itself or has a
    ///   position out of range.
    public func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) throws(StorageError) -> CommitReceipt {
        try write { session throws(StorageError) in try CommitTransaction.apply(plan, claiming: request, in: session) }
    }

    /// Takes leases on pages that the caller is about to fetch (R30). See `PageStorage.claim`.
    /// - Throws: `StorageError`, as every write does; `invalidPlan` for an impossible offset.
    public func claim(_ request: LeaseRequest, of query: QueryID) throws(StorageError) -> LeaseGrant {
        try write { session throws(StorageError) in try LedgerWriting.claim(request, of: query, in: session) }
    }

    /// Applies changes to the ledger in one transaction. The call is ignored for a query that has been purged.
    /// - Returns: the tokens among the edits whose lease was lost (R30). See `PageStorage.record`.
    /// - Throws: `StorageError`, as every write does; `invalidPlan` for an impossible offset.
    @discardableResult
    public func record(_ edits: [LedgerEdit], for query: QueryID) throws(StorageError) -> Set<LeaseToken> {
        try write { session throws(StorageError) in try LedgerWriting.record(edits, for: query, in: session) }
    }

    /// Renews the leases of an owner (R30). See `PageStorage.heartbeat`.
    /// - Throws: `StorageError`, as every write does.
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
