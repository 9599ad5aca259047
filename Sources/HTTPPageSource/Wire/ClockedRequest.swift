import PageModel
import Synchronization

/// The time that one request takes, and how its body comes along.
///
/// State: the pace, and what ended it before its answer did, under a mutex.
final class ClockedRequest: Sendable {
    private struct State {
        var pace: BodyPace
        var verdict: FetchFailure?
    }

    private let limits: HTTPLimits
    private let start = ContinuousClock.now
    private let state: Mutex<State>

    init(_ limits: HTTPLimits) {
        self.limits = limits
        state = Mutex(State(pace: BodyPace(limits)))
    }

    /// Why it was ended, if its time was over, or its body came too slowly.
    var verdict: FetchFailure? { state.withLock { $0.verdict } }

    /// The header has come.
    func begin() { state.withLock { $0.pace.begin(at: spent) } }
    func receive(_ count: Int) { state.withLock { $0.pace.receive(count) } }

    /// When to look again; nil when it has to end.
    func look() -> ContinuousClock.Instant? {
        let (spent, end) = (spent, limits.requestTimeout.bounded)
        return state.withLock { state in
            if spent >= end {
                state.verdict = FetchFailure(.timeout, "no whole answer within \(end)", isRetryable: true)
                return nil
            }
            switch state.pace.look(at: spent) {
            case .tooSlow:
                let least = "\(limits.minimumThroughput) bytes a second"
                state.verdict = FetchFailure(.timeout, "the answer comes too slowly, under \(least)", isRetryable: true)
                return nil
            case .lookAgain(let moment): return start + min(moment, end)
            case .never: return start + end
            }
        }
    }

    private var spent: Duration { ContinuousClock.now - start }
}

extension Duration {
    /// 1 millisecond…24 hours: no timer overflows.
    var bounded: Duration { min(max(self, .milliseconds(1)), .seconds(24 * 60 * 60)) }
}
