import PageModel

/// Reads windows of lists. One that was read just now, and of whose list nothing was told since, is served from memory.
struct WindowReader<Value: Sendable>: Sendable {
    private struct Key: Hashable {
        var list: QueryKey
        var range: Range<Int>
    }

    private struct Kept {
        var window: ItemWindow<Value>
        var record: QueryRecord
        var mark: ReadMark
        /// Who was allowed to see it.
        var source: any PageSource
    }

    private let storage: any PageStorage
    private let builder: SnapshotBuilder<Value>
    private let clock: any SyncClock
    private let kept: BoundedCache<Key, Kept>
    /// What lists were when they were read last: whose changes are counted has to be known before their record is read.
    private let queries: BoundedCache<QueryKey, QueryID>

    /// - Parameter budget: bytes of payloads whose windows are kept.
    init(_ builder: SnapshotBuilder<Value>, clock: any SyncClock, queries: BoundedCache<QueryKey, QueryID>, budget: Int) {
        storage = builder.storage
        self.builder = builder
        self.clock = clock
        self.queries = queries
        kept = BoundedCache(budget: budget)
    }

    /// The items of the list at `range`; nil when nothing of it is known, or it is somebody else's (R45).
    /// - Parameter source: for whom it is read.
    func window(
        of list: QueryKey, _ range: Range<Int>, for source: any PageSource
    ) async throws(StorageError) -> ItemWindow<Value>? {
        let key = Key(list: list, range: range)
        let known = kept.element(key)
        let query = known?.record.id ?? queries.element(list)
        let count = query.flatMap { storage.changeCount(of: $0) }
        if let known, let window = settled(known, count, source) { return window }
        return try await read(key, query, count, source)
    }

    private func settled(_ known: Kept, _ count: UInt64?, _ source: any PageSource) -> ItemWindow<Value>? {
        let now = clock.now()
        guard known.mark.holds(count, now: now), known.source.isSame(as: source) || (try? source.takeUp(known.record)) != nil
        else { return nil }
        var window = known.window
        window.freshness = builder.freshness(of: known.record, now: now)
        return window
    }

    /// - Parameter count: of the changes to `query`, as it was before this was called.
    private func read(
        _ key: Key, _ query: QueryID?, _ count: UInt64?, _ source: any PageSource
    ) async throws(StorageError) -> ItemWindow<Value>? {
        let now = clock.now()
        guard let record = try await storage.query(key.list), (try? source.takeUp(record)) != nil,
            let (window, bytes) = try await builder.window(record, key.range, now: now)
        else { return nil }
        if record.id != query {
            queries.keep(record.id, key.list, cost: 1)
        } else if let count, window.unusable.isEmpty {
            kept.keep(
                Kept(window: window, record: record, mark: ReadMark(changeCount: count, readAt: now), source: source), key,
                cost: bytes + WindowReader.overhead)
        }
        return window
    }

    /// What a window costs that holds next to nothing.
    private static var overhead: Int { 1_024 }
}

extension PageSource {
    /// Whether both are one object. Values are never known to be.
    fileprivate func isSame(as other: any PageSource) -> Bool {
        guard type(of: self) is AnyClass, type(of: other) is AnyClass else { return false }
        return (self as AnyObject) === (other as AnyObject)
    }
}
