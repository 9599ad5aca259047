import Observation
import PagedRepository

/// The states of PagingList, derived from a stored list. The request handler of the original is the source of the list.
@MainActor
@Observable
public final class PagingListModel<Item: Sendable> {
    public enum State: Equatable {
        case disabled, items, fullscreenEmpty, fullscreenLoading, pagingLoading
        case fullscreenError(ListFailure)
        case pagingError(ListFailure)
    }

    private let model: PagedListModel<Item>
    @ObservationIgnored private let following: Task<Void, Never>

    /// Shows the cached items, and sends the first request at once.
    public init(_ list: PagedList<Item>) {
        let model = PagedListModel(list)
        self.model = model
        following = Task { await model.run() }
    }

    deinit { following.cancel() }

    public var items: PagedItems<Item> { model.items }
    public var state: State {
        switch model.displayState {
        case .nothing, .loadingFirst: .fullscreenLoading
        case .empty: .fullscreenEmpty
        case .unusable: .fullscreenError(PagingListModel.unusable)
        case .firstFailed(let failure): .fullscreenError(failure)
        case .loadingNext: .pagingLoading
        case .nextFailed(let failure): .pagingError(failure)
        case .items, .refreshing, .refreshFailed: model.hasMore ? .items : .disabled
        }
    }

    /// The failure of a list whose rows are stored but cannot be decoded. Such a list is not empty.
    private static var unusable: ListFailure {
        ListFailure(
            .refresh, FetchFailure(.undecodable, "this version cannot show the rows", isRetryable: false))
    }

    /// Call this function when a row appears. It requests the next page when the row is close to the end.
    public func rowAppeared(at index: Int) { model.itemAppeared(at: index) }
    /// Refreshes the list, for example when the user pulls to refresh.
    public func refresh() async { await model.refresh() }
    /// Sends the failed request again, for example when the user presses "Retry".
    public func retry() async { await model.retry() }
}
