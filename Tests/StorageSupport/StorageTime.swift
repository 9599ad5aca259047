public import PageModel
public import PageStore
#if PostgreSQL
import PostgresPageStore
#endif
public import PagedRepositoryTesting

// Storage calls at a moment: each sets the clock of the storage first.
extension PageStorage {
    /// The manual clock that the storage was created with.
    public var manualClock: ManualClock {
        #if PostgreSQL
        if let store = self as? PostgreSQLPageStore, let clock = store.callersClock as? ManualClock { return clock }
        #endif
        let clock: (any StorageClock)? =
            switch self {
            case let store as SQLitePageStore: store.clock
            case let memory as MemoryStorage: memory.clock
            case let relayed as any RelayedStorage: relayed.storage.manualClock
            default: nil
            }
        guard let clock = clock as? ManualClock else {
            preconditionFailure("the storage has another clock than the test's")
        }
        return clock
    }

    private func at(_ moment: Timestamp) -> Self {
        manualClock.set(to: moment)
        return self
    }

    public func register(_ key: QueryKey, at now: Timestamp) async throws(StorageError) -> QueryRecord {
        try await at(now).register(key)
    }

    @discardableResult
    public func pin(_ key: QueryKey, at now: Timestamp) async throws(StorageError) -> QueryRecord {
        try await at(now).pin(key)
    }

    public func commit(_ plan: CommitPlan, at now: Timestamp) async throws(StorageError) -> CommitOutcome {
        try await at(now).commit(plan)
    }

    public func claim(_ request: LeaseRequest, of query: QueryID, at now: Timestamp) async throws(StorageError)
        -> LeaseGrant
    {
        try await at(now).claim(request, of: query)
    }

    /// Claims leases until a moment, without an excerpt of the list.
    /// - Returns: The granted offsets.
    public func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        try await at(now).claim(LeaseRequest(offsets, for: expiry - now), of: query).offsets
    }

    @discardableResult
    public func record(_ edits: [LedgerEdit], for query: QueryID, at now: Timestamp) async throws(StorageError) -> Set<
        LeaseToken
    > {
        try await at(now).record(edits, for: query)
    }

    /// Returns the fetches that are due before a moment, whatever the time of the storage is.
    public func due(before moment: Timestamp, limit: Int) async throws(StorageError) -> [DueFetch] {
        try await due(within: moment - manualClock.now(), limit: limit).fetches
    }

    public func evict(
        to budget: EvictionBudget, exempt: Set<QueryID>, at now: Timestamp
    ) async throws(StorageError) -> EvictionReport {
        try await at(now).evict(to: budget, exempt: exempt)
    }
}

extension SQLitePageStore {
    /// Opens a store whose clock stays at noon until the test sets it.
    public static func openForTest(
        at path: String, mode: Mode = .createIfMissing, options: Options = Options()
    ) async throws(StorageError) -> SQLitePageStore {
        try await open(at: path, mode: mode, options: options, clock: ManualClock(noon))
    }

    public func repair(at now: Timestamp) async throws(StorageError) -> RepairReport {
        manualClock.set(to: now)
        return try await repair()
    }

    public func add(_ tally: RunTally, to query: QueryID, at now: Timestamp) async throws(StorageError) {
        manualClock.set(to: now)
        try await add(tally, to: query)
    }

    public func purgeAll(at now: Timestamp) async throws(StorageError) -> PurgeReport {
        manualClock.set(to: now)
        return try await purgeAll()
    }
}
