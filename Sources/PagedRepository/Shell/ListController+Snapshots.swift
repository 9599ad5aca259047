import PageModel
import Synchronization

/// What a published snapshot was read from, where the storage tells of every change to it. Nothing of it changes.
final class SnapshotBasis: Sendable {
    /// Without what only sources read.
    let record: QueryRecord
    let mark: ReadMark

    init(_ record: QueryRecord, _ mark: ReadMark) {
        var kept = record
        kept.source = ""
        kept.paging = ""
        self.record = kept
        self.mark = mark
    }
}

// What is shown of the list, and when it has to be read for that.
extension ListController {
    var current: ListSnapshot<Value> { snapshots.current ?? ListSnapshot() }

    /// The list as it is known to the storage. Somebody else's is as if it were not there (R45); asking the origin says
    /// why.
    func known() async throws(StorageError) -> QueryID? {
        guard let record = try await world.storage.query(key), isOurs(record) else { return nil }
        world.queries.keep(record.id, key, cost: 1)
        return record.id
    }

    /// R45: whether this is the list, and ours. Asked of every record that something is shown with: a list that was
    /// nobody's when it was found, because nothing had been fetched of it, may be somebody's by now.
    func isOurs(_ record: QueryRecord) -> Bool {
        guard record.key == key else { return false }
        // What was taken up need not be taken up again.
        if let taken, taken == (record.id, record.source) { return true }
        guard (try? source.takeUp(record)) != nil else { return false }
        taken = (record.id, record.source)
        return true
    }

    /// How old the list is whose snapshot is published, if that is known to be what is stored; nil when it has to be
    /// read.
    nonisolated func settledFreshness() -> Freshness?? {
        guard let basis = settled.withLock({ $0 }) else { return nil }
        let now = world.clock.now()
        guard basis.mark.holds(world.storage.changeCount(of: basis.record.id), now: now) else { return nil }
        return .some(world.builder.freshness(of: basis.record, now: basis.mark.storageTime(at: now)))
    }

    /// The published snapshot, if it is what is stored, its age included; nil when it has to be read, or published
    /// anew.
    nonisolated func settledSnapshot() -> ListSnapshot<Value>? {
        // The basis first: what is published after it was set is newer than what it says, and never older.
        guard let freshness = settledFreshness(), let snapshot = snapshots.current, snapshot.freshness == freshness
        else { return nil }
        return snapshot
    }

    /// What is published becomes what is stored (R39): without a read when nothing was told since it was read. Then
    /// only its age may be another.
    func renew() async throws(StorageError) {
        guard let freshness = settledFreshness() else { return try await rebuild() }
        var snapshot = current
        guard snapshot.freshness != freshness else { return }
        snapshot.freshness = freshness
        publish(snapshot)
    }

    /// - Parameter range: where pages have come, to be told once they are in the snapshot, and before its end is.
    func rebuild(telling range: Range<Int>? = nil) async throws(StorageError) {
        builds.begun += 1
        let number = builds.begun
        var seen = try await read(query ?? world.queries.element(key))
        if seen == nil {
            // Not known yet; or another repository or process has purged it, and it may be there again.
            query = try await known()
            if observe(), query == nil {
                // It may have begun before it was listened for.
                query = try await known()
                observe()
            }
            seen = try await read(query)
        }
        guard number > builds.published else { return }
        builds.published = number
        query = query ?? seen?.query
        let snapshot = shown(seen?.snapshot ?? ListSnapshot())
        // While another one is published, none: what was read for the one before is not what is published any more.
        settle(nil)
        publish(snapshot, telling: range)
        // What is not kept is laid over what is stored, and has its own reasons to change.
        if unkept == nil { settle(seen?.basis) }
        // Who came while it was read was told nothing of what happened meanwhile.
        guard observe(), settledFreshness() == nil else { return }
        // What was read is published all the same; the next who listens tries again.
        do { try await rebuild() } catch { stopObserving() }
    }

    private struct Seen {
        var query: QueryID
        var snapshot: ListSnapshot<Value>
        var basis: SnapshotBasis?
    }

    /// Nil when there is no such query, or when it is not this list.
    private func read(_ query: QueryID?) async throws(StorageError) -> Seen? {
        guard let query else { return nil }
        let now = world.clock.now()
        // Asked for before: what is committed while the list is read makes another number.
        let count = world.storage.changeCount(of: query)
        guard let built = try await world.builder.build(query), isOurs(built.record) else { return nil }
        let basis = count.map {
            SnapshotBasis(built.record, ReadMark(changeCount: $0, readAt: now, storedAt: built.readAt))
        }
        return Seen(query: query, snapshot: built.snapshot, basis: basis)
    }

    /// The list is gone. What is being read of it comes too late.
    func showNothing() {
        query = nil
        unkept = nil
        settle(nil)
        builds.begun += 1
        builds.published = builds.begun
        publish(ListSnapshot())
    }

    private func settle(_ basis: SnapshotBasis?) { settled.withLock { $0 = basis } }

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
