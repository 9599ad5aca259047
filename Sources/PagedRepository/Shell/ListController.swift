import Logging
import PageModel
import Synchronization

/// Carries out the decisions of a `ListMachine`, for all holders of the same list.
///
/// The actor owns the machine, the tasks of current work with their waiting callers, and the observed place in the
/// storage. The published values are in the broadcasts, and their basis is under a mutex. Any thread may read them, and
/// only the actor writes them. A task keeps the controller alive while it runs.
actor ListController<Value: Sendable> {
    nonisolated let snapshots = Broadcast<ListSnapshot<Value>>(current: ListSnapshot(), capacity: 1)
    nonisolated let events = LateBroadcast<ListEvent<Value>>(capacity: 1_024)

    let key: QueryKey
    let world: ListWorld<Value>
    let source: RememberingSource
    var machine: ListMachine
    var query: QueryID?
    /// The record that the source accepted last.
    var taken: (query: QueryID, source: String)?
    var tasks: [Int: Task<Void, Never>] = [:]
    var waiters = OutcomeWaiters()
    /// The place in the storage that the list observes.
    var place = NoticeDesk.Place.nowhere
    /// Of several snapshots that are built concurrently, the one that was begun last is published.
    var builds = (begun: 0, published: 0)
    /// The basis of the published snapshot. `nil` means that the list must be read again.
    nonisolated let settled = Mutex<SnapshotBasis?>(nil)
    private var prefetch: Prefetch
    /// The pages that are shown and must not be stored.
    var unkept: UnkeptList<Value>? { didSet { settled.withLock { $0 = nil } } }
    /// Whether a commit was reported during this list's own work. The last snapshot of the work may be older than the
    /// commit.
    var hasHeardMeanwhile = false
    /// The pages that were fetched again because their bytes could not be used. Each is fetched again only once,
    /// because an origin may always send such bytes.
    var refetched: Set<Range<Int>> = []

    init(key: QueryKey, world: ListWorld<Value>, source: any PageSource) {
        self.key = key
        self.world = world
        self.source = RememberingSource(source)
        prefetch = Prefetch(distance: world.options.prefetchDistance, limit: world.options.prefetchLimit)
        let retry = world.options.sync.retry
        machine = ListMachine(
            gate: world.options.automaticRetry == .never ? .never : .perLedger,
            longestPause: max(retry.cap, retry.longestRetryAfter))
    }

    deinit { world.lookout.forget(ObjectIdentifier(self)) }

    // MARK: Calls

    /// Returns the outcome of `load` if it requires no read and no request. Runs on the caller's thread, because a call
    /// to this actor takes as long as reading a page. Returns nil when `load` must be called.
    nonisolated func loadAtOnce(_ policy: LoadPolicy) -> LoadOutcome? {
        guard policy.takesCached, let snapshot = settledSnapshot(), let outcome = snapshot.outcome(under: policy) else {
            return nil
        }
        world.reads.asked(Metric.Cached(snapshot.freshness))
        return outcome
    }

    func load(_ policy: LoadPolicy) async throws -> LoadOutcome {
        try await renew()
        world.reads.asked(Metric.Cached(current.freshness))
        if let outcome = current.outcome(under: policy) { return outcome }
        do {
            return try await refresh()
        } catch let failure as ListFailure where policy == .originFirst && current.isLoaded {
            world.logger.debug(
                "the cache stands in", metadata: ["list": "\(key.shortID)", "class": "\(failure.failure.word)"])
            return .loaded(0)
        }
    }

    func refresh() async throws -> LoadOutcome {
        prefetch.restart()
        try await refetchUnusable()
        return try await perform(machine.refresh())
    }

    func next() async throws -> LoadOutcome {
        try await knowContent()
        return try await perform(machine.next())
    }

    func all() async throws -> LoadOutcome { try await perform(machine.all()) }

    /// Retries the work that failed (C25).
    func retry() async throws -> LoadOutcome {
        if machine.failure?.kind == .next { return try await next() }
        return try await refresh()
    }

    /// Records that the item at `position` is visible. Fetches pages ahead of it, as far as the options allow.
    func appeared(_ position: Int) async {
        prefetch.looked(at: position)
        while prefetch.wantsMore(of: current.extent) {
            let answer = machine.nextByItself(
                isLastItem: prefetch.isAtTheEnd(of: current.extent), now: world.clock.now())
            if case .join = answer { return }
            prefetch.began()
            guard case .loaded(1...) = try? await perform(answer) else { return }
        }
    }

    nonisolated func beginPrefetching(from position: Int) {
        Task(executorPreference: world.executor) { await self.appeared(position) }
    }

    /// Removes the list from this object and from the storage.
    func reset() async throws {
        if let ticket = machine.reset() { drop(ticket) }
        stopObserving()
        if let known = try await world.storage.query(key) { _ = try await world.storage.purge([known.id]) }
        refetched = []
        prefetch.restart()
        showNothing()
        events.send(.reset)
        // Another writer may have stored the list again.
        if observe(), machine.work == nil { try? await rebuild() }
    }

    /// Marks the stored list as stale for all processes, until page one is fetched. A list that is not stored, or that
    /// belongs to another owner (R45), needs no mark.
    func invalidate() async throws(StorageError) {
        // Another writer may move the list between the read and the commit. The loop then reads the list again (R4).
        for _ in 0..<8 {
            guard let record = try await world.storage.query(key), (try? source.takeUp(record)) != nil else { return }
            let plan = CommitPlan(query: record.id, version: record.version, edits: [.invalidated])
            if case .committed = try await world.storage.commit(plan) { return try await rebuild() }
        }
        throw StorageError(.busy, "others keep changing this list; try again")
    }

    /// Returns the changes since a version, or the present version for nil. Returns nil for a list that is not stored, or
    /// that belongs to another owner (R45).
    func changes(since version: ContentVersion?, limit: Int) async throws(StorageError) -> ListChanges? {
        guard let record = try await world.storage.query(key), (try? source.takeUp(record)) != nil else { return nil }
        guard let version else { return .entries([], reached: record.contentVersion, hasMore: false) }
        return try await world.storage.changes(of: record.id, since: version, limit: max(1, limit))
    }

    /// Reads the list if no content is known yet. Items stored before this process began count as content.
    private func knowContent() async throws {
        if !machine.content.isLoaded { try await rebuild() }
    }
}

extension LoadPolicy {
    /// Whether the policy accepts a cached list as the result (R13).
    fileprivate var takesCached: Bool {
        switch self {
        case .cacheOnly, .refreshIfStale: true
        case .cacheThenRefresh, .originFirst: false
        }
    }
}

extension ListSnapshot {
    /// Returns the outcome if the cached list is an acceptable result (R13). Returns nil when the origin must be
    /// requested.
    fileprivate func outcome(under policy: LoadPolicy) -> LoadOutcome? {
        switch policy {
        case .cacheOnly: isLoaded && !hasMore ? .endReached : .loaded(0)
        case .refreshIfStale: freshness == .fresh && unusable.isEmpty ? .loaded(0) : nil
        case .cacheThenRefresh, .originFirst: nil
        }
    }
}
