public import PageModel
import Synchronization

/// A `PageStorage` in memory, which loses its content when it is released. Use this storage in tests of your own code.
///
/// State: the lists, guarded by one mutex. A transaction works on a copy of them. Its changes are published while the
/// mutex is held, so that notices arrive in the order of the commits.
public final class MemoryStorage: PageStorage {
    /// The name of this storage in the owners of leases (R30). The owners count as alive as long as this object exists.
    private let owner: String
    /// The source of every stored time (R52).
    package let clock: any StorageClock
    private let state: Mutex<MemoryState>
    private let hub = ChangeBroadcaster()

    /// An empty storage.
    /// - Parameters:
    ///   - owner: the name in its leases (R30). Defaults to `memory`.
    ///   - journal: the bound of each list's journal (R48). Defaults to 1 MiB per list. Entries younger than ten
    ///     minutes are kept beyond the bound, unless a single commit exceeds it.
    ///   - clock: the source of every stored time and of the ends of leases (R52). Pass the same `ManualClock` to the
    ///     storage and to the code under test. Defaults to the system's clock.
    ///   - stamps: the generator of the stamps of versions (R51). Defaults to the system's random numbers.
    public init(
        owner: String = "memory", journal: JournalBound = JournalBound(), clock: (any StorageClock)? = nil,
        stamps: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.owner = owner
        self.clock = clock ?? ProcessClock()
        state = Mutex(MemoryState(bound: journal, stamps: stamps))
    }

    private var moment: StorageMoment { StorageMoment(clock) }

    // MARK: Reading

    public func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? {
        state.withLock { $0.list(key)?.record }
    }

    public func state(of key: QueryKey) async throws(StorageError) -> ListState? {
        state.withLock { state in
            guard let list = state.list(key) else { return nil }
            if list.pages.contains(where: { $0.offset == 0 && list.isHeld($0) }) {
                state.lists[list.record.id]?.markRead(0..<1)
            }
            return list.state(at: moment)
        }
    }

    public func records() async throws(StorageError) -> [QueryRecord] {
        state.withLock { $0.inOrder.map(\.record) }
    }

    public func summaries() async throws(StorageError) -> [QuerySummary] {
        state.withLock { $0.inOrder.map { QuerySummary(outline: $0.outline(at: moment), bytes: $0.bytes) } }
    }

