import Observation
import PagedRepository

/// PaginatedListViewModel's interface on a stored list. Each page supplies the value that requests the next page. The
/// closure of `ItemSource.cursors` replaces the recursive producers of the original.
@MainActor
@Observable
public final class PaginatedListViewModel<Item: Sendable> {
    @ObservationIgnored private let list: PagedList<Item>
    private let model: PagedListModel<Item>
    @ObservationIgnored private let following: Task<Void, Never>

    public init(_ list: PagedList<Item>) {
        let model = PagedListModel(list)
        (self.list, self.model) = (list, model)
        following = Task { await model.run(.cacheOnly) }
    }

    deinit { following.cancel() }

    public var items: PagedItems<Item> { model.items }
    public var loading: Bool { model.isLoading }
    /// Whether the last page has arrived. False after a reset.
    public var exhausted: Bool { model.snapshot.isAtEnd }
    /// The error of the last load. `nil` without a failure, and as soon as the retry starts.
    public var lastError: (any Error)? { model.failure?.cause ?? model.failure }

    /// Loads the next page, or the page that failed. An error is stored in `lastError`.
    public func loadNextPage() async { await model.loadNext() }
    /// Removes all items. The next page is then page one.
    public func reset() async { await model.reset() }
}
