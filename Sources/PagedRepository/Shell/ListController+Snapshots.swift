import PageModel
import Synchronization

/// The record and the read that a published snapshot is based on, for a storage that reports every change. Immutable.
final class SnapshotBasis: Sendable {
    /// The record without the parts that only sources read.
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

// The snapshots of the list, and the reads that they require.
extension ListController {
    var current: ListSnapshot<Value> { snapshots.current ?? ListSnapshot() }

    /// Returns the id of the stored query. Returns nil when the list is not stored, or belongs to another credential
    /// (R45). In the latter case, a later load fails with the reason.
    func known() async throws(StorageError) -> QueryID? {
        guard let record = try await context.storage.query(key), isOurs(record) else { return nil }
        context.queries.keep(record.id, key, cost: 1)
        return record.id
    }

    /// Whether the record is this list, and the source accepts it (`PageSource.authorize`, R45). Checked for every
    /// record that a snapshot is made from, because an empty list may have been bound to a credential since.
    func isOurs(_ record: QueryRecord) -> Bool {
        guard record.key == key else { return false }
        // The source has already accepted this record.
        if let acceptedRecord, acceptedRecord == (record.id, record.source) { return true }
        guard source.mayServe(record) else { return false }
        source.restore(from: record)
        acceptedRecord = (record.id, record.source)
        return true
    }

    /// Returns the freshness of the list in the published snapshot, if the snapshot is known to match the storage.
    /// Returns nil when the list must be read.
    nonisolated func publishedFreshness() -> Freshness?? {
        guard let basis = publishedBasis.withLock({ $0 }) else { return nil }
        let now = context.clock.now()
        guard basis.mark.holds(context.storage.changeCount(of: basis.record.id), now: now) else { return nil }
        return .some(context.builder.freshness(of: basis.record, now: basis.mark.storageTime(at: now)))
    }

    /// Returns the published snapshot, if it matches the storage and its freshness is current. Returns nil when the
    /// list must be read, or published again.
    nonisolated func publishedSnapshot() -> ListSnapshot<Value>? {
        // The basis is read before the snapshot. A snapshot published after the basis was set is newer than the basis,
        // never older.
        guard let freshness = publishedFreshness(), let snapshot = snapshots.current, snapshot.freshness == freshness
        else { return nil }
        return snapshot
    }

    /// Makes the published snapshot match the storage (R39). If no change was reported since the last read, no read is
    /// needed, and only the freshness may differ.
    func updateSnapshot() async throws(StorageError) {
        guard let freshness = publishedFreshness() else { return try await rebuild() }
        var snapshot = current
        guard snapshot.freshness != freshness else { return }
        snapshot.freshness = freshness
        publish(snapshot)
    }

    /// Reads the list and publishes its snapshot.
    /// - Parameter range: the positions of pages that were just stored. `ListEvent.pageLoaded` is sent for them after
    ///   the snapshot, and before `ListEvent.endReached`. Defaults to nil.
    func rebuild(announcing range: Range<Int>? = nil) async throws(StorageError) {
        builds.begun += 1
        let number = builds.begun
        let wasObserving = observation != .inactive
        var seen = try await read(query ?? context.queries.element(key))
        if seen == nil {
            // The list is not known yet, or another repository or process has purged it. The list may have been stored
            // again since.
            query = try await known()
            if observe(), query == nil {
                // The list may have been stored before the observation began.
                query = try await known()
                observe()
            }
            seen = try await read(query)
        }
        guard number > builds.published else { return }
        builds.published = number
        query = query ?? seen?.query
        shownPages = seen?.pages ?? [:]
        recordedFailure = seen?.failure
        if recordedFailure == nil { machine.failedElsewhere(nil) }
        let snapshot = shown(seen?.snapshot ?? ListSnapshot())
        // The basis is removed during publication, because it describes the previous snapshot.
        setBasis(nil)
        publish(snapshot, announcing: range)
        // Unstored pages are shown over the stored ones. Such a snapshot has no basis, because it also changes without
        // a change to the storage. The snapshot of a forgotten list has no basis either, because the next `load` shows
        // whether the list has more.
        if unstored == nil, !isForgotten { setBasis(seen?.basis) }
        let beginsObserving = observe()
        if !wasObserving { showRecordedFailure(isNew: false) }
        // A listener that arrived during the read has missed the notices of that time, so the list is read again.
        guard beginsObserving, publishedFreshness() == nil else { return }
        // The published snapshot remains if this read fails. The next listener tries again.
        do { try await rebuild() } catch { stopObserving() }
    }

