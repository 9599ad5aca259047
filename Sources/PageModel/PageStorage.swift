/// Where pages are kept. Small on purpose: everything above is written against this port, so that a store in memory
/// or on a server can take the place of the SQLite file.
///
/// Every method is one transaction. Nothing here waits for a network (R3).
///
/// Every stored time is the storage's own (R52). Callers give durations; each read that carries times returns the
/// storage's time of the read, to compare them with.
///
/// What every reading throws: `damaged`, `inputOutput`, `tookTooLong`, `closed`; `busy` and `internal`, rarely. What
/// every writing throws besides: `busy`, after the budget for it (R42), `full`, and `permission` where a store is open
/// for reading only. Nothing of a call that throws is stored, an eviction excepted: that removes in portions, each for
/// itself.
public protocol PageStorage: Sendable {
    /// The query with this key, made when it is new.
    /// - Throws: `StorageError`, as every writing does; `tooLarge` for a key that no storage takes.
    func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord

    /// The query with this key; nil when there is none.
    /// - Throws: `StorageError`, as every reading does.
    func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord?

    /// The state of the list with this key; nil when there is none. Costs the same however many pages the list has: the
    /// rows of the record and of page one, and those of failing pages.
    ///
    /// Where the storage does not know what the list holds without reading its pages, `holdings` is nil: in more than
    /// 64 runs, or after damage.
    /// - Throws: `StorageError`, as every reading does.
    func state(of key: QueryKey) async throws(StorageError) -> ListState?

    /// The record of every query that is whole, by id. Costs a row a query, however long the lists are.
    /// - Throws: `StorageError`, as every reading does.
    func records() async throws(StorageError) -> [QueryRecord]

    /// Every query with its outline and size, by id.
    /// - Throws: `StorageError`, as every reading does.
    func summaries() async throws(StorageError) -> [QuerySummary]

    /// The list without its items; nil when the query is gone.
    /// - Throws: `StorageError`, as every reading does.
    func outline(of query: QueryID) async throws(StorageError) -> ListOutline?

    /// The list without its items, as far as it concerns `range`: only the pages that hold positions there, and the
    /// ledger entries there. Costs what the range costs, however long the list is.
    /// - Throws: `StorageError`, as every reading does.
    func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline?

    /// The items at `range`; nil when the query is gone. Positions that do not exist are simply missing.
    /// - Throws: `StorageError`, as every reading does.
    func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow?

    /// The list without its items, and the items that `choose` picks of it, read in one transaction (R2); nil when the
    /// query is gone.
    /// - Parameters:
    ///   - query: the list.
    ///   - choose: the ranges to be read, by what is there. Called inside the transaction, so it has to be quick; it
    ///     may be called again, and then the last call counts.
    /// - Throws: `StorageError`, as every reading does.
    func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading?

    /// What the storage holds of the list, and cannot serve.
    ///
    /// Default: nothing, for storages that cannot be damaged.
    /// - Parameters:
    ///   - query: the list.
    ///   - thoroughly: whether every byte of the list, and the structure of the whole storage, is read for it.
    ///     Otherwise only whether the items of each page can be found.
    /// - Throws: `StorageError`, as every reading does.
    func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage

    /// Where the list's current generation holds the items with these identity keys. Keys it does not hold are
    /// absent. Where a key is held more than once, the first position counts.
    /// - Throws: `StorageError`, as every reading does.
    func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace]

    /// What changed in a list since `version`, out of its journal (R48), read in one transaction (R2); nil when the
    /// query is gone.
    ///
    /// Returns `truncated` when the journal does not reach back to that version, or when the stamp is not the one that
    /// was stored under that counter (R51). A part is never returned as the whole. Since the current version, no
    /// entries are returned.
    /// - Parameters:
    ///   - query: the list.
    ///   - version: the `contentVersion` of an earlier read, or the version that an earlier call reached.
    ///   - limit: the most entries to return, 0 or more. Fewer are returned where they hold more than 4 MiB of items.
    /// - Throws: `StorageError`, as every reading does.
    func changes(of query: QueryID, since version: ContentVersion, limit: Int) async throws(StorageError)
        -> ListChanges?

    /// Applies a plan, wholly or not at all (R1, R4), and then takes leases, as ``claim(_:of:)`` does: a caller that
    /// has one page to store has the next one to fetch, and one transaction does for both. A plan that names a lost
    /// lease stores its pages all the same; the receipt names the lease (R30).
    /// - Parameters:
    ///   - plan: what changes.
    ///   - request: the leases; nil for none. None are taken where the plan is not applied.
    /// - Throws: `StorageError`, as every writing does; `invalidPlan` for a plan that no list can follow, or an offset
    ///   that none can have.
    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt

    /// Takes leases on pages that are about to be fetched (R30): one more attempt for each, in flight from now on. A
    /// page that a living owner has in flight is left out. Of a query that is gone nothing is granted.
    /// - Parameters:
    ///   - request: the pages, and for how long.
    ///   - query: the list.
    /// - Throws: `StorageError`, as every writing does; `invalidPlan` for an offset that none can have.
    func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant

    /// Applies changes to the ledger alone, in one transaction; ignored for queries that are gone.
    /// - Returns: the tokens among the edits whose lease had been lost; those edits changed nothing (R30).
    /// - Throws: `StorageError`, as every writing does; `invalidPlan` for an offset that none can have.
    @discardableResult
    func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken>

    /// Keeps an owner alive: every lease that it holds lasts for `duration` from now on (R30). One call renews them
    /// all, in all lists.
    /// - Returns: the tokens that the owner still holds. A token that is missing was lost.
    /// - Throws: `StorageError`, as every writing does.
    func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken>

    /// What automatic triggers may try again: ledger entries of all queries whose next attempt is at most `within`
    /// ahead, soonest first. Zero means what is due now; a negative duration means what has been due for so long.
    /// - Throws: `StorageError`, as every reading does.
    func due(within: Duration, limit: Int) async throws(StorageError) -> DueReading

    /// Removes queries with all they hold. Removing nothing is fine.
    /// - Throws: `StorageError`, as every writing does.
    func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport

    /// Exempts a query from eviction, or no longer (R40). Ignored for queries that are gone.
    /// - Throws: `StorageError`, as every writing does.
    func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError)

    /// Removes pages until the budget is kept, least recently used first (R40). What is removed leaves a gap:
    /// positions, total and end of the list stay as they are. Pinned queries and those in `exempt` are left alone, and
    /// so are those that somebody in this process observes.
    /// - Throws: `StorageError`, as every writing does.
    func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport

    /// What happens in this storage from now on, in the order in which it was committed; to one query, or to all.
    ///
    /// A slow observer costs bounded memory: what it missed is told as `.mayHaveChanged`.
    func notices(of query: QueryID?) -> AsyncStream<StorageNotice>

    /// The same for many queries, which come and go, in one stream: see `StorageWatch`, and `NoticeHub`, which makes
    /// them.
    func watch() -> StorageWatch

    /// The queries that somebody in this process observes by name.
    var observedQueries: Set<QueryID> { get }

    /// A number that tells whether a query is still what it was, without a transaction: asked for before the query is
    /// read, and equal afterwards, it says that no change was told since, so that what was read is what is stored. A
    /// change is told before the call that made it returns; one by another process when its notice arrives,
    /// milliseconds later (R41).
    ///
    /// Nil when it is not known that every change is told. Default: nil, for storages that do not count.
    func changeCount(of query: QueryID) -> UInt64?
}

