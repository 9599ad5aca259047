import PageModel

/// Reads windows of lists. One that was read just now, and of whose list nothing was told since, is served from memory.
struct WindowReader<Value: Sendable>: Sendable {
    private let storage: any PageStorage
    private let builder: SnapshotBuilder<Value>
    private let clock: any SyncClock
    private let kept: BoundedCache<WindowKey, KeptWindow>
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
        let key = WindowKey(list: list, range: range)
        let known = kept.element(key)
        let query = known?.record.id ?? queries.element(list)
        let count = query.flatMap { storage.changeCount(of: $0) }
        if let known, let window = settled(known, count, source) { return window }
        return try await read(key, query, count, source)
    }

    private func settled(_ known: KeptWindow, _ count: UInt64?, _ source: any PageSource) -> ItemWindow<Value>? {
        let now = clock.now()
        guard known.mark.holds(count, now: now), known.source.isSame(as: source) || (try? source.takeUp(known.record)) != nil
        else { return nil }
        var window = known.window(of: Value.self)
        window.freshness = builder.freshness(of: known.record, now: now)
        return window
    }

    /// - Parameter count: of the changes to `query`, as it was before this was called.
    private func read(
        _ key: WindowKey, _ query: QueryID?, _ count: UInt64?, _ source: any PageSource
    ) async throws(StorageError) -> ItemWindow<Value>? {
        let now = clock.now()
        guard let query, let (window, record, bytes) = try await builder.window(query, key.range, now: now), record.key == key.list
        else { return try await find(key, source, now) }
        guard (try? source.takeUp(record)) != nil else { return nil }
        if let count, window.unusable.isEmpty {
            kept.keep(
                KeptWindow(window, record, ReadMark(changeCount: count, readAt: now), source), key, cost: bytes + WindowReader.overhead)
        }
        return window
    }

    /// Of a list that was not looked for yet, or is gone and may be there anew. Not kept: whose changes are to be counted was not
    /// known.
    private func find(
        _ key: WindowKey, _ source: any PageSource, _ now: Timestamp
    ) async throws(StorageError) -> ItemWindow<Value>? {
        guard let record = try await storage.query(key.list), (try? source.takeUp(record)) != nil else { return nil }
        queries.keep(record.id, key.list, cost: 1)
        return try await builder.window(record.id, key.range, now: now)?.window
    }

    /// What a window costs that holds next to nothing.
    private static var overhead: Int { 1_024 }
}

private struct WindowKey: Hashable {
    var list: QueryKey
    var range: Range<Int>
}

/// A window that was read just now. One object, which does not say of what values it is: to find it, nothing has to be known of
/// their type, and what is generic is looked up each time.
private final class KeptWindow: Sendable {
    let record: QueryRecord
    let mark: ReadMark
    /// Who was allowed to see it.
    let source: any PageSource
    private let items: any AnyObject & Sendable

    private final class Items<Value: Sendable>: Sendable {
        let window: ItemWindow<Value>

        init(_ window: ItemWindow<Value>) { self.window = window }
    }

    init<Value>(_ window: ItemWindow<Value>, _ record: QueryRecord, _ mark: ReadMark, _ source: any PageSource) {
        items = Items(window)
        self.record = record
        self.mark = mark
        self.source = source
    }

    /// The window, which is one of these values: a reader's cache holds no others.
    func window<Value>(of type: Value.Type) -> ItemWindow<Value> {
        unsafeDowncast(items, to: Items<Value>.self).window
    }
}

extension PageSource {
    /// Whether both are one object. Values are never known to be.
    fileprivate func isSame(as other: any PageSource) -> Bool {
        guard type(of: self) is AnyClass, type(of: other) is AnyClass else { return false }
        return (self as AnyObject) === (other as AnyObject)
    }
}
