public import Logging
public import PageModel
import Synchronization

/// Lists of one kind of item: cached in a storage, fetched from their origins when there is need.
///
/// State: the lists that somebody holds, by key, under a mutex; and the decoded pages that they share, as the windows
/// that were read lately do.
public final class PagedRepository<Value: Sendable>: Sendable {
    private struct Known {
        weak var controller: ListController<Value>?
    }

    private let world: ListWorld<Value>
    private let windows: WindowReader<Value>
    private let source: @Sendable (QueryKey) -> any PageSource
    private struct Lists {
        var known: [QueryKey: Known] = [:]
        /// From so many on, those that nobody holds any more are dropped.
        var limit = 64
    }

    private let lists = Mutex(Lists())

    /// - Parameters:
    ///   - storage: where pages are kept.
    ///   - codec: how items become bytes, and values again.
    ///   - options: how its lists behave. Default: the defaults.
    ///   - memoryBudget: bytes of payloads whose decoded values are kept in memory, a quarter of them for windows that
    ///     were asked for by `page`. Default: 32 MiB.
    ///   - clock: the time. Default: the wall clock.
    ///   - chance: random numbers in 0..<1 that spread retries (R28).
    ///   - logger: what its lists say; see `Documentation/Observability.md`.
    ///   - source: the origin of each list.
    public convenience init(
        storage: any PageStorage, codec: any ItemCodec<Value>, options: PagedListOptions = PagedListOptions(),
        memoryBudget: Int = 32 << 20, clock: any SyncClock = SystemClock(),
        chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger = Logger(label: "pagecache.list"),
        source: @escaping @Sendable (QueryKey) -> any PageSource
    ) {
        self.init(
            storage: storage, codec: codec, options: options, memoryBudget: memoryBudget, clock: clock, chance: chance,
            logger: logger, executor: nil, source: source)
    }

    /// - Parameter executor: what runs the tasks of lists.
    package init(
        storage: any PageStorage, codec: any ItemCodec<Value>, options: PagedListOptions, memoryBudget: Int = 32 << 20,
        clock: any SyncClock, chance: @escaping @Sendable () -> Double,
        logger: Logger = Logger(label: "pagecache.list"),
        executor: (any TaskExecutor)?, source: @escaping @Sendable (QueryKey) -> any PageSource
    ) {
        let builder = SnapshotBuilder(
            storage: storage, codec: codec, cache: DecodedPages(budget: memoryBudget - memoryBudget / 4),
            policy: options.freshness,
            itemLimit: max(1, options.itemLimit))
        // Most windows share their values with the pages: this is for those whose pages have given way.
        let queries = BoundedCache<QueryKey, QueryID>(budget: 4_096)
        windows = WindowReader(builder, clock: clock, queries: queries, budget: memoryBudget / 4)
        world = ListWorld(
            options: options, builder: builder, clock: clock, chance: chance, logger: logger, queries: queries,
            executor: executor)
        self.source = source
    }

    /// A repository of lists that all come from the same source, stored as it says. For one list, mostly.
    public convenience init(
        storage: any PageStorage, source: ItemSource<Value>, options: PagedListOptions = PagedListOptions(),
        memoryBudget: Int = 32 << 20, clock: any SyncClock = SystemClock(),
        chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger = Logger(label: "pagecache.list")
    ) {
        self.init(
            storage: storage, codec: source.codec, options: options, memoryBudget: memoryBudget, clock: clock,
            chance: chance,
            logger: logger, source: { _ in source })
    }

    /// The list with this key. Asks nobody for anything (R34).
    public func list(_ key: QueryKey) -> PagedList<Value> {
        PagedList(controller(key), key: key)
    }

    private func controller(_ key: QueryKey) -> ListController<Value> {
        lists.withLock { lists in
            if let known = lists.known[key]?.controller { return known }
            // Those that nobody holds any more leave their keys behind. Looked for each time that there are twice as
            // many.
            if lists.known.count >= lists.limit {
                lists.known = lists.known.filter { $0.value.controller != nil }
                lists.limit = max(64, lists.known.count * 2)
            }
            let made = ListController(key: key, world: world, source: source(key))
            lists.known[key] = Known(controller: made)
            return made
        }
    }

