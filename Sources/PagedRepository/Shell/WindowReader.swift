import PageModel

/// Reads windows of lists. A window that was read recently is served from memory, if no change of its list was reported
/// since.
struct WindowReader<Value: Sendable>: Sendable {
    private let storage: any PageStorage
    private let builder: SnapshotBuilder<Value>
    private let clock: any SyncClock
    private let kept: BoundedCache<WindowKey, KeptWindow>
    /// The query ids of lists that were read recently, so that no lookup is needed.
    private let queries: BoundedCache<QueryKey, QueryID>

    /// - Parameter budget: the maximum number of payload bytes in cached windows.
    init(_ builder: SnapshotBuilder<Value>, clock: any SyncClock, queries: BoundedCache<QueryKey, QueryID>, budget: Int)
    {
        storage = builder.storage
        self.builder = builder
        self.clock = clock
        self.queries = queries
        kept = BoundedCache(budget: budget)
    }

    /// Returns the items of the list at `range`. Returns nil when no item of the list is stored, or when the list
    /// belongs to another credential (R45).
    /// - Parameter source: the source that must accept the list (`PageSource.authorize`).
    func window(
        of list: QueryKey, _ range: Range<Int>, for source: any PageSource
    ) async throws(StorageError) -> ItemWindow<Value>? {
        let key = WindowKey(list: list, range: range)
        let known = kept.element(key)
        let query = known?.record.id ?? queries.element(list)
        if let known, let window = settled(known, source) { return window }
        if let query {
            switch try await read(key, query, source) {
            case .window(let window): return window
            case .another: return nil
            // The query was purged, and the list may have been stored again.
            case .gone: break
            }
        }
        guard let found = try await storage.query(list) else { return nil }
        queries.keep(found.id, list, cost: 1)
        guard case .window(let window) = try await read(key, found.id, source) else { return nil }
        return window
    }

    private func settled(_ known: KeptWindow, _ source: any PageSource) -> ItemWindow<Value>? {
        let now = clock.now()
        guard known.mark.holds(storage.changeCount(of: known.record.id), now: now),
            known.source.isSame(as: source) || source.mayServe(known.record)
        else { return nil }
        var window = known.window(of: Value.self)
        window.freshness = builder.freshness(of: known.record, now: known.mark.storageTime(at: now))
        return window
    }

    private enum Reading {
        case window(ItemWindow<Value>)
        /// No such query exists.
        case gone
        /// The query is another list, or belongs to another credential.
        case another
    }

    /// Reads the window. Whether the source may serve the items is decided by the record that was read with them, and
    /// not by an earlier one (R45).
    private func read(_ key: WindowKey, _ query: QueryID, _ source: any PageSource) async throws(StorageError)
        -> Reading
    {
        let now = clock.now()
        // The change count is read first. A commit during the read then results in another count.
        let count = storage.changeCount(of: query)
        guard let (window, record, bytes, storedAt) = try await builder.window(query, key.range) else { return .gone }
        guard record.key == key.list, source.mayServe(record) else { return .another }
        if let count, window.unusable.isEmpty {
            let mark = ReadMark(changeCount: count, readAt: now, storedAt: storedAt)
            kept.keep(KeptWindow(window, record, mark, source), key, cost: bytes + WindowReader.overhead)
        }
        return .window(window)
    }

    /// The cost of a window in addition to its payload, in bytes.
    private static var overhead: Int { 1_024 }
}

private struct WindowKey: Hashable {
    var list: QueryKey
    var range: Range<Int>
}

/// A window that was read recently. The class has no type parameter, so that a lookup in the cache needs no type
/// metadata. Generic code would fetch the metadata each time.
private final class KeptWindow: Sendable {
    let record: QueryRecord
    let mark: ReadMark
    /// The source that was allowed to read the list.
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

    /// Returns the window. Its values have this type, because the cache of a reader contains no other type.
    func window<Value>(of type: Value.Type) -> ItemWindow<Value> {
        unsafeDowncast(items, to: Items<Value>.self).window
    }
}

extension PageSource {
    /// Whether both sources are the same object. Sources that are values never count as the same.
    fileprivate func isSame(as other: any PageSource) -> Bool {
        guard type(of: self) is AnyClass, type(of: other) is AnyClass else { return false }
        return (self as AnyObject) === (other as AnyObject)
    }
}
