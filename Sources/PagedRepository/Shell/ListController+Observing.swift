import PageModel

// What others do to the list: other lists of this process, and other processes.
extension ListController: WatchedList {
    nonisolated var hasListeners: Bool { snapshots.hasListeners || events.hasListeners }

    /// Snapshots from now on; what others do to the list is shown, too.
    nonisolated func listen() -> AsyncStream<ListSnapshot<Value>> {
        let stream = snapshots.stream { self.left() }
        world.lookout.came(to: self)
        return stream
    }

    nonisolated func listenToEvents() -> AsyncStream<ListEvent<Value>> {
        let stream = events.stream { self.left() }
        world.lookout.came(to: self)
        return stream
    }

    /// R40: what nobody listens to any more is not observed any more, and may be evicted.
    private nonisolated func left() {
        if !hasListeners { world.lookout.left(self) }
    }

    /// Of a list that nobody has stored yet, what others store may be its beginning.
    /// - Returns: whether it has observed something else before: then what was read before may be old.
    @discardableResult
    func observe() -> Bool {
        guard hasListeners, place != .follows(query) else { return false }
        place = .follows(query)
        world.lookout.follow(query, self)
        return true
    }

    func stopObserving() {
        guard place != .nowhere else { return }
        place = .nowhere
        world.lookout.stop(self)
    }

    func hear(_ notices: [StorageNotice]) async {
        guard hasListeners else { return stopObserving() }
        guard place != .nowhere else { return await beginObserving() }
        guard !notices.isEmpty else { return }
        guard let query else {
            if machine.work == nil { try? await rebuild() }
            return
        }
        var changes: [Change] = []
        var isElsewhere = false
        for notice in notices {
            switch notice {
            case .mayHaveChanged: isElsewhere = true
            case .changed(let set) where set.query == query: changes += set.changes
            case .changed: break
            }
        }
        if changes.contains(.purged) { return await wasPurged() }
        if isElsewhere || !changes.isEmpty { await heard(changes, isElsewhere) }
    }

    /// Whoever listens already sees to it that what is published is what is stored: the next listener costs no read.
    private func beginObserving() async {
        if query == nil { query = try? await known() }
        guard hasListeners else { return }
        // Listened first, read then: what is committed while it is read is heard afterwards.
        observe()
        // The next listener tries again.
        do { try await rebuild() } catch { stopObserving() }
    }

    private func heard(_ changes: [Change], _ isElsewhere: Bool) async {
        // A work of this list's own builds its snapshots itself, page by page.
        let isOwn = machine.work != nil
        if isOwn { hasHeardMeanwhile = true }
        if !isOwn || isElsewhere { try? await renew() }
        if isElsewhere { events.send(.changedElsewhere) }
        for change in changes {
            switch change {
            case .rearranged(let difference): events.send(.refreshed(difference))
            case .stored(let range) where !isOwn: tellLoaded(range)
            default: break
            }
        }
    }

    /// By `reset` of this list nobody is told here: it has stopped to observe before.
    private func wasPurged() async {
        showNothing()
        events.send(.reset)
        observe()
        // It may be there again, since before this was heard.
        if machine.work == nil { try? await rebuild() }
    }
}
