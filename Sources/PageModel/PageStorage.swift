/// The port that the repository stores pages through. The repository depends on this protocol alone, so that an
/// in-memory or remote store can replace the SQLite file.
///
/// Every read and every write is one transaction. The exceptions are `evict`, which uses one for each portion, `purge`
/// on a nearly full disk, and a thorough `damage(of:thoroughly:)`, which may use several. No transaction is open during
/// a request to an origin (R3).
///
/// Every stored time is the storage's own (R52). Callers pass durations. Each read that returns times also returns the
/// storage's time of the read, for comparison.
///
/// Every read can throw `damaged`, `inputOutput`, `tookTooLong` and `closed`, `moved` when the file of the store was
/// moved or replaced, and rarely `busy` and `internal`. Every write can also throw `busy` after the busy budget (R42)
/// and `full`. A write throws `permission` for a store that is open for reading only, and `newerSchema` after a newer
/// version has migrated the store. A storage on a server also throws `unavailable`. A call that throws stores no
/// change. Only `evict`, and `purge` on a nearly full disk, can throw after they have removed some pages.
public protocol PageStorage: Sendable {
    /// Returns the query with this key, and registers it when it is new.
    /// - Throws: `StorageError`, as every write does; `tooLarge` for a key that exceeds the storage's limit.
    func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord

    /// Returns the query with this key; `nil` when there is none.
    /// - Throws: `StorageError`, as every read does.
    func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord?

    /// Returns the state of the list with this key; `nil` when there is none. The cost is the same however many pages
    /// the list has: the rows of the record, of page one and of failing pages.
    ///
    /// `holdings` is `nil` when the storage would have to read the list's pages: with more than 64 segments, or after
    /// damage.
    /// - Throws: `StorageError`, as every read does.
    func state(of key: QueryKey) async throws(StorageError) -> ListState?

    /// Returns the record of every undamaged query, ordered by id. The cost is one row for each query, however long the
    /// lists are.
    /// - Throws: `StorageError`, as every read does.
    func records() async throws(StorageError) -> [QueryRecord]

    /// Returns every undamaged query with its outline and size, ordered by id.
    /// - Throws: `StorageError`, as every read does.
    func summaries() async throws(StorageError) -> [QuerySummary]

    /// Returns the list without its items; `nil` when the query has been purged.
    /// - Throws: `StorageError`, as every read does.
    func outline(of query: QueryID) async throws(StorageError) -> ListOutline?

    /// Returns the outline restricted to `range`: only the pages that hold positions there, and the ledger entries
    /// there. Returns `nil` when the query has been purged. The cost depends on the range, not on the length of the
    /// list.
    /// - Throws: `StorageError`, as every read does.
    func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline?

    /// Returns the items at `range`; `nil` when the query has been purged. Positions after the end of the list count as
    /// missing, too.
    /// - Throws: `StorageError`, as every read does.
    func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow?

    /// Returns the list without its items, and the items at the ranges that `choose` returns, read in one transaction
    /// (R2). Returns `nil` when the query has been purged.
    /// - Parameters:
    ///   - query: the query of the list.
    ///   - choose: returns the ranges to read, given the outline. The closure runs inside the transaction and has to be
    ///     quick. It may be called more than once; the last result counts.
    /// - Throws: `StorageError`, as every read does.
    func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading?

    /// Returns the parts of the list that the storage holds but cannot serve.
    ///
    /// The default implementation reports no damage, for storages that cannot be damaged.
    /// - Parameters:
    ///   - query: the query of the list.
    ///   - thoroughly: whether to read every byte of the list, and the structure of the whole storage. Otherwise the
    ///     method only checks that the items of each page can be found.
    /// - Throws: `StorageError`, as every read does.
    func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage

