public import Observation
public import PageModel

/// A list for user interfaces: the newest snapshot, observed property by property.
///
/// Isolated to the main actor. `run()` keeps the model up to date while its task runs; start it in the view's `task`.
@MainActor
@Observable
public final class PagedListModel<Value: Sendable> {
    private var shown = ListSnapshot<Value>()
    @ObservationIgnored private let list: PagedList<Value>
    /// The number of calls of `run` under way.
    @ObservationIgnored private var runs = 0

    /// Creates a model of this list. Sends no request (R34).
    public init(_ list: PagedList<Value>) {
        self.list = list
        shown = list.current
    }

    /// The newest snapshot. Empty until the list is loaded.
    public var snapshot: ListSnapshot<Value> { shown }
    /// See `ListSnapshot.items`.
    public var items: PagedItems<Value> { snapshot.items }
    /// See `ListSnapshot.total`.
    public var total: ListTotal { snapshot.total }
    /// See `ListSnapshot.pagesLoaded`.
    public var pagesLoaded: Int { snapshot.pagesLoaded }
    /// See `ListSnapshot.hasMore`.
    public var hasMore: Bool { snapshot.hasMore }
    /// See `ListSnapshot.isLoading`.
    public var isLoading: Bool { snapshot.isLoading }
    /// See `ListSnapshot.isLoadingNext`.
    public var isLoadingNext: Bool { snapshot.isLoadingNext }
    /// See `ListSnapshot.failure`.
    public var failure: ListFailure? { snapshot.failure }
    /// See `ListSnapshot.displayState`.
    public var displayState: DisplayState { snapshot.displayState }

    /// Loads the list by the policy, and updates `snapshot` until the task is cancelled. After that, `snapshot` shows
    /// no activity. The policy defaults to `cacheThenRefresh`.
    public func run(_ policy: LoadPolicy = .cacheThenRefresh) async {
        let snapshots = list.snapshots
        // The snapshot holds any failure.
        let loading = Task { [list] in _ = try? await list.load(policy) }
        runs += 1
        // Another call of this object may already have shown a newer snapshot than the one that has just arrived.
        for await _ in snapshots { shown = list.current }
        loading.cancel()
        runs -= 1
        // No later snapshot would show the end of a load.
        if runs == 0 { shown.activity = .idle }
    }

    /// Calls `PagedList.refresh()`, and returns when `snapshot` shows the result. A failure is in `failure`.
    public func refresh() async { await call { try await $0.refresh() } }
    /// Calls `PagedList.loadNext()`, and returns when `snapshot` shows the result. A failure is in `failure`.
    public func loadNext() async { await call { try await $0.loadNext() } }
    /// Calls `PagedList.retry()`, and returns when `snapshot` shows the result. A failure is in `failure`.
    public func retry() async { await call { try await $0.retry() } }
    /// Calls `PagedList.itemAppeared(at:)`.
    public func itemAppeared(at position: Int) { list.itemAppeared(at: position) }
    /// Calls `PagedList.reset()`. A failure of the storage is in `failure`.
    public func reset() async {
        try? await list.reset()
        shown = list.current
    }

    private func call(_ body: @Sendable (PagedList<Value>) async throws -> LoadOutcome) async {
        _ = try? await body(list)
        shown = list.current
    }
}
