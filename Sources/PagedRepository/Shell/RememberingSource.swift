import PageModel
import Synchronization

/// A source that remembers the last error it threw, so that callers receive the original error in addition to the
/// failure in the ledger.
///
/// State, under a mutex: that error.
final class RememberingSource: RelayedSource {
    let source: any PageSource
    private let call: SourceCall
    private let thrown = Mutex<(any Error)?>(nil)

    /// - Parameter call: the list that calls the source.
    init(_ source: any PageSource, for call: SourceCall) {
        self.source = AbandonableSource.around(source)
        self.call = call
    }

    /// The last error, unless it was a `FetchFailure` or the caller's cancellation. `nil` after a success.
    var cause: (any Error)? { thrown.withLock { $0 } }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        do {
            let answer = try await call.during { try await source.fetch(request) }
            thrown.withLock { $0 = nil }
            return answer
        } catch {
            let isOurs = error is FetchFailure || error is CancellationError && Task.isCancelled
            thrown.withLock { $0 = isOurs ? nil : error }
            throw error
        }
    }
}
