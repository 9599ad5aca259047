import PageModel
import Synchronization

/// A source that keeps the last error it threw. Callers thus receive the original error, in addition to the failure in
/// the ledger.
///
/// State: that error, under a mutex.
final class RememberingSource: RelayedSource {
    let source: any PageSource
    private let thrown = Mutex<(any Error)?>(nil)

    init(_ source: any PageSource) { self.source = source }

    /// The last error, unless it was a `FetchFailure` or a cancellation. `nil` after a success.
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
