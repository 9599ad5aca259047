public import PageModel
public import PagedRepository
import Synchronization

/// A clock that stands still until somebody sleeps on it: then it is that late at once.
///
/// Tests that use it never wait, and can say how long the code under test would have.
public final class ManualClock: SyncClock {
    // Guarded by the mutex.
    private struct State {
        var moment: Timestamp
        var slept: [Duration] = []
    }

    private let state: Mutex<State>

    public init(_ start: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)) {
        state = Mutex(State(moment: start))
    }

    public func now() -> Timestamp { state.withLock { $0.moment } }

    /// Every sleep so far, in order.
    public var slept: [Duration] { state.withLock { $0.slept } }

    public func advance(by duration: Duration) { state.withLock { $0.moment = $0.moment + duration } }

    public func sleep(until moment: Timestamp) async throws {
        try Task.checkCancellation()
        // Whoever is waited for gets a turn.
        await Task.yield()
        state.withLock { state in
            guard moment > state.moment else { return }
            state.slept.append(moment - state.moment)
            state.moment = moment
        }
    }
}
