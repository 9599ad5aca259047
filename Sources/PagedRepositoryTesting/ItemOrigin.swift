public import PagedRepository
import Synchronization

/// An in-memory origin of your own items, which accepts any offset. A test can change the items, make requests fail,
/// and read the requests so far.
///
/// State, under a mutex: the items, the failures to come, the requests, and the number of bytes sent.
public final class ItemOrigin<Value: Codable & Sendable>: PageSource, PromptSource {
    private struct State {
        var items: [Value]
        var failures: [FetchFailure?] = []
        var requests: [PageRequest] = []
        var bytes = 0
    }

    private let pageSize: PageSize
    private let state: Mutex<State>

    /// An origin of these items.
    /// - Parameters:
    ///   - items: the items of the list.
    ///   - pageSize: the number of items of a page, unless a request sets its own. Defaults to 20.
    public init(_ items: [Value], pageSize: PageSize = 20) {
        self.pageSize = pageSize
        state = Mutex(State(items: items))
    }

    /// The items of the list. A change is visible to later requests.
    public var items: [Value] {
        get { state.withLock { $0.items } }
        set { state.withLock { $0.items = newValue } }
    }

    /// Every request so far, in order.
    public var requests: [PageRequest] { state.withLock { $0.requests } }

    /// Makes the next requests fail with these failures, in order, after the failures of earlier calls. `nil` stands
    /// for a request that is answered.
    public func fail(_ failures: FetchFailure?...) { state.withLock { $0.failures += failures } }

    public var access: PagingAccess { .offsets }

    /// 0, so that no page repeats an item of the page before it. Tests can then predict each request.
    public var largestOverlap: Int? { 0 }

    public var usage: SourceUsage {
        state.withLock { SourceUsage(requests: $0.requests.count, bytesReceived: $0.bytes) }
    }

    /// Returns the items at the requested position, and their exact total.
    /// - Throws: the next failure that `fail` has set.
    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        try state.withLock { state in
            state.requests.append(request)
            if !state.failures.isEmpty, let failure = state.failures.removeFirst() { throw failure }
            var start = 0
            if case .offset(let offset) = request.target { start = min(offset, state.items.count) }
            let items = state.items[start...].prefix(request.size ?? pageSize.count)
            let content = PageContent(values: Array(items))
            state.bytes += content.bytes.count
            return .page(FetchedPage(content: content, total: .exact(state.items.count)))
        }
    }
}
