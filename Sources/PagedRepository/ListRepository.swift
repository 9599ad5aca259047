public import Logging
public import PageModel
import Synchronization

/// A repository for lists of one kind of item. They are cached in a storage, and fetched from their origins when
/// needed.
///
/// State, under a mutex: the lists in use, by key. All lists share one cache of decoded pages, and recently read
/// windows share its values.
public final class ListRepository<Value: Sendable>: Sendable {
    private struct Known {
        weak var controller: ListController<Value>?
    }

    private let context: RepositoryContext<Value>
    private let windows: WindowReader<Value>
    private let source: @Sendable (QueryKey) -> any PageSource
    /// A source and options that one list has instead of those of the repository.
    private struct Own {
        var source: any PageSource
        var context: RepositoryContext<Value>
    }

    private struct Lists {
        var known: [QueryKey: Known] = [:]
        /// The sources and options of single lists.
        var own: [QueryKey: Own] = [:]
        /// When `known` reaches this size, the entries of lists that are no longer in use are removed.
        var limit = 64

        /// Returns a list's own source and options. Those of an ephemeral list apply only while the list is in use.
        /// Returns nil when the list has none.
        func own(of key: QueryKey) -> Own? {
            guard let found = own[key], !found.context.options.isEphemeral || known[key]?.controller != nil else {
                return nil
            }
            return found
        }

        /// Removes the entries of lists that are no longer in use. Does nothing until there are 64 entries, or twice as
        /// many as the last removal left. A list's own source and options stay, unless the list is ephemeral.
        mutating func clean() {
            guard known.count >= limit else { return }
            known = known.filter { $0.value.controller != nil }
            own = own.filter { !$0.value.context.options.isEphemeral || known[$0.key] != nil }
            limit = max(64, known.count * 2)
        }
    }

    private let lists = Mutex(Lists())

    /// - Parameters:
    ///   - storage: the storage that holds the pages.
    ///   - codec: converts items to bytes and back.
    ///   - options: the options of the lists. Defaults to the defaults of `PagedListOptions`.
    ///   - memoryBudget: the number of payload bytes whose decoded values stay in memory. A quarter is for the windows
    ///     that `page` returns. Defaults to 32 MiB.
    ///   - clock: the clock for pauses and timestamps. Defaults to the wall clock.
    ///   - jitter: returns random numbers in 0..<1 that spread retries over time (R28).
    ///   - logger: receives the log lines of the lists; see `Documentation/Observability.md`.
    ///   - source: returns the source of each list.
    public convenience init(
        storage: any PageStorage, codec: any ItemCodec<Value>, options: PagedListOptions = PagedListOptions(),
        memoryBudget: Int = 32 << 20, clock: any SyncClock = SystemClock(),
        jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger = Logger(label: "pagecache.list"),
        source: @escaping @Sendable (QueryKey) -> any PageSource
    ) {
        self.init(
            storage: storage, codec: codec, options: options, memoryBudget: memoryBudget, clock: clock, jitter: jitter,
            logger: logger, executor: nil, source: source)
    }

    /// - Parameter executor: runs the tasks of the lists.
    package init(
        storage: any PageStorage, codec: any ItemCodec<Value>, options: PagedListOptions, memoryBudget: Int = 32 << 20,
        clock: any SyncClock, jitter: @escaping @Sendable () -> Double,
        logger: Logger = Logger(label: "pagecache.list"),
        executor: (any TaskExecutor)?, source: @escaping @Sendable (QueryKey) -> any PageSource
    ) {
        let builder = SnapshotBuilder(
            storage: storage, codec: codec, cache: DecodedPages(budget: memoryBudget - memoryBudget / 4),
            policy: options.freshness,
            itemLimit: max(1, options.itemLimit))
        // Most windows share their values with the pages. This quarter is for windows whose pages were evicted from
        // memory.
        let queries = BoundedCache<QueryKey, QueryID>(budget: 4_096)
        windows = WindowReader(builder, clock: clock, queries: queries, budget: memoryBudget / 4)
        context = RepositoryContext(
            options: options, builder: builder, clock: clock, jitter: jitter, logger: logger, queries: queries,
            executor: executor)
        self.source = source
    }

    /// Creates a repository whose lists all come from the same source, and use the codec of the source. Mostly for a
    /// single list.
    public convenience init(
        storage: any PageStorage, source: ItemSource<Value>, options: PagedListOptions = PagedListOptions(),
        memoryBudget: Int = 32 << 20, clock: any SyncClock = SystemClock(),
        jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger = Logger(label: "pagecache.list")
    ) {
        self.init(
            storage: storage, codec: source.codec, options: options, memoryBudget: memoryBudget, clock: clock,
            jitter: jitter,
            logger: logger, source: { _ in source })
    }