    public func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        state.withLock { $0.lists[query]?.outline(at: moment) }
    }

    public func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        state.withLock { $0.lists[query]?.outline(range, at: moment) }
    }

    public func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        state.withLock { state in
            state.lists[query]?.markRead(range)
            return state.lists[query]?.window(range, at: moment)
        }
    }

    public func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        state.withLock { state in
            guard let list = state.lists[query] else { return nil }
            let moment = moment
            let outline = list.outline(at: moment)
            return ListReading(
                outline: outline,
                windows: choose(outline).map { range in
                    state.lists[query]?.markRead(range)
                    return list.window(range, at: moment)
                })
        }
    }

    public func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        state.withLock { $0.lists[query]?.locate(keys) ?? [:] }
    }

    public func changes(
        of query: QueryID, since version: ContentVersion, limit: Int
    ) async throws(StorageError) -> ListChanges? {
        state.withLock { $0.lists[query]?.journal.changes(since: version, limit: limit) }
    }

    public func due(within: Duration, limit: Int) async throws(StorageError) -> DueReading {
        let moment = moment
        let due = state.withLock { state in
            state.inOrder.flatMap { list in
                list.ledger.entries(at: moment).compactMap { entry in
                    entry.nextAttemptAt.map { (moment: $0, fetch: DueFetch(query: list.record.id, entry: entry)) }
                }
            }
        }
        // The sort is stable: entries with equal times stay ordered by query and offset.
        let soonest = due.filter { $0.moment <= moment.now + within }.sorted { $0.moment < $1.moment }
        return DueReading(soonest.prefix(max(limit, 0)).map(\.fetch), readAt: moment.now)
    }

    public var observedQueries: Set<QueryID> { hub.observedQueries }

    public func notices(of query: QueryID?) -> AsyncStream<StorageNotice> { hub.notices(of: query) }

    public func watch() -> StorageWatch { hub.watch() }

    public func changeCount(of query: QueryID) -> UInt64? { hub.changeCount(of: query) }

    // MARK: Writing

    public func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        try write { state, moment in
            if let known = state.list(key) { return known.record }
            let id = QueryID(rawValue: state.nextID)
            let record = QueryRecord(
                id: id, key: key, version: ListVersion(generation: 1, revision: 0), total: .unknown, end: nil,
                validatedAt: nil, createdAt: moment.now, allowsDuplicates: false, paging: "", source: "")
            state.nextID += 1
            state.lists[id] = MemoryList(record, state.bound)
            state.advance(id, at: moment.now)
            state.announce([.registered], of: id)
            return state.lists[id]?.record ?? record
        }
    }

    public func commit(
        _ plan: CommitPlan, claiming request: LeaseRequest?
    ) async throws(StorageError) -> CommitReceipt {
        try write { state, moment throws(StorageError) in
            // The query is not stored any more, so no plan for it applies.
            guard var list = state.lists[plan.query] else {
                return CommitReceipt(.superseded(ListVersion(generation: 0, revision: 0)))
            }
            guard plan.isBased(on: list.record) else { return CommitReceipt(.superseded(list.record.version)) }
            guard list.fulfils(plan.preconditions) else { return CommitReceipt(.superseded(list.record.version)) }
            var (changes, lost): ([ChangeSet.Change], Set<LeaseToken>)
            do throws(MemoryList.Refusal) {
                (changes, lost) = try list.apply(plan, at: moment)
            } catch {
                switch error {
                case .held(let ranges): return CommitReceipt(.duplicates(ranges))
                case .impossible(let why): throw StorageError(.invalidPlan, why)
                }
            }
            if changes.contains(where: \.isSeenByReaders) { list.advance(stamp: state.stamps.next(), at: moment.now) }
            var receipt = CommitReceipt(.committed(list.record.version), lostLeases: lost)
            if let request {
                let grant = list.grant(request, at: moment, to: owner, &state.nextToken)
                receipt.grant = grant
                // The ledger changes of a transaction are published as one change.
                var offsets = grant.offsets
                if case .ledger(let told)? = changes.last {
                    changes.removeLast()
                    offsets = told + offsets
                }
                if !offsets.isEmpty { changes.append(.ledger(offsets.eachOnce)) }
            }
            state.lists[plan.query] = list
            state.stampReads(at: moment.now)
            state.announce(changes, of: plan.query)
            return receipt
        }
    }

    public func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        try write { state, moment in
            state.stampReads(at: moment.now)
            guard var list = state.lists[query] else { return LeaseGrant([], at: moment.now) }
            let grant = list.grant(request, at: moment, to: owner, &state.nextToken)
            state.lists[query] = list
            state.announceLedger(grant.offsets.eachOnce, of: query)
            return grant
        }
    }

    @discardableResult
    public func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        try write { state, moment in
            state.stampReads(at: moment.now)
            guard let applied = state.lists[query]?.ledger.apply(edits, at: moment) else { return [] }
            state.announceLedger(applied.changedOffsets, of: query)
            return applied.lost
        }
    }

    public func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        let name = owner.stored(by: self.owner)
        return try write { state, moment in
            var held: Set<LeaseToken> = []
            for query in state.lists.keys {
                held.formUnion(state.lists[query]?.ledger.renew(by: name, for: duration, at: moment) ?? [])
            }
            return held
        }
    }

    public func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try write { state, _ in
            guard state.lists[query].map({ $0.record.isPinned != isPinned }) ?? false else { return }
            state.lists[query]?.record.isPinned = isPinned
            state.announce([.described], of: query)
        }
    }

    public func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        try write { state, _ in
            var report = PurgeReport()
            for query in queries {
                guard let list = state.lists.removeValue(forKey: query) else { continue }
                report.queries += 1
                report.pages += list.pages.count
                report.bytes += list.bytes
                state.announce([.purged], of: query)
            }
            return report
        }
    }

    public func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport {
        let exempt = exempt.union(hub.observedQueries)
        return try write { state, moment in
            state.stampReads(at: moment.now)
            let candidates = state.inOrder.flatMap { $0.candidates(isExempt: exempt.contains($0.record.id)) }
            let victims = EvictionPlan.victims(among: candidates, budget: budget, at: moment.now)
            var report = EvictionReport(bytesLeft: candidates.reduce(0) { $0 + $1.bytes })
            for query in state.inOrder.map(\.record.id) {
                let lost = victims.filter { $0.query == query }
                guard !lost.isEmpty else { continue }
                let bytes = lost.reduce(0) { $0 + $1.bytes }
                report.queries += 1
                report.pages += lost.count
                report.bytes += bytes
                report.bytesLeft -= bytes
                let changes = lost.compactMap { state.lists[query]?.evict(at: $0.offset) }
                if !changes.isEmpty { state.advance(query, at: moment.now) }
                state.announce(changes, of: query)
            }
            return report
        }
    }

    /// Runs one transaction at one moment. Its changes are applied as a whole, or not at all if `body` throws.
    private func write<Value: Sendable>(
        _ body: (inout MemoryState, StorageMoment) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try state.withLock { state throws(StorageError) in
            var draft = state
            let moment = moment
            let value = try body(&draft, moment)
            guard draft.lists.values.allSatisfy(\.isPossible) else {
                throw StorageError(.invalidPlan, "a position, total or end is out of range")
            }
            let news = draft.news
            draft.news = []
            state = draft
            hub.publish(news)
            return value
        }
    }
}
