import Logging
import PageModel
import Synchronization

/// Carries out what a `ListMachine` decides, for everybody who holds the same list.
///
/// State, the actor's own: the machine; for each work under way its task and who waits for it; what it follows in the
/// storage. What is published lies in the broadcasts, and what it was read from under a mutex: anybody may read them,
/// and only the actor writes. A task keeps the controller for as long as it runs.
actor ListController<Value: Sendable> {
    nonisolated let snapshots = Broadcast<ListSnapshot<Value>>(current: ListSnapshot(), capacity: 1)
    nonisolated let events = LateBroadcast<ListEvent<Value>>(capacity: 1_024)

    let key: QueryKey
    let world: ListWorld<Value>
    let source: RememberingSource
    var machine: ListMachine
    var query: QueryID?
    /// What the source took up last, of which query.
    var taken: (query: QueryID, source: String)?
    var tasks: [Int: Task<Void, Never>] = [:]
    var waiters = OutcomeWaiters()
    /// What it asked the lookout for.
    var place = NoticeDesk.Place.nowhere
    /// Of several snapshots that are built at once, the one that was begun last is published.
    var builds = (begun: 0, published: 0)
    /// What the published snapshot was read from; nil when it has to be read again in any case.
    nonisolated let settled = Mutex<SnapshotBasis?>(nil)
    private var prefetch: Prefetch
    /// What is shown and must not be stored.
    var unkept: UnkeptList<Value>? { didSet { settled.withLock { $0 = nil } } }
    /// Something was committed while work of our own was under way: its last snapshot may have been read before.
    var hasHeardMeanwhile = false
    /// Pages that were fetched again because their bytes could not be used: once, or an origin that gives such bytes
    /// would be asked for ever.
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

    /// What `load` comes to where nothing has to be read or asked for: on the caller's own thread, since the way to
    /// this actor and back takes as long as reading a page. Nil: it has to be called.
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

    /// C25: whatever failed is tried again.
    func retry() async throws -> LoadOutcome {
        if machine.failure?.kind == .next { return try await next() }
        return try await refresh()
    }

    /// Somebody sees the item at `position`. Loads ahead of them, as far as the options say.
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

    /// What is stored is stale for everybody, until page one has been had. Of a list that is not stored, or is somebody
    /// else's (R45), nothing is served that could be.
    func invalidate() async throws(StorageError) {
        // Others may move the list between our look and our commit; then we look again (R4).
        for _ in 0..<8 {
            guard let record = try await world.storage.query(key), (try? source.takeUp(record)) != nil else { return }
            let plan = CommitPlan(query: record.id, version: record.version, edits: [.invalidated])
            if case .committed = try await world.storage.commit(plan) { return try await rebuild() }
        }
        throw StorageError(.busy, "others keep changing this list; try again")
    }

    /// What was stored before this process began is content, too.
    private func knowContent() async throws {
        if !machine.content.isLoaded { try await rebuild() }
    }
}

extension LoadPolicy {
    /// Whether there is anything cached that is taken for what was asked (R13).
    fileprivate var takesCached: Bool {
        switch self {
        case .cacheOnly, .refreshIfStale: true
        case .cacheThenRefresh, .originFirst: false
        }
    }
}

extension ListSnapshot {
    /// What is cached is what was asked for (R13); nil when the origin is to be asked.
    fileprivate func outcome(under policy: LoadPolicy) -> LoadOutcome? {
        switch policy {
        case .cacheOnly: isLoaded && !hasMore ? .endReached : .loaded(0)
        case .refreshIfStale: freshness == .fresh && unusable.isEmpty ? .loaded(0) : nil
        case .cacheThenRefresh, .originFirst: nil
        }
    }
}
