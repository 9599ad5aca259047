import Logging
import PageModel

/// Carries out what a `ListMachine` decides, for everybody who holds the same list.
///
/// State, the actor's own: the machine; for each work under way its task and who waits for it; what it follows in the storage.
/// What is published lies in the broadcasts, which anybody may read. A task keeps the controller for as long as it runs.
actor ListController<Value: Sendable> {
    nonisolated let snapshots = Broadcast<ListSnapshot<Value>>(current: ListSnapshot(), capacity: 1)
    nonisolated let events = LateBroadcast<ListEvent<Value>>(capacity: 1_024)

    let key: QueryKey
    let world: ListWorld<Value>
    let source: RememberingSource
    var machine: ListMachine
    var query: QueryID?
    var tasks: [Int: Task<Void, Never>] = [:]
    var waiters = OutcomeWaiters()
    /// What it asked the lookout for.
    var place = NoticeDesk.Place.nowhere
    /// Of several snapshots that are built at once, the one that was begun last is published.
    var builds = (begun: 0, published: 0)
    /// What the published snapshot was read from; nil when it has to be read again in any case.
    var basis: SnapshotBasis?
    private var prefetch: Prefetch
    /// What is shown and must not be stored.
    var unkept: UnkeptList<Value>?
    /// Something was committed while work of our own was under way: its last snapshot may have been read before.
    var hasHeardMeanwhile = false
    /// Pages that were fetched again because their bytes could not be used: once, or an origin that gives such bytes would be
    /// asked for ever.
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

    func load(_ policy: LoadPolicy) async throws -> LoadOutcome {
        try await renew()
        let snapshot = current
        world.reads.asked(Metric.Cached(snapshot.freshness))
        switch policy {
        case .cacheOnly:
            return snapshot.isLoaded && !snapshot.hasMore ? .endReached : .loaded(0)
        case .refreshIfStale where snapshot.freshness == .fresh && snapshot.unusable.isEmpty:
            return .loaded(0)
        case .refreshIfStale, .cacheThenRefresh:
            return try await refresh()
        case .originFirst:
            do {
                return try await refresh()
            } catch let failure as ListFailure where current.isLoaded {
                world.logger.debug(
                    "the cache stands in", metadata: ["list": "\(key.shortID)", "class": "\(failure.failure.word)"])
                return .loaded(0)
            }
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

    /// C25: whatever failed is tried again.
    func retry() async throws -> LoadOutcome {
        if machine.failure?.kind == .next { return try await next() }
        return try await refresh()
    }

    /// Somebody sees the item at `position`. Loads ahead of them, as far as the options say.
    func appeared(_ position: Int) async {
        prefetch.looked(at: position)
        while prefetch.wantsMore(of: current.extent) {
            let answer = machine.nextByItself(isLastItem: prefetch.isAtTheEnd(of: current.extent), now: world.clock.now())
            if case .join = answer { return }
            prefetch.began()
            guard case .loaded(1...) = try? await perform(answer) else { return }
        }
    }

    nonisolated func beginPrefetching(from position: Int) {
        Task(executorPreference: world.executor) { await self.appeared(position) }
    }

    /// Forgets everything, here and in the storage.
    func reset() async throws {
        if let ticket = machine.reset() { drop(ticket) }
        stopObserving()
        if let known = try await world.storage.query(key) { _ = try await world.storage.purge([known.id]) }
        refetched = []
        prefetch.restart()
        showNothing()
        events.send(.reset)
        // Somebody else may have begun it anew meanwhile.
        if observe(), machine.work == nil { try? await rebuild() }
    }

    /// What is stored is stale for everybody, until page one has been had. Of a list that is not stored, or is somebody else's
    /// (R45), nothing is served that could be.
    func invalidate() async throws(StorageError) {
        // Others may move the list between our look and our commit; then we look again (R4).
        for _ in 0..<8 {
            guard let record = try await world.storage.query(key), (try? source.takeUp(record)) != nil else { return }
            let plan = CommitPlan(query: record.id, version: record.version, at: world.clock.now(), edits: [.invalidated])
            if case .committed = try await world.storage.commit(plan) { return try await rebuild() }
        }
        throw StorageError(.busy, "others keep changing this list; try again")
    }

    /// What was stored before this process began is content, too.
    private func knowContent() async throws {
        if !machine.content.isLoaded { try await rebuild() }
    }
}