    /// Returns the places of the items with these identity keys in the list's current generation. Keys that are not
    /// held are absent. For a key that is held more than once, the first position counts.
    /// - Throws: `StorageError`, as every read does.
    func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace]

    /// Returns the changes of a list since `version`, from its journal (R48), read in one transaction (R2). Returns
    /// `nil` when the query has been purged.
    ///
    /// Returns `truncated` when the journal does not reach back to that version, or when another stamp is stored for
    /// that counter (R51). An incomplete history is never returned as complete. For the current version, no entries are
    /// returned.
    /// - Parameters:
    ///   - query: the query of the list.
    ///   - version: the `contentVersion` of an earlier read, or the version that an earlier call reached.
    ///   - limit: the most entries to return, 0 or more. Fewer are returned if they hold more than 4 MiB of items.
    /// - Throws: `StorageError`, as every read does.
    func changes(of query: QueryID, since version: ContentVersion, limit: Int) async throws(StorageError)
        -> ListChanges?

    /// Applies a plan as a whole or not at all (R1, R4), and then takes leases as ``claim(_:of:)`` does. A caller that
    /// stores one page usually fetches the next one, and one transaction serves both. A plan that names a lost lease
    /// still stores its pages, and the receipt names that lease (R30).
    /// - Parameters:
    ///   - plan: the changes.
    ///   - request: the leases to take; `nil` means none. No lease is taken if the plan is not applied.
    /// - Throws: `StorageError`, as every write does; `invalidPlan` for a plan that contradicts itself or has a
    ///   position out of range; `tooLarge` for a page that exceeds the storage's limit.
    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt

    /// Takes leases on pages that are about to be fetched (R30). Each grant counts as one more attempt, and puts the
    /// page in flight. A page that a living owner has in flight is skipped. For a purged query, no lease is granted.
    /// - Parameters:
    ///   - request: the pages, the duration and the owner of the leases.
    ///   - query: the query of the list.
    /// - Throws: `StorageError`, as every write does; `invalidPlan` for an impossible offset.
    func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant

    /// Applies changes to the ledger alone, in one transaction. The call is ignored for a purged query.
    /// - Returns: the tokens among the edits whose lease had been lost. Those edits changed no record (R30).
    /// - Throws: `StorageError`, as every write does; `invalidPlan` for an impossible offset.
    @discardableResult
    func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken>

    /// Renews all leases of an owner, in all lists, so that each lasts for `duration` from now on (R30).
    /// - Returns: the tokens that the owner still holds. A missing token was lost.
    /// - Throws: `StorageError`, as every write does.
    func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken>

    /// Returns the ledger entries of all queries whose next attempt is due within a duration, soonest first.
    /// - Parameters:
    ///   - within: the duration from now. Zero returns the entries that are due now; a negative duration returns the
    ///     entries that have been due for at least that long.
    ///   - limit: the most entries to return, 0 or more.
    /// - Throws: `StorageError`, as every read does.
    func due(within: Duration, limit: Int) async throws(StorageError) -> DueReading

    /// Removes queries with everything that they hold. Unknown queries are ignored.
    /// - Throws: `StorageError`, as every write does.
    func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport

    /// Pins a query, or removes its pin. Eviction skips a pinned query (R40), and background work keeps its list
    /// complete and fresh. The call is ignored for a purged query.
    /// - Throws: `StorageError`, as every write does.
    func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError)

    /// Removes pages until the budget is kept, least recently used first (R40). Each removed page leaves a gap:
    /// positions, total and end of the list stay unchanged. Pinned queries are skipped, and so are queries in `exempt`
    /// and queries that have an observer of their own in this process.
    /// - Throws: `StorageError`, as every write does.
    func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport

    /// Returns a stream of changes from now on, in the order of their commits.
    ///
    /// A slow observer needs bounded memory: missed changes are merged into `.invalidated`.
    /// - Parameter query: the query to observe; `nil` means all queries.
    func notices(of query: QueryID?) -> AsyncStream<StorageNotice>

    /// Returns one stream for a set of queries that changes over time: see `StorageWatch`, and `ChangeBroadcaster`,
    /// which creates such streams.
    func watch() -> StorageWatch

    /// The queries that have an observer of their own in this process.
    var observedQueries: Set<QueryID> { get }

    /// Returns a number that shows, without a transaction, whether a query is unchanged. Read the number before the
    /// query. As long as the number stays the same, the read content is the stored content. A change is counted before
    /// the call that made it returns. A change by another process is counted when its notice arrives, usually
    /// milliseconds later (R41).
    ///
    /// Returns `nil` when some changes may go uncounted. The default implementation returns `nil`, for storages that do
    /// not count.
    func changeCount(of query: QueryID) -> UInt64?
}

