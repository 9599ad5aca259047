import PageModel

/// Reads windows of lists. One that was read just now, and of whose list nothing was told since, is served from memory.
struct WindowReader<Value: Sendable>: Sendable {
    private let storage: any PageStorage
    private let builder: SnapshotBuilder<Value>
    private let clock: any SyncClock
    private let kept: BoundedCache<WindowKey, KeptWindow>
    /// What lists were when they were read last, so that they need not be looked for.
    private let queries: BoundedCache<QueryKey, QueryID>

    /// - Parameter budget: bytes of payloads whose windows are kept.
    init(_ builder: SnapshotBuilder<Value>, clock: any SyncClock, queries: BoundedCache<QueryKey, QueryID>, budget: Int)
    {
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
        if let known, let window = settled(known, source) { return window }
        if let query {
            switch try await read(key, query, source) {
            case .window(let window): return window
            case .another: return nil
            // Purged, and maybe there anew.
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
            known.source.isSame(as: source) || (try? source.takeUp(known.record)) != nil
        else { return nil }
        var window = known.window(of: Value.self)
        window.freshness = builder.freshness(of: known.record, now: known.mark.storageTime(at: now))
        return window
    }

    private enum Reading {
        case window(ItemWindow<Value>)
        /// There is no such query.
        case gone
        /// It is another list, or somebody else's.
        case another
    }

    /// R45: whose the list is says the record that comes with the items, and no earlier one.
    private func read(_ key: WindowKey, _ query: QueryID, _ source: any PageSource) async throws(StorageError)
        -> Reading
    {
        let now = clock.now()
        // Asked for before: what is committed while the window is read makes another number.
        let count = storage.changeCount(of: query)
        guard let (window, record, bytes, storedAt) = try await builder.window(query, key.range) else { return .gone }
        guard record.key == key.list, (try? source.takeUp(record)) != nil else { return .another }
        if let count, window.unusable.isEmpty {
            let mark = ReadMark(changeCount: count, readAt: now, storedAt: storedAt)
            kept.keep(KeptWindow(window, record, mark, source), key, cost: bytes + WindowReader.overhead)
        }
        return .window(window)
    }

    /// What a window costs that holds next to nothing.
    private static var overhead: Int { 1_024 }
}

private struct WindowKey: Hashable {
    var list: QueryKey
    var range: Range<Int>
}

/// A window that was read just now. One object, which does not say of what values it is: to find it, nothing has to be
/// known of their type, and what is generic is looked up each time.
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
