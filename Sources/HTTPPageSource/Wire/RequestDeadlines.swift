import Synchronization

/// Ends requests whose time is over, or whose bodies come too slowly (R43).
///
/// One task for all of them, which ends at its next look after the last of them: a timer for each would wake a thread
/// when it is set, and stay behind until its time when the answer has long been there.
///
/// State: who is under way, and when the task looks next, under a mutex.
final class RequestDeadlines: Sendable {
    private struct UnderWay {
        var request: ClockedRequest
        var end: @Sendable () -> Void
    }

    private struct State {
        var underWay: [Int: UnderWay] = [:]
        var entered = 0
        /// Nil when there is no task.
        var nextLook: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// Looks after a request from now on.
    /// - Parameter end: called when its time is over; then it has a verdict.
    /// - Returns: what to `leave` with.
    func enter(_ request: ClockedRequest, end: @escaping @Sendable () -> Void) -> Int {
        let look = request.look()
        let (number, isFirst) = state.withLock { state in
            state.entered += 1
            state.underWay[state.entered] = UnderWay(request: request, end: end)
            // All have the same limits: who comes later is looked at later, and the task need not be woken.
            let isFirst = state.nextLook == nil
            if isFirst { state.nextLook = look ?? .now }
            return (state.entered, isFirst)
        }
        if look == nil {
            leave(number)
            end()
        }
        if isFirst { Task.detached(priority: .medium) { [weak self] in await RequestDeadlines.watch { self } } }
        return number
    }

    func leave(_ number: Int) { state.withLock { $0.underWay[number] = nil } }

    private static func watch(_ deadlines: () -> RequestDeadlines?) async {
        while let moment = deadlines()?.look() {
            // Nobody cancels it: it ends with its last request, or with the transport.
            try? await Task.sleep(until: moment, clock: .continuous)
        }
    }

    /// When to look again; nil when nobody is under way.
    private func look() -> ContinuousClock.Instant? {
        let underWay = state.withLock { $0.underWay }
        var nextLook: ContinuousClock.Instant?
        for (number, entry) in underWay {
            guard let moment = entry.request.look() else {
                leave(number)
                entry.end()
                continue
            }
            nextLook = min(moment, nextLook ?? moment)
        }
        return state.withLock { state in
            // Who came meanwhile is looked at when they would have been, had they been there.
            state.nextLook = state.underWay.isEmpty ? nil : nextLook ?? .now
            return state.nextLook
        }
    }
}