extension PageStorage {
    public func changeCount(of query: QueryID) -> UInt64? { nil }

    public func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
        StorageDamage()
    }

    /// Applies a plan, wholly or not at all (R1, R4).
    /// - Throws: `StorageError`, as every writing does; `invalidPlan` for a plan that no list can follow.
    public func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        try await commit(plan, claiming: nil).outcome
    }
}

/// Where a list holds an item.
public struct ItemPlace: Hashable, Sendable {
    /// Its 0-based position.
    public var position: Int
    /// Hash of the payload that is held: another one at the origin means that the item was edited.
    public var content: UInt64

    /// A place; each parameter is the property of its name.
    public init(position: Int, content: UInt64) {
        self.position = position
        self.content = content
    }
}

/// What a storage holds and cannot serve.
public struct StorageDamage: Hashable, Sendable {
    /// Positions of pages that count as held, and whose items cannot be read or are not what was stored. Ascending.
    public var pages: [Range<Int>]
    /// Whether rows of the storage cannot be reached. Fetching the missing pages again does not mend that; a repair
    /// does.
    public var isStructural: Bool

    /// A finding. Defaults to none.
    public init(pages: [Range<Int>] = [], isStructural: Bool = false) {
        self.pages = pages
        self.isStructural = isStructural
    }

    /// Whether everything can be served.
    public var isNone: Bool { pages.isEmpty && !isStructural }
}

/// A fetch that is due.
public struct DueFetch: Hashable, Sendable {
    /// The list that it is for.
    public var query: QueryID
    /// The page, and how fetching it went.
    public var entry: LedgerEntry

    /// A fetch that is due for this list.
    public init(query: QueryID, entry: LedgerEntry) {
        self.query = query
        self.entry = entry
    }
}

/// The fetches that are due, as of one read.
public struct DueReading: Hashable, Sendable {
    /// The soonest first.
    public var fetches: [DueFetch]
    /// The storage's time of the read: what the times in the entries are compared with (R52).
    public var readAt: Timestamp

    /// The fetches that were due at this time.
    public init(_ fetches: [DueFetch], readAt: Timestamp) {
        self.fetches = fetches
        self.readAt = readAt
    }
}

/// What a purge removed.
public struct PurgeReport: Hashable, Sendable {
    /// Queries that were removed.
    public var queries: Int
    /// Pages that were removed with them.
    public var pages: Int
    /// Bytes of their items, with their layout.
    public var bytes: Int
    /// Whether bytes of what was removed may still be in the storage's log, because a reader stood in it for longer
    /// than the busy budget. The storage finishes the purge with a later commit, with an eviction, or when it is closed
    /// or opened again. Default: false.
    public var mayRemainInLog: Bool

    /// A report; each parameter is the property of its name.
    public init(queries: Int = 0, pages: Int = 0, bytes: Int = 0, mayRemainInLog: Bool = false) {
        self.queries = queries
        self.pages = pages
        self.bytes = bytes
        self.mayRemainInLog = mayRemainInLog
    }
}

extension PageStorage {
    /// Exempts the list with this key from eviction (R40), and so makes it what background work keeps up to date; a
    /// list that nobody knows yet is registered.
    /// - Returns: the query, pinned.
    @discardableResult
    public func pin(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        var record = try await register(key)
        try await setPinned(true, record.id)
        record.isPinned = true
        return record
    }
}
