import PageModel

// Changes to the list by other lists of this process, and by other processes.
extension ListController: WatchedList {
    nonisolated var hasListeners: Bool { snapshots.hasListeners || events.hasListeners }

    /// Returns a stream of snapshots, beginning with the current one. The snapshots include changes by other writers.
    nonisolated func listen() -> AsyncStream<ListSnapshot<Value>> {
        let stream = snapshots.stream { self.listenerRemoved() }
        context.dispatcher.listenerAdded(to: self)
        return stream
    }

    nonisolated func listenToEvents() -> AsyncStream<ListEvent<Value>> {
        let stream = events.stream { self.listenerRemoved() }
        context.dispatcher.listenerAdded(to: self)
        return stream
    }

    /// Ends the observation after the last listener has ended. The list may then be evicted (R40).
    private nonisolated func listenerRemoved() {
        if !hasListeners { context.dispatcher.listenersRemoved(from: self) }
    }

    /// Observes the query. A list that is not stored yet observes all queries, because another writer may store it.
    /// - Returns: whether the observed query has changed, so that earlier reads may be outdated.
    @discardableResult
    func observe() -> Bool {
        guard hasListeners, observation != .observing(query) else { return false }
        observation = .observing(query)
        context.dispatcher.observe(query, self)
        return true
    }

    func stopObserving() {
        guard observation != .inactive else { return }
        observation = .inactive
        context.dispatcher.stop(self)
    }

    func handle(_ notices: [StorageNotice]) async {
        guard hasListeners else { return stopObserving() }
        guard observation != .inactive else { return await beginObserving() }
        guard !notices.isEmpty else { return }
        guard let query else {
            if machine.work == nil { try? await rebuild() }
            return
        }
        var changes: [ChangeSet.Change] = []
        var isElsewhere = false
        for notice in notices {
            switch notice {
            case .invalidated: isElsewhere = true
            case .changed(let set) where set.query == query: changes += set.changes
            case .changed: break
            }
        }
        if changes.contains(.purged) { return await wasPurged() }
        if isElsewhere || !changes.isEmpty { await handleChanges(changes, isElsewhere) }
    }

    /// Makes the published snapshot match the storage while the list has listeners. The next listener then needs no
    /// read.
    private func beginObserving() async {
        if query == nil { query = try? await known() }
        guard hasListeners else { return }
        // The observation begins before the read, so that a commit during the read is reported afterwards.
        observe()
        // The next listener tries again.
        do { try await rebuild() } catch { return stopObserving() }
        showRecordedFailure(isNew: false)
    }

    private func handleChanges(_ changes: [ChangeSet.Change], _ isElsewhere: Bool) async {
        // This list's own work builds its snapshots itself, page by page.
        let isOwn = machine.work != nil
        if isOwn { hasChangedMeanwhile = true }
        if !isOwn || isElsewhere { try? await updateSnapshot() }
        if !isOwn, isElsewhere || changes.contains(where: \.isOfLedger) { showRecordedFailure(isReported: true) }
        if isElsewhere { events.send(.changedElsewhere) }
        for change in changes {
            switch change {
            case .rearranged(let difference): events.send(.refreshed(difference))
            case .stored(let range) where !isOwn: sendPageLoaded(range)
            default: break
            }
        }
    }

    /// Shows a failure that background work or another process has recorded for this list. The failure of each attempt
    /// is shown once, and not after this list has begun the retry (R37).
    /// - Parameters:
    ///   - isReported: whether a notice has reported the failure. Otherwise only a failure of page one is shown,
    ///     because a failure of the next page may be that of a prefetch, which is not shown at first. Defaults to
    ///     false.
    ///   - isNew: whether an event is sent, because the list was observed when the failure was recorded. Defaults to
    ///     true.
    func showRecordedFailure(isReported: Bool = false, isNew: Bool = true) {
        guard hasListeners, machine.work == nil, !removals.areUnderWay, let recordedFailure,
            recordedFailure.attempt != knownAttempts[recordedFailure.attempt.kind],
            isReported || recordedFailure.attempt.kind != .next
        else { return }
        knownAttempts[recordedFailure.attempt.kind] = recordedFailure.attempt
        let shown = machine.shownFailure
        machine.failedElsewhere(recordedFailure.failure)
        guard machine.shownFailure != shown else { return }
        publish(current)
        if isNew, let failure = machine.shownFailure { events.send(.failed(failure)) }
    }

    /// Handles a purge by another caller. A removal through this object sends the event itself; see `removals`.
    private func wasPurged() async {
        guard !removals.areUnderWay else { return }
        showNothing()
        events.send(.reset)
        observe()
        // Another writer may have stored the list again since the purge.
        if machine.work == nil { try? await rebuild() }
    }
}

/// A failure of page one, or of the next page, that the ledger holds.
struct RecordedFailure {
    /// The attempt that failed. The failure itself does not identify the attempt, because each read computes the time
    /// of the retry anew.
    struct Attempt: Equatable {
        var kind: ListFailure.Kind
        /// The number of the attempt since the last success.
        var number: Int
        var firstFailureAt: Timestamp?
    }

    var failure: ListFailure
    var attempt: Attempt
}

extension ChangeSet.Change {
    /// Whether the change concerns fetch records.
    fileprivate var isOfLedger: Bool { if case .ledger = self { true } else { false } }
}