    /// The items at `offset..<offset + limit`, wherever in the list that is; what is missing is fetched, where the
    /// policy lets it and the origin can be asked for it. With `cacheThenRefresh` a window that is whole is returned
    /// without a look at the origin, whatever its age. A window that was read just now is not read again before
    /// something is told of its list, or five seconds have passed: what another process stores is seen milliseconds
    /// later (R41).
    /// - Parameters:
    ///   - key: the list.
    ///   - offset: below 0 counts as 0. Nothing is asked for beyond `Total.largest`, whatever a client sends (R44).
    ///   - limit: below 0 counts as 0.
    ///   - policy: whether, and when, the origin is asked. Default: where what is cached is missing or stale.
    /// - Throws: `ListFailure` when something had to be fetched, could not, and nothing at all is cached there;
    ///   `StorageError`.
    public func page(
        _ key: QueryKey, offset: Int, limit: Int, policy: LoadPolicy = .refreshIfStale
    ) async throws -> ItemWindow<Value> {
        let start = min(max(0, offset), Total.largest)
        let range = start..<start + min(max(0, limit), Total.largest - start)
        let cached = try await windows.window(of: key, range, for: source(key))
        world.reads.asked(Metric.Cached(cached))
        let isWhole = cached.map { $0.missing.isEmpty && $0.unusable.isEmpty } ?? false
        switch policy {
        case .cacheOnly: return cached ?? ItemWindow(range: range)
        case .cacheThenRefresh where isWhole: return cached ?? ItemWindow(range: range)
        case .refreshIfStale where isWhole && cached?.freshness == .fresh: return cached ?? ItemWindow(range: range)
        case .cacheThenRefresh, .refreshIfStale, .originFirst: break
        }
        var options = world.options.sync
        options.work = policy == .cacheThenRefresh || cached?.freshness == .fresh ? .positions(range) : .everything
        let served = ServedPages()
        var head: SyncReport?
        if options.work == .everything {
            options.work = .refresh
            head = try await run(key, options, served)
            options.work = .positions(range)
        }
        let report: SyncReport
        // Behind a page one that must not be stored nothing could be laid in.
        if let head, head.pagesNotStored > 0 { report = head } else { report = try await run(key, options, served) }
        var latest = try await windows.window(of: key, range, for: source(key))
        if report.pagesNotStored > 0 {
            latest = world.builder.laid(served.all, over: latest ?? ItemWindow(range: range))
        }
        // Purged meanwhile: there is nothing of it, and nothing failed.
        if report.outcome == .purged { return latest ?? ItemWindow(range: range) }
        if let fetched = latest, !fetched.runs.isEmpty || report.headFailure == nil && report.outcome != .offline {
            return fetched
        }
        let failure = report.headFailure ?? report.failures.first?.failure
        throw ListFailure(
            .next, failure ?? FetchFailure(.transport, "nothing came", isRetryable: true),
            nextAttemptAt: report.nextAttemptAt)
    }

    /// The item with this id, if the list holds it; nil otherwise. The origin is not asked.
    /// - Parameters:
    ///   - id: the id's text.
    ///   - type: what the id is at the origin. Default: nil, either; where the list holds both a string and a number of
    ///     this text, the item whose id is the string is returned.
    ///   - key: the list.
    /// - Throws: `StorageError`.
    public func item(id: String, type: IDType? = nil, in key: QueryKey) async throws(StorageError) -> Value? {
        for type in type.map({ [$0] }) ?? [.string, .number] {
            if let item = try await find(id, type, in: key) { return item }
        }
        return nil
    }

    private func find(_ id: String, _ type: IDType, in key: QueryKey) async throws(StorageError) -> Value? {
        let source = source(key)
        guard let query = try await world.storage.query(key), (try? source.takeUp(query)) != nil else { return nil }
        let identity = ItemIdentity.key(ofID: id, type: type)
        // The list may move between the look for the place and the look at it: then it is looked for again.
        for _ in 0..<8 {
            guard let place = try await world.storage.locate([identity], in: query.id)[identity],
                let window = try await world.storage.window(of: query.id, place.position..<place.position + 1),
                (try? source.takeUp(window.record)) != nil
            else { return nil }
            guard let part = window.parts.first, part.content.ids.first == id, part.content.ids.type(at: 0) == type
            else { continue }
            return try? world.builder.codec.decode(part.content.payload(at: 0))
        }
        return nil
    }

    private func run(
        _ key: QueryKey, _ options: SyncOptions, _ served: ServedPages
    ) async throws(StorageError) -> SyncReport {
        try await ListSync(
            storage: world.storage, source: source(key), key: key, options: options, clock: world.clock,
            chance: world.chance,
            logger: world.logger
        ).run { served.note($0) }
    }
}
