import Synchronization

/// The request limits of one origin, shared by all its users in a process: lists, runs and a `SyncEngine`.
///
/// The gate limits the requests in flight and the requests per second. When the origin sends `Retry-After`, the gate
/// holds back all requests to the origin. Requests are sent in the order in which they arrived at the gate.
///
/// ```swift
/// let gate = OriginGate(concurrency: 4, requestsPerSecond: 10)
/// let repository = ListRepository(storage: store, codec: codec) { key in gate.limiting(source(key)) }
/// let engine = SyncEngine(storage: store) { record in .init("https://example.org", source(record.key), gate: gate) }
/// ```
///
/// Waiting at the gate is neither an attempt nor a failure, and does not count towards the time limit of a request. A
/// waiting request that is cancelled leaves the line at once.
///
/// State, under a mutex: the line of waiting requests, the requests in flight, and the continuations of parked
/// requests. When a place is free, and only the rate or a pause delays the first request in line, that request sleeps
/// on the clock, in its own task. All others are parked.
public final class OriginGate: Sendable {
    private struct State {
        var line: RequestLine
        var parked: [RequestLine.Ticket: CheckedContinuation<Void, Never>] = [:]

        /// Removes and returns the continuation of the request whose turn it is, if it is parked.
        mutating func takeNext() -> CheckedContinuation<Void, Never>? {
            line.next.flatMap { parked.removeValue(forKey: $0) }
        }
    }

    private let clock: any SyncClock
    private let state: Mutex<State>

    /// Creates a gate. Values out of range are clamped to the nearest valid value, except for `requestsPerSecond`.
    ///
    /// - Parameters:
    ///   - concurrency: the maximum number of requests in flight at a time. At least 1. Defaults to 4. One call of
    ///     `PageSource.fetch` counts as one request.
    ///   - requestsPerSecond: the maximum number of requests per second in the long run, from 0.001 to 1,000. The
    ///     interval between two requests is rounded up to whole milliseconds. The initializer traps if the rate is 0,
    ///     negative or NaN, as such a rate admits no request. `nil` means no such limit. Defaults to nil.
    ///   - burst: how many requests may be sent at once after an idle period, from 1 to 1,000. Defaults to 1. Without
    ///     `requestsPerSecond` it has no effect.
    ///   - longestRetryAfterHold: the longest time for which `Retry-After` holds back all requests (R28, R29). A longer
    ///     `Retry-After` still applies in the ledger, to the failed page alone. At least 0. Defaults to 60 seconds.
    ///   - clock: the clock for waits. Defaults to the wall clock, which may be set back or forward. Such a jump never
    ///     lengthens a wait, and never lets the gate exceed `burst` (R29).
    public init(
        concurrency: Int = 4, requestsPerSecond: Double? = nil, burst: Int = 1,
        longestRetryAfterHold: Duration = .seconds(60),
        clock: any SyncClock = SystemClock()
    ) {
        precondition(requestsPerSecond ?? 1 > 0, "OriginGate.requestsPerSecond must be greater than 0")
        self.clock = clock
        let limits = RequestBudget.Limits(
            concurrency: concurrency, requestsPerSecond: requestsPerSecond, burst: burst,
            longestRetryAfterHold: longestRetryAfterHold)
        state = Mutex(State(line: RequestLine(limits)))
    }

    /// Returns a source that sends the same requests through this gate. Answers and errors pass through unchanged.
    ///
    /// A source that this gate already limits is returned as it is. Do not limit a source that wraps such a source.
    /// Each of its requests would enter the gate twice, and could wait for itself forever.
    ///
    /// When a task is cancelled while it waits at the gate, `fetch` throws `CancellationError` without a request to the
    /// origin.
    public func limiting(_ source: any PageSource) -> any PageSource {
        if let limited = source as? LimitedSource, limited.gate === self { return limited }
        return LimitedSource(source, gate: self)
    }

    /// The number of requests that wait for their turn.
    var waiting: Int { state.withLock { $0.line.count } }
    /// The number of requests that have started and not ended.
    var inFlight: Int { state.withLock { $0.line.inFlight } }

    // MARK: Coming and going

    /// Returns when the caller may send its request. The caller must call `leave` after the request.
    /// - Throws: `CancellationError` when the task is cancelled. The caller must not call `leave` then.
    func enter() async throws {
        let ticket = state.withLock { $0.line.join() }
        do {
            var hasWaited = false
            while true {
                // Cancellation is checked only before the turn is taken. A turn that was taken and not used would be
                // lost.
                try Task.checkCancellation()
                switch ask(ticket, hasWaited) {
                case .go:
                    return
                case .wait(let moment):
                    try await clock.sleep(until: moment)
                    hasWaited = true
                case .full:
                    await turn(of: ticket)
                    hasWaited = false
                }
            }
        } catch {
            change { $0.leave(ticket) }
            throw error
        }
    }

    /// Ends a request, whether it succeeded or failed.
    func leave() { change { $0.ended() } }

    /// Holds back all requests for `pause`, because the origin sent `Retry-After`.
    func quiet(for pause: Duration) { change { $0.quiet(for: pause, now: clock.now()) } }

    private func ask(_ ticket: RequestLine.Ticket, _ hasWaited: Bool) -> RequestBudget.Admission {
        change { $0.ask(ticket, now: clock.now(), hasWaited: hasWaited) }
    }

    /// Changes the line, and resumes the parked request whose turn it now is, if there is one.
    ///
    /// The clock is read under the mutex, so that timestamps arrive in order. An older timestamp would look like a
    /// clock that was set back.
    private func change<Value: Sendable>(_ body: (inout RequestLine) -> Value) -> Value {
        let (value, next) = state.withLock { state in
            let value = body(&state.line)
            return (value, state.takeNext())
        }
        next?.resume()
        return value
    }

    /// Returns when the request is first in line and a place is free, or when the task is cancelled.
    private func turn(of ticket: RequestLine.Ticket) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    // It may have become the request's turn since the last check. A later cancellation finds the
                    // continuation parked.
                    if state.line.next == ticket || Task.isCancelled { return true }
                    state.parked[ticket] = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.parked.removeValue(forKey: ticket) }
            waiter?.resume()
        }
    }
}
