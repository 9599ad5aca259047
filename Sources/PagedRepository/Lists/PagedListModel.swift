public import Observation
public import PageModel

/// A list for user interfaces: the newest snapshot, observed property by property.
///
/// Belongs to the main actor. `run()` keeps it up to date for as long as its task lives: give it to the view's `task`.
@MainActor
@Observable
public final class PagedListModel<Value: Sendable> {
    public private(set) var snapshot = ListSnapshot<Value>()
    @ObservationIgnored private let list: PagedList<Value>

    public init(_ list: PagedList<Value>) {
        self.list = list
        snapshot = list.current
    }

    public var items: PagedItems<Value> { snapshot.items }
    public var total: Total { snapshot.total }
    public var pagesLoaded: Int { snapshot.pagesLoaded }
    public var hasMore: Bool { snapshot.hasMore }
    public var isLoading: Bool { snapshot.isLoading }
    public var isLoadingNext: Bool { snapshot.isLoadingNext }
    public var failure: ListFailure? { snapshot.failure }
    public var displayState: DisplayState { snapshot.displayState }

    /// Loads by the policy, and then follows the list until the task is cancelled.
    public func run(_ policy: LoadPolicy = .cacheThenRefresh) async {
        let snapshots = list.snapshots
        // What fails is in the snapshot.
        let loading = Task { [list] in _ = try? await list.load(policy) }
        for await snapshot in snapshots { self.snapshot = snapshot }
        loading.cancel()
    }

    public func refresh() async { _ = try? await list.refresh() }
    public func loadNext() async { _ = try? await list.loadNext() }
    public func retry() async { _ = try? await list.retry() }
    public func itemAppeared(at position: Int) { list.itemAppeared(at: position) }
    public func reset() async { try? await list.reset() }
}
