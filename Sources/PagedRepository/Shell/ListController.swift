import Logging
import PageModel

/// Carries out what a `ListMachine` decides, for everybody who holds the same list.
///
/// State, the actor's own: the machine; for each work under way its task and who waits for it; the observer of the storage.
/// What is published lies in the broadcasts, which anybody may read. A task keeps the controller for as long as it runs.
actor ListController<Value: Sendable> {
    nonisolated let snapshots = Broadcast<ListSnapshot<Value>>(current: ListSnapshot(), capacity: 1)
    nonisolated let events = Broadcast<ListEvent<Value>>(capacity: 1_024)

    private let key: QueryKey
    private let world: ListWorld<Value>
    private let source: RememberingSource
    private var machine: ListMachine
    private var query: QueryID?
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var waiters: [Int: [Int: CheckedContinuation<LoadOutcome, any Error>]] = [:]
    private var waiterNumber = 0
    private var observer: Task<Void, Never>?
    /// What the observer listens to; nil: to everything.
    private var observed: QueryID?
    /// Of several snapshots that are built at once, the one that was begun last is published.
    private var builds = (begun: 0, published: 0)
    /// How far somebody has looked, and how many pages have come since by themselves (X13).
    private var lookedAt = -1
    private var prefetched = 0
    private var isInvalidated = false
    /// Pages that were fetched again because their bytes could not be used: once, or an origin that gives such bytes would be
    /// asked for ever.
    private var refetched: Set<Range<Int>> = []

    init(key: QueryKey, world: ListWorld<Value>, source: any PageSource) {
        self.key = key
        self.world = world
        self.source = RememberingSource(source)
        machine = ListMachine(gate: world.options.automaticRetry == .never ? .never : .perLedger)
    }

    deinit { observer?.cancel() }

    // MARK: Calls

    func load(_ policy: LoadPolicy) async throws -> LoadOutcome {
        try await rebuild()
        let snapshot = current
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
                world.logger.debug("the cache stands in", metadata: ["class": "\(failure.failure.failureClass.rawValue)"])
                return .loaded(0)
            }
        }
    }

    func refresh() async throws -> LoadOutcome {
        lookedAt = -1
        prefetched = 0
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
        lookedAt = max(lookedAt, position)
        prefetched = 0
        while true {
            let snapshot = current
            let page = max(1, snapshot.items.count / max(1, snapshot.pagesLoaded))
            let ahead = snapshot.items.count - 1 - lookedAt
            guard snapshot.isLoaded, snapshot.hasMore, ahead <= world.options.prefetchDistance * page,
                prefetched < max(1, world.options.prefetchLimit)
            else { return }
            let answer = machine.nextByItself(isLastItem: ahead <= 0, now: world.clock.now())
            if case .join = answer { return }
            prefetched += 1
            guard case .loaded(1...) = try? await perform(answer) else { return }
        }
    }

    /// Forgets everything, here and in the storage.
    func reset() async throws {
        if let ticket = machine.reset() { drop(ticket) }
        observer?.cancel()
        observer = nil
        if let known = try await world.storage.query(key) { _ = try await world.storage.purge([known.id]) }
        query = nil
        refetched = []
        lookedAt = -1
        builds.begun += 1
        builds.published = builds.begun
        publish(ListSnapshot())
        events.send(.reset)
        observe()
    }

    /// What is cached counts as stale, until page one has been had.
    func invalidate() { isInvalidated = true }

    // MARK: Work

    private func perform(_ answer: ListMachine.Answer) async throws -> LoadOutcome {
        switch answer {
        case .finished(let outcome):
            publish(current)
            return outcome
        case .join(let ticket):
            return try await outcome(of: ticket).joined
        case .start(let work, let ticket, let superseded):
            if let superseded { drop(superseded) }
            publish(current)
            tasks[ticket] = Task { await self.run(work, ticket) }
            return try await outcome(of: ticket)
        }
    }

    private func run(_ work: ListMachine.Work, _ ticket: Int) async {
        let before = current
        var options = world.options.sync
        switch work {
        case .refresh: options.work = .refresh
        case .next: options.work = .next
        case .all: options.work = .everything
        }
        let sync = ListSync(
            storage: world.storage, source: source, key: key, options: options, clock: world.clock, chance: world.chance,
            logger: world.logger)
        let (progress, continuation) = AsyncStream<SyncEvent>.makeStream()
        // The run tells while it goes on; what it tells is handled here, in order.
        async let running: SyncReport = {
            defer { continuation.finish() }
            return try await sync.run { continuation.yield($0) }
        }()
        for await event in progress { await progressed(event, ticket) }
        do {
            let report = try await running
            try await rebuild()
            finish(ticket, ending(of: work, report, before))
        } catch {
            finish(ticket, .failure(error))
        }
    }

    /// A page of this list's own work is stored.
    private func progressed(_ event: SyncEvent, _ ticket: Int) async {
        guard machine.isRunning(ticket), case .stored(let range, _, _) = event else { return }
        guard events.hasListeners || snapshots.hasListeners else { return }
        try? await rebuild(telling: range)
    }

    private func tellLoaded(_ range: Range<Int>) {
        guard events.hasListeners, let run = current.runs.first(where: { $0.isHeld && $0.range.overlaps(range) }) else { return }
        let part = range.clamped(to: run.range)
        events.send(.pageLoaded(part, part.map { run.items[$0 - run.offset] }))
    }

    private func ending(
        of work: ListMachine.Work, _ report: SyncReport, _ before: ListSnapshot<Value>
    ) -> Result<LoadOutcome, any Error> {
        let now = current
        let news = max(0, now.runs.count { $0.isHeld } == 0 ? 0 : held(now) - held(before))
        if let failure = report.headFailure {
            return .failure(ListFailure(before.isLoaded ? .refresh : .first, failure, nextAttemptAt: report.nextAttemptAt, cause: source.cause))
        }
        switch work {
        case .refresh:
            return .success(.loaded(news))
        case .next, .all:
            if report.outcome == .complete || now.items.count > before.items.count {
                return .success(news > 0 || now.hasMore ? .loaded(news) : .endReached)
            }
            guard let entry = report.list?.failures.first, let failure = entry.failure else { return .success(.superseded) }
            return .failure(ListFailure(.next, failure, nextAttemptAt: entry.nextAttemptAt, cause: source.cause))
        }
    }

    private func held(_ snapshot: ListSnapshot<Value>) -> Int {
        snapshot.runs.reduce(0) { $0 + ($1.isHeld ? $1.items.count : 0) }
    }

    private func finish(_ ticket: Int, _ result: Result<LoadOutcome, any Error>) {
        tasks[ticket] = nil
        var failure: ListFailure?
        if case .failure(let error) = result { failure = error as? ListFailure }
        guard machine.ended(ticket, failure: failure) else { return answer(ticket, .success(.superseded)) }
        if case .success = result { isInvalidated = false }
        publish(current)
        // X13: a prefetch that failed is not told before somebody gets there.
        if let failure, machine.failure != nil { events.send(.failed(failure)) }
        answer(ticket, result)
    }

    /// Ends work that nobody wants any more.
    private func drop(_ ticket: Int) {
        tasks.removeValue(forKey: ticket)?.cancel()
        answer(ticket, .success(.superseded))
    }

    /// R7: bytes that cannot be used are fetched again.
    private func refetchUnusable() async throws {
        let ranges = current.unusable.filter { !refetched.contains($0) }
        guard !ranges.isEmpty, let query, let list = try await world.storage.outline(of: query) else { return }
        refetched.formUnion(ranges)
        _ = try await world.storage.commit(
            CommitPlan(query: query, version: list.record.version, at: world.clock.now(), edits: ranges.map { .demote($0) }))
    }

    // MARK: Waiting

    private func outcome(of ticket: Int) async throws -> LoadOutcome {
        waiterNumber += 1
        let number = waiterNumber
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                    leaveIfUnwanted(ticket)
                } else {
                    waiters[ticket, default: [:]][number] = continuation
                }
            }
        } onCancel: {
            Task { await self.gaveUp(ticket, number) }
        }
    }

    /// X12: somebody does not wait any longer. The work ends with the last who waited.
    private func gaveUp(_ ticket: Int, _ number: Int) {
        guard let waiter = waiters[ticket]?.removeValue(forKey: number) else { return }
        waiter.resume(throwing: CancellationError())
        leaveIfUnwanted(ticket)
    }

    private func leaveIfUnwanted(_ ticket: Int) {
        guard waiters[ticket]?.isEmpty ?? true else { return }
        tasks[ticket]?.cancel()
    }

    private func answer(_ ticket: Int, _ result: Result<LoadOutcome, any Error>) {
        for waiter in (waiters.removeValue(forKey: ticket) ?? [:]).values { waiter.resume(with: result) }
    }

    // MARK: Snapshots

    private var current: ListSnapshot<Value> { snapshots.current ?? ListSnapshot() }

    /// What was stored before this process began is content, too.
    private func knowContent() async throws {
        if !machine.content.isLoaded { try await rebuild() }
    }

    /// - Parameter range: where pages have come, to be told once they are in the snapshot, and before its end is.
    func rebuild(telling range: Range<Int>? = nil) async throws(StorageError) {
        builds.begun += 1
        let number = builds.begun
        var snapshot: ListSnapshot<Value>?
        if let query { snapshot = try await world.builder.build(query, now: world.clock.now()) }
        if snapshot == nil {
            // Not known yet; or another repository or process has purged it, and it may be there again.
            query = try await world.storage.query(key)?.id
            if let query { snapshot = try await world.builder.build(query, now: world.clock.now()) }
        }
        guard number > builds.published else { return }
        builds.published = number
        publish(snapshot ?? ListSnapshot(), telling: range)
        observe()
    }

    private func publish(_ content: ListSnapshot<Value>, telling range: Range<Int>? = nil) {
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

    // MARK: Observing

    /// Somebody listens: what others do to the list is shown, too.
    func watch() async {
        try? await rebuild()
    }

    /// Of a list that nobody has stored yet, everything that happens may be its beginning.
    private func observe() {
        guard observer == nil || observed != query, snapshots.hasListeners || events.hasListeners else { return }
        observer?.cancel()
        observed = query
        let notices = world.storage.notices(of: query)
        observer = Task { [weak self] in
            for await notice in notices {
                guard await self?.heard(notice) == true else { return }
            }
        }
    }

    /// False when nobody listens any more.
    private func heard(_ notice: StorageNotice) async -> Bool {
        guard snapshots.hasListeners || events.hasListeners else {
            observer = nil
            return false
        }
        guard query != nil else {
            if machine.work == nil { try? await rebuild() }
            return !Task.isCancelled
        }
        switch notice {
        case .mayHaveChanged:
            try? await rebuild()
            events.send(.changedElsewhere)
        case .changed(let set):
            await heard(set)
        }
        return true
    }

    private func heard(_ set: ChangeSet) async {
        if set.changes.contains(.purged) {
            // By `reset` of this list nobody is told here: the observer went with it.
            query = nil
            publish(ListSnapshot())
            events.send(.reset)
            return observe()
        }
        // A work of this list's own builds its snapshots itself, page by page.
        let isOwn = machine.work != nil
        if !isOwn { try? await rebuild() }
        for change in set.changes {
            switch change {
            case .rearranged(let difference): events.send(.refreshed(difference))
            case .stored(let range) where !isOwn: tellLoaded(range)
            default: break
            }
        }
    }
}

/// Everything that the lists of one repository share.
struct ListWorld<Value: Sendable>: Sendable {
    let storage: any PageStorage
    let options: PagedListOptions
    let builder: SnapshotBuilder<Value>
    let clock: any SyncClock
    let chance: @Sendable () -> Double
    let logger: Logger
}
