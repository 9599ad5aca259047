import PageModel
import PagedRepository
import Synchronization

/// A source that refuses every request beyond a ration, so that an endless run ends with an error.
///
/// State: the rest of the ration, and whether a request was refused, under a mutex.
final class RationedSource: RelayedSource {
    private struct State {
        var left: Int
        var isSpent = false
    }

    let source: any PageSource
    private let state: Mutex<State>

    init(_ source: any PageSource, requests: Int) {
        self.source = source
        state = Mutex(State(left: requests))
    }

    /// Whether a request was refused since the last refill.
    var isSpent: Bool { state.withLock { $0.isSpent } }

    func refill(_ requests: Int) { state.withLock { $0 = State(left: requests) } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let isAllowed = state.withLock { state in
            state.left -= 1
            if state.left < 0 { state.isSpent = true }
            return state.left >= 0
        }
        guard isAllowed else { throw FetchFailure(.rejected, "the limit of requests is used up", isRetryable: false) }
        return try await source.fetch(request)
    }
}
