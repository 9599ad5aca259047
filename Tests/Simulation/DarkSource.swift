import PageModel
import PagedRepository
import Synchronization

/// A source that can be cut off from its origin.
///
/// State: whether it is cut off, and the number of requests since then, under a mutex.
final class DarkSource: RelayedSource {
    let source: any PageSource
    private let state = Mutex((isDark: false, requests: 0))

    init(_ source: any PageSource) { self.source = source }

    /// The number of requests while the source was cut off.
    var requests: Int { state.withLock(\.requests) }

    func cutOff() { state.withLock { $0 = (true, 0) } }

    func reconnect() { state.withLock { $0.isDark = false } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let isDark = state.withLock { state in
            if state.isDark { state.requests += 1 }
            return state.isDark
        }
        guard !isDark else { throw FetchFailure(.transport, "the origin is unreachable", isRetryable: true) }
        return try await source.fetch(request)
    }
}
