import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization

/// An origin in memory with unusual ends: a next cursor after the last item, the last page again after the end, or
/// hidden items at the end.
final class UnusualEndOrigin: PageSource {
    struct State {
        var names: [String]
        var size = 3
        var access: PagingAccess
        /// Returns the total for the names and the hidden items. `nil` means that the origin gives no total.
        var total: (@Sendable ([String], Set<String>) -> ListTotal)?
        var hidden: Set<String> = []
        /// Whether the last page of a chain has a cursor to an empty page.
        var hasTail = false
        /// Whether answers say if more items follow.
        var saysMore = false
        /// Returns the position whose items answer a request behind the end, for the number of names and the page size.
        /// `nil` means that such an answer is empty.
        var clamp: (@Sendable (Int, Int) -> Int)?
        /// The answer to a request after the end. `nil` means an empty page.
        var refusal: PageAnswer?
        /// The status with which a request after the end fails. `nil` means that it does not fail.
        var failure: Int?
        /// The number of items before its position that a cursor returns again.
        var repeated = 0
        /// Changes of the names, by the number of requests before them.
        var changes: [Int: @Sendable (inout [String]) -> Void] = [:]
        var requests = 0
    }

    let state: Mutex<State>

    init(_ names: [String], access: PagingAccess, _ change: (inout State) -> Void) {
        var state = State(names: names, access: access)
        change(&state)
        self.state = Mutex(state)
    }

    var access: PagingAccess { state.withLock { $0.access } }
    var usage: SourceUsage { SourceUsage(requests: state.withLock { $0.requests }) }
    var requests: Int { state.withLock { $0.requests } }
    var names: [String] {
        get { state.withLock { $0.names } }
        set { state.withLock { $0.names = newValue } }
    }
    var shown: [String] { state.withLock { state in state.names.filter { !state.hidden.contains($0) } } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        try state.withLock { state in
            state.changes[state.requests]?(&state.names)
            state.requests += 1
            let count = state.names.count
            var start =
                switch request.target {
                case .first: 0
                case .offset(let offset): offset
                case .cursor(let cursor): max(0, (Int(cursor.text) ?? 0) - state.repeated)
                }
            let isBehind = start >= count && count > 0 && request.target != .first
            if isBehind, let status = state.failure { throw FetchFailure.status(status) }
            if isBehind, let refusal = state.refusal { return refusal }
            if isBehind, let clamp = state.clamp { start = clamp(count, state.size) }
            let range = min(start, count)..<min(start + state.size, count)
            let isLast = range.upperBound == count
            let hasNext = state.access == .chain && (!isLast || state.hasTail && !isBehind && !range.isEmpty)
            return .page(
                FetchedPage(
                    content: named(state.names[range].filter { !state.hidden.contains($0) }),
                    total: state.total?(state.names, state.hidden) ?? .unknown,
                    next: hasNext ? PageCursor("\(range.upperBound)") : nil, hasMore: state.saysMore ? !isLast : nil))
        }
    }
}
