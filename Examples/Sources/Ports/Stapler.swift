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

    /// Loads page one. Throws only if no item is cached.
    public func initialLoad() async throws { try await list.load(.originFirst) }
    /// Loads page one again. The items stay until it arrives.
    public func refresh() async throws { try await list.refresh() }
    /// Call it when the last row appears, as often as you like.
    public func loadNextPageIfNeeded() { list.itemAppeared(at: items.count - 1) }

    public var items: PagedItems<Item> { model.items }
    /// 0 at first.
    public var pages: Int { model.pagesLoaded }
    /// 0 at first.
    public var total: Int { model.total.count ?? 0 }
    /// False at first. True from the start of the second page until everything is loaded.
    public var shouldShowNextPageActivityIndicator: Bool { model.isLoadingNext || pages > 1 && model.hasMore }
}
