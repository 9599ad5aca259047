import PageModel

// The removal of a list by `reset` and `forget`.
extension ListController {
    /// Supersedes all work under way, before the list is removed. `wasRemoved` or `wasNotRemoved` must follow.
    /// - Parameter forGood: whether only an explicit `load` may fetch the list again. Defaults to false.
    /// - Returns: the number of the removal.
    func supersede(forGood: Bool = false) -> Int {
        let removal = removals.begin(forGood: forGood)
        if let ticket = machine.reset() {
            drop(ticket)
            // The items are shown until the removal has succeeded. The activity and the failure of the superseded work
            // are no longer shown.
            var snapshot = current
            (snapshot.activity, snapshot.failure) = (.idle, nil)
            snapshots.send(snapshot)
        }
        stopObserving()
        resumeSettledCallers()
        return removal
    }

    /// Shows that the list was removed.
    func wasRemoved() {
        removals.succeeded()
        (refetched, refetchedDamage) = ([], [])
        prefetch.restart()
        showNothing()
        events.send(.reset)
        resumeSettledCallers()
    }

    /// Ends a removal that failed. The list is observed again, and its items stay as they are. Only this removal is
    /// undone: a list that another call has removed for good stays forgotten.
    func wasNotRemoved(_ removal: Int) {
        removals.failed(removal)
        observe()
        publish(current)
        // Items that are visible already may not appear again.
        if prefetch.furthest != nil { beginPrefetching(from: nil) }
        resumeSettledCallers()
    }

    /// Removes the list from this object and from the storage.
    func reset() async throws {
        let removal = supersede()
        // A call of `forget` waits for this reset. Otherwise the reset could pin the list again after `forget` has
        // returned.
        let entry = context.runs.enter(key)
        defer { context.runs.leave(entry) }
        var isRemoved = false
        do {
            try await context.runs.duringReset(of: key) {
                guard let known = try await context.storage.query(key) else { return }
                _ = try await context.storage.purge([known.id])
                isRemoved = true
                // The pin belongs to the list and not to its items.
                if known.isPinned, !isForgotten { try await context.storage.pin(key) }
            }
        } catch {
            // If only the pin could not be stored again, the list is empty all the same.
            if isRemoved {
                wasRemoved()
                observe()
            } else {
                wasNotRemoved(removal)
            }
            throw (error as? StorageError).map { storageFailed($0) } ?? error
        }
        wasRemoved()
        // Another writer may have stored the list again.
        if observe(), machine.work == nil { try? await rebuild() }
    }
}
