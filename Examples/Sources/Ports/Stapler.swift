import PagedRepository

/// Stapler's interface on a stored list. Its two actions are `async` functions, and its properties are those of an
/// observable model.
@MainActor
public final class Stapler<Item: Sendable> {
    private let list: PagedList<Item>
    private let model: PagedListModel<Item>
    private let following: [Task<Void, Never>]

    /// - Parameters:
    ///   - list: the list, with its page size and its request.
    ///   - errors2ndPageAndLater: receives the failures of all pages except the first one.
    public init(
        _ list: PagedList<Item>, errors2ndPageAndLater: @escaping @MainActor (ListFailure) -> Void = { _ in }
    ) {
        let model = PagedListModel(list)
        let events = list.events
        (self.list, self.model) = (list, model)
        following = [
            Task { await model.run(.cacheOnly) },
            Task {
                for await case .failed(let failure) in events where failure.kind == .next {
                    errors2ndPageAndLater(failure)
                }
            },
        ]
    }

    deinit { for task in following { task.cancel() } }

    /// Loads page one. Throws only if the request fails and no item is cached.
    public func initialLoad() async throws { try await list.load(.originFirst) }
    /// Loads page one again. The items stay until page one arrives.
    public func refresh() async throws { try await list.refresh() }
    /// Loads the next page unless it is loading already. Call this function each time that the last row appears.
    public func loadNextPageIfNeeded() { list.itemAppeared(at: items.count - 1) }

    public var items: PagedItems<Item> { model.items }
    /// The number of loaded pages; 0 at first.
    public var pages: Int { model.pagesLoaded }
    /// The total of the list; 0 while it is unknown.
    public var total: Int { model.total.count ?? 0 }
    /// False at first. True from the first load of a second page until all pages are loaded.
    public var shouldShowNextPageActivityIndicator: Bool { model.isLoadingNext || pages > 1 && model.hasMore }
}
