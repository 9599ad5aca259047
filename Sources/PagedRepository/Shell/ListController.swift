import Logging
import PageModel
import Synchronization

/// Carries out the decisions of a `ListMachine`, for all holders of the same list.
///
/// The actor owns the machine, the tasks of current work with their waiting callers, and the observation of the
/// storage. The published values are in the broadcasts, and their basis is under a mutex. Any thread may read them, and
/// only the actor writes them. A task keeps the controller alive while it runs.
actor ListController<Value: Sendable> {
    nonisolated let snapshots = Broadcast<ListSnapshot<Value>>(current: ListSnapshot(), capacity: 1)
    nonisolated let events = LateBroadcast<ListEvent<Value>>(capacity: 1_024)

    let key: QueryKey
    let context: RepositoryContext<Value>
    let source: RememberingSource
    /// Identifies calls of this list by its own source.
    let call: SourceCall
    var machine: ListMachine
    var query: QueryID?
    /// The record that the source accepted last.
    var acceptedRecord: (query: QueryID, source: String)?
    var tasks: [Int: Task<Void, Never>] = [:]
    var waiters = OutcomeWaiters()
    /// The observation of the list, as the dispatcher knows it.
    var observation = ChangeScheduler.Observation.inactive
    /// Numbers the builds of snapshots. Of several that run concurrently, the one that was begun last is published.
    var builds = (begun: 0, published: 0)
    /// The decoded pages of the published snapshot, for the next one.
    var shownPages: ShownPages<Value> = [:]
    /// The record and the read that the published snapshot is based on. `nil` means that the list must be read again.
    nonisolated let publishedBasis = Mutex<SnapshotBasis?>(nil)
    var prefetch: Prefetch
    /// The number of prefetches that no caller waits for.
    private nonisolated let prefetches = Mutex(0)
    /// The removals of the list that began with a call of `reset` or `forget` for this object.
    var removals = ListRemovals()
    var isForgotten: Bool { removals.isForgotten }
    /// The callers of `settled`.
    private var settling: [CheckedContinuation<Void, Never>] = []
    /// The pages that are shown and must not be stored.
    var unstored: NoStoreList<Value>? { didSet { publishedBasis.withLock { $0 = nil } } }
    /// The unstorable answer of the run under way that does not fit the stored items before it.
    var movedBehindStored: EphemeralMismatch?
    /// The number of consecutive pages, up to the last one loaded, that only repeat items. Several loads of the next
    /// page add up.
    var repetitions = 0
    /// How often the load under way has read the unstored pages again from page one.
    var timesReadAgain = 0
    /// Whether the work under way has replaced unstored pages by a changed page one.
    var hasReplacedUnstored = false
    /// The failure of page one, or of the next page, that the last read found in the ledger.
    var recordedFailure: RecordedFailure?
    /// Of each kind, the recorded failure that was shown last, or whose retry this list has begun.
    var knownAttempts: [ListFailure.Kind: RecordedFailure.Attempt] = [:]
    /// The undecodable positions that the last event reported.
    var reportedUndecodable: [Range<Int>] = []
    /// Whether a commit was reported during this list's own work. The last snapshot that the work published may be
    /// older than the commit.
    var hasChangedMeanwhile = false
    /// The identities of the items that were fetched again because they do not decode. A shift of the list does not
    /// change an identity.
    var refetched: Set<ItemIdentity> = []
    /// The positions that were fetched again because their bytes are damaged.
    var refetchedDamage: Set<Range<Int>> = []

    init(key: QueryKey, context: RepositoryContext<Value>, source: any PageSource) {
        self.key = key
        self.context = context
        self.call = SourceCall(context.storage, key)
        let shown: any PageSource = context.options.isEphemeral ? EphemeralSource(source: source) : source
        self.source = RememberingSource(shown, for: call)
        prefetch = Prefetch(distance: context.options.prefetchDistance, limit: context.options.prefetchLimit)
        let retry = context.options.sync.retry
        machine = ListMachine(
            gate: context.options.automaticRetry == .never ? .never : .perLedger,
            longestPause: max(retry.cap, retry.longestRetryAfter))
    }

    deinit { context.dispatcher.forget(ObjectIdentifier(self)) }

    // MARK: Calls

    /// Returns the outcome of `load` if it requires no read and no request. Nonisolated, because a switch to this actor
    /// takes as long as reading a page. Returns nil when `load` must be called.
    nonisolated func loadAtOnce(_ policy: LoadPolicy) -> LoadOutcome? {
        guard policy.takesCached, let snapshot = publishedSnapshot(), let outcome = snapshot.outcome(under: policy)
        else {
            return nil
        }
        context.reads.countRead(Metric.Cached(snapshot.freshness))
        return outcome
    }

    func load(_ policy: LoadPolicy) async throws -> LoadOutcome {
        try call.refuseWithin(current.isLoaded ? .refresh : .first)
        if policy == .cacheOnly { removals.read() } else { removals.loaded() }
        do { try await updateSnapshot() } catch { throw storageFailed(error) }
        storageWasRead()
        context.reads.countRead(Metric.Cached(current.freshness))
        // The snapshot of a forgotten list has no further items, but that does not mean that the list ends.
        if let outcome = current.outcome(under: policy) { return isForgotten ? .cached : outcome }
        do {
            return try await refreshKnown()
        } catch let failure as ListFailure where policy == .originFirst && current.isLoaded {
            context.logger.debug(
                "serving cached items", metadata: ["list": "\(key.shortID)", "class": "\(failure.failure.word)"])
            return .cached
        }
    }

    func refresh() async throws -> LoadOutcome {
        try call.refuseWithin(current.isLoaded ? .refresh : .first)
        if isForgotten { return .superseded }
        do { try await knowContent() } catch { throw storageFailed(error) }
        return try await refreshKnown()
    }

    /// Refreshes the list after its stored content was read.
    private func refreshKnown() async throws -> LoadOutcome {
        // The list may have been removed for good during the read.
        if isForgotten { return .superseded }
        // Items that appear during a refresh count even if a second call joins the refresh.
        if machine.work == nil || machine.work == .next { prefetch.willRefresh(current.extent) }
        return try await perform { $0.refresh() }
    }

    func next() async throws -> LoadOutcome {
        try call.refuseWithin(.next)
        if isForgotten { return .superseded }
        do { try await knowContent() } catch { throw storageFailed(error) }
        // The list may have been removed for good during the read.
        if isForgotten { return .superseded }
        // Further items could not be shown.
        if current.isAtItemLimit, machine.work == nil { return .itemLimitReached }
        // Only page one can show the items that the origin counts and has not returned.
        if current.isVoid, machine.work == nil { return try await refresh() }
        return try await perform { $0.next() }
    }

    func all() async throws -> LoadOutcome {
        try call.refuseWithin(.next)
        if isForgotten { return .superseded }
        do { try await knowContent() } catch { throw storageFailed(error) }
        if isForgotten { return .superseded }
        return try await perform { $0.all() }
    }

    /// Retries the work that failed, whether its failure is shown or not.
    func retry() async throws -> LoadOutcome {
        if machine.retriesNextPage { return try await next() }
        return try await refresh()
    }

    /// Shows a failure of the storage that occurred outside of a load.
    /// - Returns: the error, for the caller.
    func storageFailed(_ error: StorageError) -> StorageError {
        let failure = ListFailure(error)
        machine.storageFailed(failure)
        publish(current)
        events.send(.failed(failure))
        return error
    }

    /// Records that the item at `position` is visible. Fetches pages after the furthest visible item, as far as the
    /// options allow.
    /// - Parameter position: the index of the item. `nil` means that no further item has appeared.
    func appeared(_ position: Int?) async {
        if isForgotten { return }
        if let position { prefetch.itemAppeared(at: position) }
        // The items of a list that is being removed are still shown. They have no next page.
        while !isForgotten, !removals.areUnderWay, prefetch.wantsMore(of: current.extent) {
            let shown = machine.failure
            let answer = machine.nextAutomatically(now: context.clock.now())
            if case .join = answer {
                // The visible item waits for this load. If all callers of the load are cancelled, the loop begins
                // again.
                do { _ = try await perform(answer) } catch is CancelledWork { continue } catch { return }
                return
            }
            prefetch.began()
            let outcome = try? await perform(answer)
            if case .finished = answer, let failure = machine.failure, failure != shown {
                events.send(.failed(failure))
            }
            switch outcome {
            case .loaded: continue
            case .undecodable: prefetch.addedNothing()
            default: return prefetch.addedNothing()
            }
        }
    }

    /// Whether the last item of the list has appeared, so that the failure of a prefetch is shown at once.
    var isLastItemVisible: Bool { prefetch.isAtTheEnd(of: current.extent) }

    /// Prefetches, and returns when the prefetches have ended. Returns at once for a caller within the list's own
    /// source, which would wait for itself.
    func prefetchAndWait(from position: Int) async {
        if call.isUnderWay { beginPrefetching(from: position) } else { await appeared(position) }
    }

    nonisolated func beginPrefetching(from position: Int?) {
        prefetches.withLock { $0 += 1 }
        Task(executorPreference: context.executor) {
            await self.appeared(position)
            await self.ended()
        }
    }

    /// Prefetches after another load has delayed the prefetch for the visible items. These items may not appear again.
    func prefetchAfterLoad() {
        prefetch.refreshed(current.extent)
        if prefetch.furthest != nil { beginPrefetching(from: nil) }
    }

    /// Ends a prefetch that no caller waits for.
    private func ended() {
        prefetches.withLock { $0 -= 1 }
        resumeSettledCallers()
    }

    /// Returns when no load, no prefetch and no removal is under way. Returns at once within the list's own source,
    /// which is part of a load.
    func settled() async {
        if call.isUnderWay { return }
        while machine.work != nil || removals.areUnderWay || prefetches.withLock({ $0 > 0 }) {
            await withCheckedContinuation { settling.append($0) }
        }
    }

    /// Wakes the callers of `settled`, which check again.
    func resumeSettledCallers() {
        for caller in settling { caller.resume() }
        settling = []
    }

    /// Reads the list if no content is known yet. Items stored before this process began count as content.
    private func knowContent() async throws(StorageError) {
        guard !machine.content.isLoaded else { return }
        try await rebuild()
        storageWasRead()
    }

    /// Records that the storage has been read. The failure of an earlier read is no longer shown (R37).
    private func storageWasRead() {
        machine.storageWasRead()
        if current.failure != machine.shownFailure { publish(current) }
    }
}
