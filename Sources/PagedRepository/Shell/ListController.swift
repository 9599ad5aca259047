import Logging
import PageModel

/// Carries out what a `ListMachine` decides, for everybody who holds the same list.
///
/// State, the actor's own: the machine; for each work under way its task and who waits for it; the observer of the storage.
/// What is published lies in the broadcasts, which anybody may read. A task keeps the controller for as long as it runs.
actor ListController<Value: Sendable> {
    nonisolated let snapshots = Broadcast<ListSnapshot<Value>>(current: ListSnapshot(), capacity: 1)
    nonisolated let events = Broadcast<ListEvent<Value>>(capacity: 1_024)

    let key: QueryKey
    let world: ListWorld<Value>
    let source: RememberingSource
    private let reads: Meters.Reads
    var machine: ListMachine
    var query: QueryID?
    var tasks: [Int: Task<Void, Never>] = [:]
    var waiters = OutcomeWaiters()
    var observer: Task<Void, Never>?
    /// What the observer listens to; nil: to everything.
    var observed: QueryID?
    /// Of several snapshots that are built at once, the one that was begun last is published.
    private var builds = (begun: 0, published: 0)
    private var prefetch: Prefetch
    var isInvalidated = false
    /// Something was committed while work of our own was under way: its last snapshot may have been read before.
    var hasHeardMeanwhile = false
    /// Pages that were fetched again because their bytes could not be used: once, or an origin that gives such bytes would be
    /// asked for ever.
    var refetched: Set<Range<Int>> = []

    init(key: QueryKey, world: ListWorld<Value>, source: any PageSource, reads: Meters.Reads) {
        self.key = key
        self.world = world
        self.source = RememberingSource(source)
        self.reads = reads
        prefetch = Prefetch(distance: world.options.prefetchDistance, limit: world.options.prefetchLimit)
        let retry = world.options.sync.retry
        machine = ListMachine(
            gate: world.options.automaticRetry == .never ? .never : .perLedger,
            longestPause: max(retry.cap, retry.longestRetryAfter))
    }

    deinit { observer?.cancel() }

    // MARK: Calls

    func load(_ policy: LoadPolicy) async throws -> LoadOutcome {
        try await rebuild()
        let snapshot = current
        reads.asked(Metric.Cached(snapshot.freshness))
        switch policy {
        case .cacheOnly:
            return snapshot.isLoaded && !snapshot.hasMore ? .endReached : .loaded(0)
        case .refreshIfStale where snapshot.freshness == .fresh && !isInvalidated && snapshot.unusable.isEmpty:
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
        observer?.cancel()
        observer = nil
        if let known = try await world.storage.query(key) { _ = try await world.storage.purge([known.id]) }
        query = nil
        refetched = []
        prefetch.restart()
        builds.begun += 1
        builds.published = builds.begun
        publish(ListSnapshot())
        events.send(.reset)
        observe()
    }

    /// What is cached counts as stale, until page one has been had.
    func invalidate() { isInvalidated = true }

    // MARK: Snapshots

    var current: ListSnapshot<Value> { snapshots.current ?? ListSnapshot() }

    /// What was stored before this process began is content, too.
    private func knowContent() async throws {
        if !machine.content.isLoaded { try await rebuild() }
    }

    /// The list as it is known to the storage. Somebody else's is as if it were not there (R45); asking the origin says why.
    func known() async throws(StorageError) -> QueryID? {
        guard let record = try await world.storage.query(key), (try? source.takeUp(record)) != nil else { return nil }
        return record.id
    }

    /// - Parameter range: where pages have come, to be told once they are in the snapshot, and before its end is.
    func rebuild(telling range: Range<Int>? = nil) async throws(StorageError) {
        builds.begun += 1
        let number = builds.begun
        var snapshot: ListSnapshot<Value>?
        if let query { snapshot = try await world.builder.build(query, now: world.clock.now()) }
        if snapshot == nil {
            // Not known yet; or another repository or process has purged it, and it may be there again.
            query = try await known()
            observe()
            if let query { snapshot = try await world.builder.build(query, now: world.clock.now()) }
        }
        guard number > builds.published else { return }
        builds.published = number
        publish(snapshot ?? ListSnapshot(), telling: range)
        observe()
    }

    func publish(_ content: ListSnapshot<Value>, telling range: Range<Int>? = nil) {
        var snapshot = content
        let isNewEnd = machine.saw(ListMachine.Content(isLoaded: content.isLoaded, isAtEnd: content.isAtEnd))
        snapshot.failure = machine.failure
        snapshot.activity =
            switch machine.work {
            case nil: .idle
            case .refresh: machine.isFirst ? .loadingFirst : .refreshing
            case .next: .loadingNext
            case .all: machine.isFirst && !content.isLoaded ? .loadingFirst : .loadingAll
            }
        snapshots.send(snapshot)
        if let range { tellLoaded(range) }
        if isNewEnd { events.send(.endReached) }
    }
}
