import PageModel
import Synchronization

/// The elapsed time of one request, and the pace of its body.
///
/// State, behind a mutex: the pace, and the failure that ended the request before its answer.
final class ClockedRequest: Sendable {
    private struct State {
        var pace: BodyPace
        var failure: FetchFailure?
    }

    private let limits: HTTPLimits
    private let start = ContinuousClock.now
    private let state: Mutex<State>

    init(_ limits: HTTPLimits) {
        self.limits = limits
        state = Mutex(State(pace: BodyPace(limits)))
    }

    /// The reason for ending the request: no time was left, or the body was too slow. `nil` means that the request
    /// may continue.
    var failure: FetchFailure? { state.withLock { $0.failure } }

    /// Starts to measure the pace of the body. Call this when the header has arrived.
    func begin() { state.withLock { $0.pace.begin(at: spent) } }
    func receive(_ count: Int) { state.withLock { $0.pace.receive(count) } }

    /// Checks the time and the pace, and returns the time of the next check. Returns nil when the request has to end.
    func look() -> ContinuousClock.Instant? {
        let (spent, end) = (spent, limits.requestTimeout.bounded)
        return state.withLock { state in
            if spent >= end {
                state.failure = FetchFailure(.timeout, "no complete answer within \(end)", isRetryable: true)
                return nil
            }
            switch state.pace.look(at: spent) {
            case .tooSlow:
                let least = "\(limits.minimumThroughput) bytes a second"
                state.failure = FetchFailure(
                    .timeout, "the answer arrives too slowly, below \(least)", isRetryable: true)
                return nil
            case .lookAgain(let moment): return start + min(moment, end)
            case .never: return start + end
            }
        }
    }

    private var spent: Duration { ContinuousClock.now - start }
}

extension Duration {
    /// The duration, limited to the range from 1 millisecond to 24 hours, so that no timer overflows.
    var bounded: Duration { min(max(self, .milliseconds(1)), .seconds(24 * 60 * 60)) }
}