extension PageStorage {
    public func changeCount(of query: QueryID) -> UInt64? { nil }

    public func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
        StorageDamage()
    }

    /// Applies a plan as a whole or not at all (R1, R4).
    /// - Throws: `StorageError`, as every write does; `invalidPlan` for a plan that contradicts itself or has a
    ///   position out of range.
    public func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        try await commit(plan, claiming: nil).outcome
    }
}

/// The place of an item in a list.
public struct ItemPlace: Hashable, Sendable {
    /// The item's 0-based position.
    public var position: Int
    /// Hash of the held payload. Another hash at the origin means that the item was edited.
    public var content: UInt64

    /// Creates a place.
    public init(position: Int, content: UInt64) {
        self.position = position
        self.content = content
    }
}

/// The parts of a list that a storage holds but cannot serve.
public struct StorageDamage: Hashable, Sendable {
    /// Positions of held pages whose items are unreadable or fail their checksum, ascending.
    public var pages: [Range<Int>]
    /// Whether rows of the storage cannot be reached. Only a repair removes such damage. Fetching the missing pages
    /// again does not.
    public var isStructural: Bool

    /// Creates a description of damage. Defaults to no damage.
    public init(pages: [Range<Int>] = [], isStructural: Bool = false) {
        self.pages = pages
        self.isStructural = isStructural
    }

    /// Whether everything can be served.
    public var isNone: Bool { pages.isEmpty && !isStructural }
}

/// A fetch that is due.
public struct DueFetch: Hashable, Sendable {
    /// The query of the list.
    public var query: QueryID
    /// The page's fetch record.
    public var entry: LedgerEntry

    /// A fetch that is due for this list.
    public init(query: QueryID, entry: LedgerEntry) {
        self.query = query
        self.entry = entry
    }
}

/// The fetches that are due, as of one read.
public struct DueReading: Hashable, Sendable {
    /// The fetches, soonest first.
    public var fetches: [DueFetch]
    /// The storage's time of the read, for comparison with the times in the entries (R52).
    public var readAt: Timestamp

    /// The fetches that were due at this time.
    public init(_ fetches: [DueFetch], readAt: Timestamp) {
        self.fetches = fetches
        self.readAt = readAt
    }
}

/// The result of a purge.
public struct PurgeReport: Hashable, Sendable {
    /// The number of removed queries.
    public var queries: Int
    /// The number of pages that were removed with them.
    public var pages: Int
    /// Bytes of the removed items, including their layout.
    public var bytes: Int
    /// Whether removed bytes may still be in the storage's log or file. The cause is a reader that used the log for
    /// longer than the busy budget, or a full disk. The storage finishes the purge with a later commit or eviction,
    /// when it is closed, or when it is next opened for writing. Defaults to false.
    public var mayRemainInLog: Bool
    /// Whether removed bytes may remain because the disk is full, and not because of a reader. Defaults to false.
    public var isDiskFull = false
    /// Whether unused parts of the storage's file may still hold copies of removed bytes, because the file could not be
    /// rewritten. The file then holds more than 64 MiB, is damaged or in use, or the disk has too little room. The next
    /// purge tries again. Defaults to false.
    public var mayRemainInFile = false

    /// Creates a report.
    public init(queries: Int = 0, pages: Int = 0, bytes: Int = 0, mayRemainInLog: Bool = false) {
        self.queries = queries
        self.pages = pages
        self.bytes = bytes
        self.mayRemainInLog = mayRemainInLog
    }
}

extension PageStorage {
    /// Pins the list with this key: eviction skips the list (R40), and background work keeps it complete and fresh. An
    /// unknown list is registered first.
    /// - Returns: the pinned query.
    @discardableResult
    public func pin(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        var record = try await register(key)
        try await setPinned(true, record.id)
        record.isPinned = true
        return record
    }
}
