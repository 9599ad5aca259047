import Synchronization

/// Keeps whoever comes until it is opened: what takes the place of a pause in a script, so that no test sleeps.
///
/// State: whether it is open, and who waits, by number; under a mutex. Nobody is resumed while it is held.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Lets everybody through, from now on.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Returns when the gate is open, or when the task is cancelled: a connection that is gone waits for nothing.
    public func pass() async {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let goes = state.withLock { state in
                    if state.isOpen || Task.isCancelled { return true }
                    state.waiting[number] = waiter
                    return false
                }
                if goes { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
    }
}
