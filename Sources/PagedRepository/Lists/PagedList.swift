public import PageModel

/// One list, as a screen or a service uses it: cached items at once, the rest page by page (R10, R34–R39).
///
/// Creating a list sends no request. Two lists with the same key from one repository are the same list and show the
/// same items. Each loaded page is stored when it arrives, and is available again after a restart of the program.
///
/// ```swift
/// let list = repository.list("numbers")
/// Task { for await snapshot in list.snapshots { show(snapshot.items) } }
/// try await list.load()
/// ```
public final class PagedList<Value: Sendable>: Sendable {
    private let controller: ListController<Value>
    /// The identity of the list at its origin.
    public let key: QueryKey

    init(_ controller: ListController<Value>, key: QueryKey) {
        self.controller = controller
        self.key = key
    }

    /// The newest snapshot. Empty until the list is loaded or observed. Reads neither the storage nor the origin.
    public var current: ListSnapshot<Value> { controller.snapshots.current ?? ListSnapshot() }

    /// A stream of snapshots, beginning with the current one. Any number of listeners is possible. A slow listener
    /// receives the newest snapshot and misses earlier ones (R39). While a listener exists, snapshots also show changes
    /// by other tasks and processes.
    public var snapshots: AsyncStream<ListSnapshot<Value>> {
        controller.listen()
    }

    /// A stream of the events from now on. A listener that lags by more than 1,024 events loses the oldest ones.
    public var events: AsyncStream<ListEvent<Value>> {
        controller.listenToEvents()
    }

    /// Loads the cached items and page one, as the policy says (R13). Defaults to `cacheThenRefresh`.
    /// - Throws: `ListFailure` when page one had to be fetched and the fetch failed; `current` still holds the cached
    ///   items. With `originFirst`, `ListFailure` is thrown only for a list that was never loaded. `StorageError` when
    ///   the storage fails. `CancellationError` when the caller's task is cancelled.
    @discardableResult
    public func load(_ policy: LoadPolicy = .cacheThenRefresh) async throws -> LoadOutcome {
        if let outcome = controller.loadAtOnce(policy) { return outcome }
        return try await controller.load(policy)
    }

    /// Fetches page one again, and applies its changes to the rest of the list (R16–R22). If the origin forbids storing
    /// the answer, page one is shown alone, in place of the stored list; see `ListSnapshot.isStored`. A refresh
    /// supersedes the loading of a next page. Two refreshes are joined into one (R36).
    /// - Throws: the same errors as `load`.
    @discardableResult
    public func refresh() async throws -> LoadOutcome { try await controller.refresh() }

    /// Fetches the page after the held items, or page one of a list that was never loaded (R34, R35). An earlier
    /// failure does not delay the request (R33). Without an exact total, a page that is requested by offset begins with
    /// the last held item, and so adds one item fewer (R21). During a refresh, waits for its end and returns
    /// `superseded`. After `ListRepository.forget`, returns `superseded` until `load` is called with any policy but
    /// `cacheOnly`.
    /// - Throws: the same errors as `load`.
    @discardableResult
    public func loadNext() async throws -> LoadOutcome { try await controller.next() }

    /// Fetches page one and all missing pages, up to `PagedListOptions.itemLimit` items.
    /// - Throws: the same errors as `load`. Also throws `ListFailure` when the load stops for another reason than the
    ///   end of the list, the item limit or `SyncOptions.maxPages`.
    @discardableResult
    public func loadAll() async throws -> LoadOutcome { try await controller.all() }

    /// Repeats the request that failed last: page one, or the next page (R37). When no request has failed, refreshes
    /// page one.
    /// - Throws: the same errors as `load`.
    @discardableResult
    public func retry() async throws -> LoadOutcome { try await controller.retry() }

    /// Reports that the item at `position` is visible. Pages after this item are prefetched, as `PagedListOptions` say.
    /// Returns at once.
    ///
    /// The failure of a prefetch is shown at once when the last item is visible. Otherwise it is shown when another
    /// item within the prefetch distance of the end appears. Snapshots show it as the failure of the next page, and
    /// `retry()` then fetches that page.
    ///
    /// A visible item need not be reported again after a refresh. If it is the last item, the next page is prefetched
    /// after the refresh.
    /// - Parameter position: the index of the item in `ListSnapshot.items`.
    public func itemAppeared(at position: Int) {
        controller.beginPrefetching(from: position)
    }

    /// Prefetches as `itemAppeared(at:)` does, and returns when the prefetches have ended. A call from within the
    /// list's own source returns at once, because the source is part of a load.
    public func prefetch(from position: Int) async { await controller.prefetchAndWait(from: position) }

    /// Returns when no load, no prefetch and no removal of this list is under way, for tests. Does not wait for
    /// background work or other processes.
    public func settled() async { await controller.settled() }

    /// Marks the cached list as stale, for callers that know of a change at the origin. The mark is removed when the
    /// answer to a later request for page one is stored.
    ///
    /// The mark is stored, so other lists, background work and other processes see it. `ListSnapshot.validatedAt` does
    /// not change. Sends no request. A list that is not stored yet is not changed.
    /// - Throws: `StorageError` when the storage fails.
    public func invalidate() async throws { try await controller.invalidate() }

    /// Returns the changes of the stored list since a version, from its journal (R48). Sends no request.
    ///
    /// Pass `nil` first: the result then has no entries, and `reached` is the present version. Pass `reached` to the
    /// next call. `ListChanges.truncated` means that the journal does not reach back to the version: read the whole
    /// list again.
    /// - Parameters:
    ///   - version: the version that the caller knows. `nil` means the present version.
    ///   - limit: the maximum number of entries to return. Values below 1 count as 1. Defaults to 1,000.
    /// - Returns: the changes, or nil when the list is not stored or belongs to another credential (R45).
    /// - Throws: `StorageError` when the storage fails.
    public func changes(since version: ContentVersion?, limit: Int = 1_000) async throws -> ListChanges? {
        try await controller.changes(since: version, limit: limit)
    }

    /// Empties the list, and removes it from the storage. Work under way is cancelled, and its results are dropped. A
    /// pinned list stays pinned. Use `ListRepository.forget(_:)` at the end of a session.
    /// - Throws: `StorageError` when the storage fails. The list is then unchanged. If only the pin could not be stored
    ///   again, the list is empty and no longer pinned.
    public func reset() async throws { try await controller.reset() }
}
