import Synchronization

/// Waits for a number of others.
///
/// State: how many are missing, what they have to have seen, and who waits for them; under a mutex.
final class Countdown: Sendable {
    private struct State {
        var missing = 0
        var goal: Int64 = 0
        var waiter: CheckedContinuation<Void, Never>?

        /// Counts one arrival. Returns the waiting task if it was the last one.
        mutating func arrived() -> CheckedContinuation<Void, Never>? {
            guard missing > 0 else { return nil }
            missing -= 1
            guard missing == 0 else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Mutex(State())

    /// - Parameter goal: the smallest stamp that each of them must see.
    func expect(_ count: Int, toSee goal: Int64 = 0) {
        state.withLock { state in
            state.missing = count
            state.goal = goal
        }
    }

    /// One more has come.
    func arrived() { state.withLock { $0.arrived() }?.resume() }

    /// One of them sees `stamp`, and saw `last` before: it counts once, with the step over the goal.
    func saw(_ stamp: Int64, after last: Int64) {
        state.withLock { last < $0.goal && stamp >= $0.goal ? $0.arrived() : nil }?.resume()
    }

    /// Returns when all have come. One waits at a time.
    func all() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.missing > 0 { state.waiter = continuation }
                return state.missing == 0
            }
            if isOver { continuation.resume() }
        }
    }
}
