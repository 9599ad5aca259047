public import PageModel

// Each read returns the state as of one commit (R42).
extension SQLitePageStore {
    public func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? {
        try await read(isBrief: true) { reading throws(StorageError) in try QueryTable.find(key, in: reading.connection)
        }
    }

    public func state(of key: QueryKey) async throws(StorageError) -> ListState? {
        try await read(isBrief: true) { reading throws(StorageError) in try reading.state(of: key) }
    }

    public func records() async throws(StorageError) -> [QueryRecord] {
        try await read { reading throws(StorageError) in try QueryTable.all(in: reading.connection) }
    }

    public func summaries() async throws(StorageError) -> [QuerySummary] {
        try await read { reading throws(StorageError) in try reading.summaries() }
    }

    /// Returns every query with the values that a table of queries shows. Usually reads only sums over the page
    /// records, and not each record: see `StoreReading.listed`.
    /// - Throws: `StorageError`, as every read does.
    package func listed() async throws(StorageError) -> [QuerySummary] {
        try await read { reading throws(StorageError) in try reading.listed() }
    }

    /// Returns one query with its outline and size, or nil when the query has been purged. Reads no other query.
    /// - Throws: `StorageError`, as every read does.
    public func summary(of query: QueryID) async throws(StorageError) -> QuerySummary? {
        try await read { reading throws(StorageError) in try reading.summary(of: query) }
    }

    /// Returns the number of queries with a damaged record. All records that cannot be read count as one. `summaries`
    /// omits these queries, `verify` reports them, and `repair` repairs them.
    /// - Throws: `StorageError`, as every read does.
    public func damagedQueries() async throws(StorageError) -> Int {
        try await storedQueries().damagedCount
    }

    /// Returns the record of every query, and what can be read of the damaged ones.
    /// - Throws: `StorageError`, as every read does. Unreadable records are part of the result, and are not thrown.
    package func storedQueries() async throws(StorageError) -> StoredQueries {
        try await read { reading throws(StorageError) in try QueryTable.stored(in: reading.connection) }
    }

    public func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        // Most lists are short. Reading one takes less time than waking another thread (Decision 0002).
        let (pool, accesses, clock) = (pool, accesses, clock)
        let short = try pool.readAtOnce { connection throws(StorageError) in
            try StoreReading(connection: connection, accesses: accesses, clock: clock).shortOutline(of: query)
        }
        if case .list(let list) = short { return list }
        return try await read { reading throws(StorageError) in try reading.outline(of: query) }
    }

    public func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        try await read(isBrief: isBrief(range)) { reading throws(StorageError) in try reading.excerpt(of: query, range)
        }
    }

    public func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        try await read(isBrief: isBrief(range)) { reading throws(StorageError) in try reading.window(of: query, range) }
    }

    public func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        let (pool, accesses, clock) = (pool, accesses, clock)
        let short = try pool.readAtOnce { connection throws(StorageError) in
            try StoreReading(connection: connection, accesses: accesses, clock: clock)
                .shortList(of: query, mostItems: SQLitePageStore.brief, reading: choose)
        }
        if case .list(let list) = short { return list }
        return try await read { reading throws(StorageError) in try reading.list(of: query, reading: choose) }
    }

    /// Reads a stored list in pieces, all of them in one transaction (R2), on the caller's thread. Only one piece is in
    /// memory at a time. Each piece has the time limit of a read. For a purged query, `next` is not called.
    /// - Parameters:
    ///   - query: the query of the list.
    ///   - next: receives the list without its items, and the piece read last (`nil` before the first). Returns the
    ///     positions of the next piece; `nil` ends the reading. The closure runs inside the transaction, which keeps
    ///     the log from being truncated, and must not use the store.
    /// - Throws: `StorageError`, as every read does.
    package func pieces(
        of query: QueryID, next: (ListOutline, ListWindow?) -> Range<Int>?
    ) throws(StorageError) {
        let (accesses, clock) = (accesses, clock)
        try pool.read { connection throws(StorageError) in
            let reading = StoreReading(connection: connection, accesses: accesses, clock: clock)
            guard let outline = try reading.outline(of: query) else { return }
            var piece: ListWindow?
            while let range = next(outline, piece) {
                connection.restartTimeLimit()
                piece = try reading.window(of: query, range)
            }
        }
    }

    /// Returns the page that starts at `offset`, with its items. Returns nil when no page starts there, or when its
    /// bytes are damaged.
    /// - Throws: `StorageError`, as every read does.
    public func page(at offset: Int, of query: QueryID) async throws(StorageError) -> StoredPage? {
        try await read(isBrief: true) { reading throws(StorageError) in try reading.page(at: offset, of: query) }
    }

    public func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
        try await read { reading throws(StorageError) in try reading.damage(of: query, thoroughly: thoroughly) }
    }

    public func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        try await read { reading throws(StorageError) in try reading.locate(keys, in: query) }
    }

    public func changes(
        of query: QueryID, since version: ContentVersion, limit: Int
    ) async throws(StorageError) -> ListChanges? {
        try await read { reading throws(StorageError) in try reading.changes(of: query, since: version, limit: limit) }
    }

    /// Returns the version that a list had at a time, for `changes(of:since:limit:)`. For a time before the list was
    /// registered, returns its first version, which has no items.
    ///
    /// Returns nil when the query is not stored, or when its journal does not reach back to that time.
    /// - Throws: `StorageError`, as every read does.
    public func version(of query: QueryID, at moment: Timestamp) async throws(StorageError) -> ContentVersion? {
        try await read { reading throws(StorageError) in
            try JournalTable.version(of: query, at: moment, in: reading.connection)
        }
    }

    public func due(within: Duration, limit: Int) async throws(StorageError) -> DueReading {
        try await read { reading throws(StorageError) in
            DueReading(
                try LedgerTable.due(within: within, limit: limit, in: reading.connection, at: reading.moment),
                readAt: reading.moment.now)
        }
    }

    public func notices(of query: QueryID?) -> AsyncStream<StorageNotice> {
        announcer.notices(of: query)
    }

    public func watch() -> StorageWatch { announcer.watch() }

    public func changeCount(of query: QueryID) -> UInt64? { announcer.changeCount(of: query) }

    public var observedQueries: Set<QueryID> { announcer.hub.observedQueries }

    /// The number of items that can be read in the time that waking a thread takes.
    private static let brief = 256

    private func isBrief(_ range: Range<Int>) -> Bool { range.count <= SQLitePageStore.brief }
}
