import Synchronization

/// Ends requests that take too long, or whose bodies arrive too slowly (R43).
///
/// One task serves all requests, and ends at its first look without a request. A timer for each request would wake a
/// thread when it is set. Such a timer would also stay set until its time, after the answer has arrived.
///
/// State, behind a mutex: the requests under way, and the time of the task's next look.
final class RequestDeadlines: Sendable {
    private struct UnderWay {
        var request: ClockedRequest
        var end: @Sendable () -> Void
    }

    private struct State {
        var underWay: [Int: UnderWay] = [:]
        var entered = 0
        /// `nil` means there is no task.
        var nextLook: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// Watches a request from now on.
    /// - Parameter end: called when the request has to end, because its time is over or its body is too slow. The
    ///   `failure` of the request is set before the call.
    /// - Returns: the number to pass to `leave`.
    func enter(_ request: ClockedRequest, end: @escaping @Sendable () -> Void) -> Int {
        let look = request.look()
        let (number, isFirst) = state.withLock { state in
            state.entered += 1
            state.underWay[state.entered] = UnderWay(request: request, end: end)
            // All requests have the same limits. A later request has a later look, so the task need not be woken.
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
            // The task is never cancelled. It ends with its last request, or with the transport.
            try? await Task.sleep(until: moment, clock: .continuous)
        }
    }

    /// Checks all requests, and returns the time of the next look. Returns nil when no request is under way.
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
            // A request that was entered during this look is checked at the next one, which is early enough.
            state.nextLook = state.underWay.isEmpty ? nil : nextLook ?? .now
            return state.nextLook
        }
    }
}
