import PageModel

/// What a published snapshot was read from, where the storage tells of every change to it.
struct SnapshotBasis: Sendable {
    /// Without what only sources read.
    var record: QueryRecord
    /// The storage's, from before it was read.
    var changeCount: UInt64
    var readAt: Timestamp

    /// For so long a list is believed to be what it was while nothing is told of it. A notice that was lost, with its file for
    /// example, is not lost for good (R41).
    static let trust = Duration.seconds(5)

    init(_ record: QueryRecord, _ changeCount: UInt64, at now: Timestamp) {
        self.record = record
        self.record.source = ""
        self.record.paging = ""
        self.changeCount = changeCount
        readAt = now
    }

    func holds(_ count: UInt64?, now: Timestamp) -> Bool {
        // A clock that was set back counts for nothing.
        count == changeCount && now >= readAt && now - readAt < SnapshotBasis.trust
    }
}

// What is shown of the list, and when it has to be read for that.
extension ListController {
    var current: ListSnapshot<Value> { snapshots.current ?? ListSnapshot() }

    /// The list as it is known to the storage. Somebody else's is as if it were not there (R45); asking the origin says why.
    func known() async throws(StorageError) -> QueryID? {
        guard let record = try await world.storage.query(key), (try? source.takeUp(record)) != nil else { return nil }
        return record.id
    }

    /// What is published becomes what is stored (R39): without a read when somebody listens, and nothing was told since it was
    /// read. Then only its age may be another.
    func renew() async throws(StorageError) {
        let now = world.clock.now()
        // What is not kept is laid over what is stored, and has its own reasons to change.
        guard let basis, unkept == nil, basis.record.id == query,
            basis.holds(world.storage.changeCount(of: basis.record.id), now: now)
        else { return try await rebuild() }
        let freshness = world.builder.freshness(of: basis.record, now: now)
        var snapshot = current
        guard snapshot.freshness != freshness else { return }
        snapshot.freshness = freshness
        publish(snapshot)
    }

    /// - Parameter range: where pages have come, to be told once they are in the snapshot, and before its end is.
    func rebuild(telling range: Range<Int>? = nil) async throws(StorageError) {
        builds.begun += 1
        let number = builds.begun
        var seen = try await read()
        if seen == nil {
            // Not known yet; or another repository or process has purged it, and it may be there again.
            query = try await known()
            if observe(), query == nil {
                // It may have begun before it was listened for.
                query = try await known()
                observe()
            }
            seen = try await read()
        }
        guard number > builds.published else { return }
        builds.published = number
        let snapshot = shown(seen?.snapshot ?? ListSnapshot())
        basis = unkept == nil ? seen?.basis : nil
        publish(snapshot, telling: range)
        observe()
    }

    /// Nil when no such list is known.
    private func read() async throws(StorageError) -> (snapshot: ListSnapshot<Value>, basis: SnapshotBasis?)? {
        guard let query else { return nil }
        let now = world.clock.now()
        // Asked for before: what is committed while the list is read makes another number.
        let count = world.storage.changeCount(of: query)
        guard let built = try await world.builder.build(query, now: now) else { return nil }
        return (built.snapshot, count.map { SnapshotBasis(built.record, $0, at: now) })
    }

    /// The list is gone. What is being read of it comes too late.
    func showNothing() {
        query = nil
        unkept = nil
        basis = nil
        builds.begun += 1
        builds.published = builds.begun
        publish(ListSnapshot())
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
