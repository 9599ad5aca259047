import PageModel

// What others do to the list: other lists of this process, and other processes.
extension ListController {
    /// Somebody listens: what others do to the list is shown, too.
    nonisolated func beginWatching() {
        Task(executorPreference: world.executor) { await self.watch() }
    }

    /// Whoever listens already sees to it that what is published is what is stored: the next listener costs no read.
    private func watch() async {
        guard observer == nil else { return }
        if query == nil { query = try? await known() }
        // Somebody else may have been faster. Listened first, read then: what is committed while it is read is heard afterwards.
        guard observer == nil else { return }
        observe()
        do { try await rebuild() } catch {
            // The next listener tries again.
            observer?.cancel()
            observer = nil
        }
    }

    /// Of a list that nobody has stored yet, everything that happens may be its beginning.
    func observe() {
        guard observer == nil || observed != query, snapshots.hasListeners || events.hasListeners else { return }
        observer?.cancel()
        observed = query
        let notices = world.storage.notices(of: query)
        observer = Task(executorPreference: world.executor) { [weak self] in
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
        if isOwn { hasHeardMeanwhile = true } else { try? await rebuild() }
        for change in set.changes {
            switch change {
            case .rearranged(let difference): events.send(.refreshed(difference))
            case .stored(let range) where !isOwn: tellLoaded(range)
            default: break
            }
        }
    }
}
