public import PageModel

/// One list, as a screen or a service uses it: what is cached at once, the rest page by page (R10, R34–R39).
///
/// Making one asks nobody for anything. Lists of the same key from one repository are the same list: what one loads,
/// all see. What is loaded goes into the storage page by page, and is there after a restart.
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

    /// The newest snapshot; empty until something was loaded or listened to. Costs nothing: neither the storage nor the
    /// origin is asked.
    public var current: ListSnapshot<Value> { controller.snapshots.current ?? ListSnapshot() }

    /// Snapshots from now on, the current one first. Any number can listen; whoever is slow gets the newest, and misses
    /// those in between (R39). While somebody listens, what other tasks and processes do to the list is shown, too.
    public var snapshots: AsyncStream<ListSnapshot<Value>> {
        controller.listen()
    }

    /// What happens from now on. Whoever lags behind by more than 1,024 events loses the oldest.
    public var events: AsyncStream<ListEvent<Value>> {
        controller.listenToEvents()
    }

    /// What is cached, and page one, as the policy says (R13).
    /// - Throws: `ListFailure` when page one was to be had, and could not; what is cached is in `current` all the same.
    ///   With `originFirst` only when nothing is cached. `StorageError` when the storage fails, `CancellationError`
    ///   when the caller's task is cancelled.
    @discardableResult
    public func load(_ policy: LoadPolicy = .cacheThenRefresh) async throws -> LoadOutcome {
        if let outcome = controller.loadAtOnce(policy) { return outcome }
        return try await controller.load(policy)
    }

    /// Page one once more, and what it says of the rest (R16–R22). Where the origin forbids to keep it, it is shown
    /// alone, in place of what is stored: see `ListSnapshot.isKept`. Wins over a next page under way; two refreshes are
    /// one (R36).
    /// - Throws: as `load`.
    @discardableResult
    public func refresh() async throws -> LoadOutcome { try await controller.refresh() }

    /// The page behind what is held; page one, when nothing is (R34, R35). Always tries, whatever failed before (R33).
    /// - Throws: as `load`.
    @discardableResult
    public func loadNext() async throws -> LoadOutcome { try await controller.next() }

    /// Page one, and everything that is missing.
    /// - Throws: as `load`.
    @discardableResult
    public func loadAll() async throws -> LoadOutcome { try await controller.all() }

    /// What failed, once more: page one, or the very page that could not be had (R37).
    /// - Throws: as `load`.
    @discardableResult
    public func retry() async throws -> LoadOutcome { try await controller.retry() }

    /// The item at `position` is being looked at: what comes behind it is fetched ahead, as `PagedListOptions` say.
    /// Returns at once. A failure is not shown before somebody gets to the last item.
    public func itemAppeared(at position: Int) {
        controller.beginPrefetching(from: position)
    }

    /// The same, and returns when everything that was to be fetched has been.
    public func prefetch(from position: Int) async { await controller.appeared(position) }

    /// What is cached counts as stale until page one, asked for since, has been had: for callers who know that
    /// something changed. It is stored, so that other lists, background work and other processes know it, too; when the
    /// origin confirmed the list last stays as it is. Asks the origin for nothing. Nothing happens to a list that is
    /// not stored yet.
    /// - Throws: `StorageError`.
    public func invalidate() async throws { try await controller.invalidate() }

    /// Forgets the list, in the storage, too. What is under way is ended, and nothing of it gets in.
    /// - Throws: `StorageError`.
    public func reset() async throws { try await controller.reset() }
}
