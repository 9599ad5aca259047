import PageModel
import Synchronization

/// A source that keeps what it threw last, so that callers get their own error and not only what the ledger says of it.
///
/// State: that error, under a mutex.
final class RememberingSource: RelayedSource {
    let source: any PageSource
    private let thrown = Mutex<(any Error)?>(nil)

    init(_ source: any PageSource) { self.source = source }

    /// The last error, if it was none of the engine's own kinds. Each success forgets it.
    var cause: (any Error)? { thrown.withLock { $0 } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        do {
            let answer = try await source.fetch(request)
            thrown.withLock { $0 = nil }
            return answer
        } catch {
            let isOurs = error is FetchFailure || error is CancellationError
            thrown.withLock { $0 = isOurs ? nil : error }
            throw error
        }
    }
}
