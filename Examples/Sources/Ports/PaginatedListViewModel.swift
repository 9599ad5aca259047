import Observation
import PagedRepository

/// PaginatedListViewModel's interface on a stored list. A page hands over a value for the next page, and the closure of
/// `ItemSource.cursors` takes the place of the recursive producers.
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
    /// The error of the source. `nil` as soon as the retry starts.
    public var lastError: (any Error)? { model.failure?.cause ?? model.failure }

    /// Loads the next page, or the page that failed. An error is in `lastError`.
    public func loadNextPage() async { await model.loadNext() }
    /// Removes all items. The next page is then page one.
    public func reset() async { await model.reset() }
}
