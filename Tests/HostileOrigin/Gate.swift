import Synchronization

/// Suspends its callers until it is opened. A gate replaces a pause in a script, so that no test sleeps.
///
/// State: whether the gate is open, and the waiting callers by number, under a mutex. No caller is resumed while the
/// mutex is locked.
public final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Opens the gate for all present and later callers.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Returns when the gate is open, or when the task is cancelled. The script of a closed connection therefore does
    /// not wait.
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