    private struct StoredList {
        var query: QueryID
        var snapshot: ListSnapshot<Value>
        var pages: ShownPages<Value>
        var basis: SnapshotBasis?
        var failure: RecordedFailure?
    }

    /// Reads the list. Returns nil when no such query exists, or when the record is not this list.
    private func read(_ query: QueryID?) async throws(StorageError) -> StoredList? {
        guard let query else { return nil }
        let now = context.clock.now()
        // The change count is read first. A commit during the read then results in another count.
        let count = context.storage.changeCount(of: query)
        guard let built = try await context.builder.build(query, reusing: shownPages), isOurs(built.record) else {
            return nil
        }
        let basis = count.map {
            SnapshotBasis(built.record, ReadMark(changeCount: $0, readAt: now, storedAt: built.readAt))
        }
        return StoredList(
            query: query, snapshot: built.snapshot, pages: built.pages, basis: basis, failure: failure(in: built, now))
    }

    /// Returns the recorded failure that concerns the shown items: that of page one, or of the next page.
    private func failure(in built: SnapshotBuilder<Value>.Built, _ now: Timestamp) -> RecordedFailure? {
        let snapshot = built.snapshot
        var next = snapshot.headEnd
        // A page by number begins at a multiple of the page size. After an insert, that can be before the end of the
        // held items.
        if snapshot.hasMore, case .grid(let size) = source.access, size > 0 { next = next / size * size }
        guard let entry = built.failures.first(where: { [0, snapshot.headEnd, next].contains($0.offset) }),
            let failure = entry.failure
        else { return nil }
        let kind: ListFailure.Kind = !snapshot.isLoaded ? .first : entry.offset == 0 ? .refresh : .next
        return RecordedFailure(
            failure: ListFailure(kind, failure, nextAttemptAt: entry.nextAttemptAt.map { now + ($0 - built.readAt) }),
            attempt: RecordedFailure.Attempt(
                kind: kind, number: entry.attempts, firstFailureAt: entry.firstFailureAt))
    }

    /// Publishes an empty snapshot, because the list was removed. Reads in progress are discarded.
    func showNothing() {
        machine.removed()
        query = nil
        shownPages = [:]
        unstored = nil
        reportedUndecodable = []
        (recordedFailure, knownAttempts) = (nil, [:])
        machine.failedElsewhere(nil)
        setBasis(nil)
        builds.begun += 1
        builds.published = builds.begun
        publish(ListSnapshot())
    }

    private func setBasis(_ basis: SnapshotBasis?) { publishedBasis.withLock { $0 = basis } }

    func publish(_ stored: ListSnapshot<Value>, announcing range: Range<Int>? = nil) {
        // A list that another writer stores again after `forget` is not shown before the next `load`.
        let content = removals.showsNothing ? ListSnapshot() : stored
        var snapshot = content
        let isNewEnd = machine.setContent(
            ListMachine.Content(
                isLoaded: content.isLoaded,
                isAtEnd: content.isAtEnd && !isForgotten && (content.unusable.isEmpty || !content.items.isEmpty)))
        snapshot.failure = machine.shownFailure
        // A removal under way can fail and leave the list as it is, so `hasMore` changes only after the removal.
        if isForgotten, !removals.areUnderWay { snapshot.hasMore = false }
        snapshot.activity =
            switch machine.work {
            case nil: .idle
            case .refresh: machine.isFirst && !content.isLoaded ? .loadingFirst : .refreshing
            case .next: .loadingNext
            case .all: machine.isFirst && !content.isLoaded ? .loadingFirst : .loadingAll
            }
        snapshots.send(snapshot)
        if let range { sendPageLoaded(range) }
        // The event is not sent again for reported positions alone, even when their page is fetched again.
        if snapshot.undecodable.contains(where: { !reportedUndecodable.contains($0) }) {
            reportedUndecodable = snapshot.undecodable
            events.send(.undecodable(reportedUndecodable))
        }
        if isNewEnd { events.send(.endReached) }
    }
}