    /// Returns the list with this key. Sends no request (R34).
    public func list(_ key: QueryKey) -> PagedList<Value> {
        PagedList(controller(key), key: key)
    }

    /// Returns the list with this key, with a source and options of its own. The source and the options also apply to
    /// `page` and to later calls of `list(_:)` with the key, until `forget`. Those of an ephemeral list are kept only
    /// while the list is in use. A list in use keeps its present source and options. Sends no request (R34).
    /// - Parameters:
    ///   - key: the key of the list.
    ///   - source: the source of the list. The source has to encode its values with the repository's codec.
    ///   - options: the options of the list. `nil` means the options of the repository. Defaults to nil.
    public func list(
        _ key: QueryKey, source: any PageSource, options: PagedListOptions? = nil
    ) -> PagedList<Value> {
        let own = Own(source: source, context: options.map { RepositoryContext(context, options: $0) } ?? context)
        return PagedList(controller(key, own), key: key)
    }

    /// Returns the source and the options of a list.
    private func settings(of key: QueryKey) -> (source: any PageSource, context: RepositoryContext<Value>) {
        if let own = lists.withLock({ $0.own(of: key) }) { return (own.source, own.context) }
        return (source(key), context)
    }

    /// - Parameter given: the source and the options of a list that is not in use.
    private func controller(_ key: QueryKey, _ given: Own? = nil) -> ListController<Value> {
        lists.withLock { lists in
            if let known = lists.known[key]?.controller { return known }
            let own = given ?? lists.own(of: key)
            lists.own[key] = own
            let made = ListController(key: key, context: own?.context ?? context, source: own?.source ?? source(key))
            lists.known[key] = Known(controller: made)
            lists.clean()
            return made
        }
    }

    /// Returns the items at `offset..<offset + limit`, anywhere in the list. Missing items are fetched when the policy
    /// allows a request. In a chain, all missing pages before these items are fetched, too.
    ///
    /// With `cacheThenRefresh` a complete window is returned without a request, whatever its age. A window that was
    /// read before is served from memory until its list changes, and for five seconds at most. A commit of another
    /// process is noticed within milliseconds (R41).
    /// - Parameters:
    ///   - key: the key of the list.
    ///   - offset: the first position. Values below 0 count as 0. Positions beyond `ListTotal.largest` are never
    ///     requested (R44).
    ///   - limit: the number of items. Values below 0 count as 0.
    ///   - policy: whether, and when, the origin is contacted. Defaults to `refreshIfStale`, which contacts the origin
    ///     when the cached items are incomplete or stale.
    /// - Returns: the items of the window. `ItemWindow.missing` has the positions that were not fetched. If a page of
    ///   the window cannot be fetched, all positions of the window can be missing.
    /// - Throws: `ListFailure` when no item of the window is cached or was fetched, and one of these is true: the fetch
    ///   of page one failed, the origin cannot be reached, or a fetch failed and the list is not stored. `ListFailure`
    ///   with the class `FetchFailure.Class.purged` when the list was removed during the call, by `forget` or by
    ///   another caller of the storage. `StorageError` when the storage fails. `CancellationError` when the caller's
    ///   task is cancelled and the window has no item.
    public func page(
        _ key: QueryKey, offset: Int, limit: Int, policy: LoadPolicy = .refreshIfStale
    ) async throws -> ItemWindow<Value> {
        let start = min(max(0, offset), ListTotal.largest)
        let range = start..<start + min(max(0, limit), ListTotal.largest - start)
        let (source, context) = settings(of: key)
        let cached = try await windows.window(of: key, range, for: source)
        context.reads.countRead(Metric.Cached(cached))
        let isWhole = cached.map { !$0.isPartial } ?? false
        switch policy {
        case .cacheOnly: return cached ?? ItemWindow(range: range)
        case .cacheThenRefresh where isWhole: return cached ?? ItemWindow(range: range)
        case .refreshIfStale where isWhole && cached?.freshness == .fresh: return cached ?? ItemWindow(range: range)
        case .cacheThenRefresh, .refreshIfStale, .originFirst: break
        }
        let refreshesPageOne =
            switch policy {
            case .originFirst: true
            case .refreshIfStale: cached?.freshness != .fresh
            case .cacheOnly, .cacheThenRefresh: false
            }
        let fetch = WindowFetch(context, source, key, range)
        // Each reset of the list supersedes the fetch, which then begins again.
        while true {
            let ending = try await fetch.run(refreshesPageOne: refreshesPageOne) { [windows] in
                try await windows.window(of: key, range, for: source)
            }
            switch ending {
            case .restarted: continue
            case .removed: throw ListFailure(.next, .purged)
            case .ended(let report, let window):
                if let window, !window.segments.isEmpty { return window }
                // A cancelled call throws `CancellationError`, and not a failure of an earlier run.
                try Task.checkCancellation()
                if let window, report.headFailure == nil, report.outcome != .offline { return window }
                let failure = report.headFailure ?? report.failures.first?.failure
                guard report.outcome == .offline || failure != nil else { return window ?? ItemWindow(range: range) }
                throw ListFailure(
                    .next, failure ?? FetchFailure(.transport, "the origin cannot be reached", isRetryable: true),
                    nextAttemptAt: report.nextAttemptAt(by: context.clock))
            }
        }
    }

