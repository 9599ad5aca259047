import PagedRepository

/// SwiftPaginator's interface on a stored list. The fetch block of the original is the source of the list.
@MainActor
public final class Paginator<Element: Sendable> {
    public enum RequestStatus { case none, inProgress, done }

    public typealias Handler = @MainActor (Paginator) -> Void

    /// Called with the results of each page that arrives.
    public var resultsHandler: @MainActor (Paginator, [Element]) -> Void
    /// Called when the paginator is empty after a reset.
    public var resetHandler: Handler?
    /// Called when a page has failed to load.
    public var failureHandler: Handler?

    private let list: PagedList<Element>
    private var following: Task<Void, Never>?

    public init(
        _ list: PagedList<Element>, resultsHandler: @escaping @MainActor (Paginator, [Element]) -> Void,
        resetHandler: Handler? = nil, failureHandler: Handler? = nil
    ) {
        self.list = list
        self.resultsHandler = resultsHandler
        self.resetHandler = resetHandler
        self.failureHandler = failureHandler
        let events = list.events
        following = Task { [weak self] in for await event in events { self?.handle(event) } }
    }

    deinit { following?.cancel() }

    private func handle(_ event: ListEvent<Element>) {
        switch event {
        case .pageLoaded(_, let results): resultsHandler(self, results)
        case .reset: resetHandler?(self)
        case .failed: failureHandler?(self)
        case .refreshed, .changedElsewhere, .undecodable, .endReached: break
        }
    }

    /// Removes all results, and fetches page one.
    public func fetchFirstPage() async throws {
        try await reset()
        try await fetchNextPage()
    }

    /// Fetches the next page. A call during a fetch waits for that fetch, and sends no second request.
    public func fetchNextPage() async throws { try await list.loadNext() }
    public func reset() async throws { try await list.reset() }

    public var results: PagedItems<Element> { list.current.items }
    public var total: Int { list.current.total.count ?? 0 }
    public var reachedLastPage: Bool { list.current.isAtEnd }
    public var requestStatus: RequestStatus {
        let now = list.current
        return now.isLoading ? .inProgress : now.isLoaded || now.failure != nil ? .done : .none
    }
}
