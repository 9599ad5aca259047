import Synchronization

/// The limits of one origin, shared by everything in a process that talks to it: lists, runs, a `SyncEngine`.
///
/// At most so many requests are in flight at a time, and so many go each second. When an origin asks to be left alone
/// (`Retry-After`), everybody leaves it alone. Requests go in the order in which they came.
///
/// ```swift
/// let gate = OriginGate(concurrency: 4, requestsPerSecond: 10)
/// let repository = PagedRepository(storage: store, codec: codec) { key in gate.limiting(source(key)) }
/// let engine = SyncEngine(storage: store) { record in .init("https://example.org", source(record.key), gate: gate) }
/// ```
///
/// Waiting counts towards nothing but time: it is no attempt, no failure, and not part of the time that a request may
/// take. Who waits and is cancelled gives the place up at once.
///
/// State: who waits and who has gone, and the continuations of those who wait for somebody else; under a mutex. The
/// first in line sleeps on the clock when only time is missing, in its own task; nobody else does.
public final class OriginGate: Sendable {
    private struct State {
        var line: RequestLine
        var parked: [RequestLine.Ticket: CheckedContinuation<Void, Never>] = [:]

        /// The one whose turn it is, if it waits to hear of it.
        mutating func takeNext() -> CheckedContinuation<Void, Never>? {
            line.next.flatMap { parked.removeValue(forKey: $0) }
        }
    }

    private let clock: any SyncClock
    private let state: Mutex<State>

    /// What is out of range counts as the nearest that is not.
    ///
    /// - Parameters:
    ///   - concurrency: requests in flight at a time. 1…. Default: 4. What one `PageSource.fetch` asks is one request
    ///     here.
    ///   - requestsPerSecond: requests each second in the long run, 0.001…1,000; nil for no such limit. The time
    ///     between two is rounded up to whole milliseconds. Default: nil.
    ///   - burst: how many may go at once after a while without any. 1…1,000. Default: 1. Without `requestsPerSecond`
    ///     it says nothing.
    ///   - longestQuiet: nobody is held back for longer than this because an origin asked to be left alone (R28, R29).
    ///     What it asked for longer holds for the page that was asked for, in the ledger. 0…. Default: 60 seconds.
    ///   - clock: may be set back or forward: nobody waits longer for it, and no more than `burst` go at once (R29).
    public init(
        concurrency: Int = 4, requestsPerSecond: Double? = nil, burst: Int = 1, longestQuiet: Duration = .seconds(60),
        clock: any SyncClock = SystemClock()
    ) {
        self.clock = clock
        let limits = RequestBudget.Limits(
            concurrency: concurrency, requestsPerSecond: requestsPerSecond, burst: burst, longestQuiet: longestQuiet)
        state = Mutex(State(line: RequestLine(limits)))
    }

    /// The same source, whose requests wait for their turn here. What it answers and throws comes through as it is.
    ///
    /// A source that this gate limits already is returned as it is. One that hides such a source inside must not be
    /// limited again: its requests would wait for themselves.
    ///
    /// Cancelled while it waits, `fetch` throws `CancellationError`, and the origin is not asked.
    public func limiting(_ source: any PageSource) -> any PageSource {
        if let limited = source as? LimitedSource, limited.gate === self { return limited }
        return LimitedSource(source, gate: self)
    }

    /// How many wait for their turn.
    var waiting: Int { state.withLock { $0.line.count } }
    /// How many have gone, and not ended.
    var inFlight: Int { state.withLock { $0.line.inFlight } }

    // MARK: Coming and going

    /// Returns when it is the caller's turn. Whoever returns from here calls `leave`.
    /// - Throws: `CancellationError`; there is nothing to leave then.
    func enter() async throws {
        let ticket = state.withLock { $0.line.join() }
        do {
            var hasWaited = false
            while true {
                // Before the turn is taken, and never after it: a turn that was taken is used, or it would be lost.
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

    /// A request has ended, however.
    func leave() { change { $0.ended() } }

    /// The origin asks to be left alone: by everybody.
    func quiet(for pause: Duration) { change { $0.quiet(for: pause, now: clock.now()) } }

    private func ask(_ ticket: RequestLine.Ticket, _ hasWaited: Bool) -> RequestBudget.Verdict {
        change { $0.ask(ticket, now: clock.now(), hasWaited: hasWaited) }
    }

    /// Whatever happens may make it somebody's turn.
    ///
    /// The clock is read under the mutex, so that moments come in order: one that comes late would look like a clock
    /// that was set back.
    private func change<Value: Sendable>(_ body: (inout RequestLine) -> Value) -> Value {
        let (value, next) = state.withLock { state in
            let value = body(&state.line)
            return (value, state.takeNext())
        }
        next?.resume()
        return value
    }

    /// Returns when it is this one's turn to ask, or the task is cancelled.
    private func turn(of ticket: RequestLine.Ticket) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    // Its turn may have come since it asked; whoever is cancelled later finds it parked.
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