    /// Returns the stored item with this id. Sends no request.
    ///
    /// Returns nil when the list does not hold the item, when its bytes do not decode, or when the list belongs to
    /// another credential (R45). Items that were not stored because of `no-store` are not found.
    /// - Parameters:
    ///   - id: the text of the id.
    ///   - type: the type of the id at the origin. Defaults to nil, which accepts both types. When the list holds a
    ///     string and a number with this text, the item with the string is returned.
    ///   - key: the key of the list.
    /// - Throws: `StorageError` when the storage fails.
    public func item(id: String, type: IDType? = nil, in key: QueryKey) async throws(StorageError) -> Value? {
        for type in type.map({ [$0] }) ?? [.string, .number] {
            if let item = try await find(id, type, in: key) { return item }
        }
        return nil
    }

    private func find(_ id: String, _ type: IDType, in key: QueryKey) async throws(StorageError) -> Value? {
        let source = settings(of: key).source
        guard let query = try await context.storage.query(key), source.mayServe(query) else { return nil }
        let identity = ItemIdentity.key(ofID: id, type: type)
        // The item may move between the two reads. The loop then locates the item again.
        for _ in 0..<8 {
            guard let place = try await context.storage.locate([identity], in: query.id)[identity],
                let window = try await context.storage.window(of: query.id, place.position..<place.position + 1),
                source.mayServe(window.record)
            else { return nil }
            guard let part = window.parts.first, part.content.ids.first == id, part.content.ids.type(at: 0) == type
            else { continue }
            return try? context.builder.codec.decode(part.content.payload(at: 0))
        }
        return nil
    }

    // MARK: Removing lists

    /// Removes a list with everything that is stored for it, including its pin. For the end of a session, and for data
    /// that must not stay on the device.
    ///
    /// Work under way is superseded and its late answers are dropped, so no item reappears after the call. Observers
    /// receive an empty snapshot and `ListEvent.reset`. An existing `PagedList` does not load again by itself:
    /// `hasMore` is false, `itemAppeared(at:)` starts no fetch, and every loading call but `load` returns `superseded`.
    /// A call of `load` with any policy but `cacheOnly` ends this state. A call of `load` or `page` can load the list
    /// again, even if it begins before `forget` has returned.
    ///
    /// Other users of the storage, such as a `SyncEngine`, a `ListSync`, another repository or another process, end
    /// their work on the list with their next answer, and store no part of the answer. The exception is a first load
    /// with `SyncOptions.registersFirst` off. Another repository keeps its items in memory, and its `PagedList`s load
    /// again when they are called. Call `forget` on that repository, too. The call waits up to a second for a source
    /// that ignores its cancellation.
    /// - Throws: `StorageError` when the storage fails.
    public func forget(_ key: QueryKey) async throws(StorageError) {
        try await forget { $0 == key }
    }

    /// Removes all lists of a scope, like `forget(_:)`. The scope is the account or tenant of `QueryKey.scope`.
    /// - Throws: `StorageError` when the storage fails.
    public func forget(scope: String) async throws(StorageError) {
        try await forget { $0.scope.utf8.elementsEqual(scope.utf8) }
    }

    private func forget(_ isMeant: @escaping @Sendable (QueryKey) -> Bool) async throws(StorageError) {
        var removals: [ObjectIdentifier: (list: ListController<Value>, number: Int)] = [:]
        var hasRevoked = false
        // A list may come into use while the runs of the others end.
        while true {
            let used = lists.withLock { $0.known.filter { isMeant($0.key) }.compactMap(\.value.controller) }
            let others = used.filter { removals[ObjectIdentifier($0)] == nil }
            if others.isEmpty, hasRevoked { break }
            for list in others {
                let number = await list.supersede(forGood: true)
                removals[ObjectIdentifier(list)] = (list, number)
            }
            await context.runs.revoke(where: isMeant)
            hasRevoked = true
        }
        do {
            let records = try await context.storage.records().filter { isMeant($0.key) }
            if !records.isEmpty { _ = try await context.storage.purge(records.map(\.id)) }
        } catch {
            for removal in removals.values { await removal.list.wasNotRemoved(removal.number) }
            throw error
        }
        lists.withLock { lists in lists.own = lists.own.filter { !isMeant($0.key) } }
        for removal in removals.values {
            await removal.list.wasRemoved()
            await removal.list.observe()
        }
    }
}
