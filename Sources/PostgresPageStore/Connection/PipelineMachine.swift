#if PostgreSQL
/// The decisions of one connection in the pipeline mode of libpq
/// (https://www.postgresql.org/docs/15/libpq-pipeline-mode.html). A request is a group of statements that ends with a
/// sync; the server runs the statements between two syncs in one implicit transaction. Requests of several callers
/// share the connection. They complete in the order in which they were sent. A failed statement aborts the rest of its
/// own request.
///
/// The machine is a value without a clock, random numbers or sockets. Times are durations since a moment that the
/// caller chooses. The caller performs the returned actions in their order.
///
/// States and exits:
/// - disconnected → connecting (`connect`), closed (`close`)
/// - connecting → live (`connected`), disconnected (`connectFailed`), closed
/// - live → disconnected (`lost`), closed
struct PipelineMachine: Sendable {
    typealias RequestID = UInt64

    enum State: Sendable {
        case disconnected(ReconnectBackoff)
        case connecting(ReconnectBackoff)
        case live(Pipeline)
        case closed
    }

    /// The part of a transaction that a request carries.
    enum Kind: Hashable, Sendable {
        /// A whole implicit transaction. The machine requeues it when it certainly had no effect.
        case group
        /// A part of an explicit transaction. It has no effect without a later commit.
        case step
        /// The last part of an explicit transaction, with COMMIT as its last statement.
        case commit
    }

    /// A reason to end a request before the server completes it.
    enum Interruption: Hashable, Sendable { case deadline, cancelled }

    /// A message of the server, reduced to its effect on the pipeline.
    enum ResultEvent: Hashable, Sendable {
        case rows
        case failed(ServerFailure)
        /// The statement was skipped because an earlier one of its request failed.
        case aborted
        case sync
        /// The server ends the session. `isShutdown` means SQLSTATE 57P01: the server ran no statement after the
        /// current one.
        case fatal(isShutdown: Bool)
        case unexpected
    }

    enum ServerFailure: Hashable, Sendable {
        /// SQLSTATE 57014. A cancel request addresses a session, so it can hit the request after its target.
        case queryCanceled
        /// A named statement is missing or outdated.
        case staleStatement
        case other
    }

    enum Loss: Hashable, Sendable { case broken, protocolViolation, cancelUnanswered }

    enum Completion: Hashable, Sendable {
        case rows
        /// A statement failed. The caller has stored the error of the server.
        case failed
        case interrupted(Interruption, isOutcomeUnknown: Bool)
        case unavailable
        case unknownOutcome
        case protocolViolation
        case closed(isOutcomeUnknown: Bool)
    }

    enum Action: Hashable, Sendable {
        case connect
        /// Puts the statements and the sync of a request into the send buffer.
        case send(RequestID)
        case flush
        /// Stores the result that was just received.
        case keep(RequestID)
        case complete(RequestID, Completion)
        /// Sends the request again, on this or another connection.
        case requeue(RequestID)
        /// Sends a cancel request from a side thread, and calls `cancelReturned` after it.
        case cancel
        case disconnect(Loss?)
    }

    struct Limits: Hashable, Sendable {
        /// The time that an interrupted request waits for its true outcome.
        var grace = Duration.milliseconds(250)
        /// The time that an interrupted request may run before it is cancelled, if it was not running at its
        /// interruption.
        var cancelDelay = Duration.milliseconds(20)
        /// The time that a request runs before other requests avoid its connection.
        var stall = Duration.milliseconds(20)
        /// The time that a cancel request and its target may take before the connection counts as lost.
        var cancelLimit = Duration.seconds(5)
    }

    let limits: Limits
    private(set) var state: State

    init(limits: Limits = Limits()) {
        self.limits = limits
        state = .disconnected(ReconnectBackoff())
    }

    // MARK: Observations

    /// The number of requests that were sent and are not complete.
    var load: Int { if case .live(let pipeline) = state { pipeline.entries.count } else { 0 } }

    /// Whether a request may be sent now. False while a cancel request is pending, because it could hit the new
    /// request.
    var isAccepting: Bool { if case .live(let pipeline) = state { pipeline.cancel == nil } else { false } }

    var isLive: Bool { if case .live = state { true } else { false } }

    var isConnecting: Bool { if case .connecting = state { true } else { false } }

    /// Whether no request and no cancel request is under way.
    var isDrained: Bool {
        if case .live(let pipeline) = state { pipeline.entries.isEmpty && pipeline.cancel == nil } else { false }
    }

    /// Whether the first request has been running for so long that others should not be sent after it.
    func isStalled(at now: Duration) -> Bool {
        guard case .live(let pipeline) = state, !pipeline.entries.isEmpty else { return false }
        return now - pipeline.headSince >= limits.stall
    }

    /// The request whose results arrive next.
    var head: RequestID? { if case .live(let pipeline) = state { pipeline.entries.first?.id } else { nil } }

    /// The readiness of the socket to wait for. A pending flush waits for both reading and writing. If it waited for
    /// writing alone, the client and the server could each wait for the other one to read.
    var interest: (read: Bool, write: Bool) {
        if case .live(let pipeline) = state { (true, !pipeline.isFlushed) } else { (false, false) }
    }

    /// The earliest time of the next attempt to connect. `nil` in all states but `disconnected`.
    var earliestConnect: Duration? { if case .disconnected(let backoff) = state { backoff.earliest } else { nil } }

    /// The time at which to call `timePassed`. `nil` means that no call is needed.
    var nextTimer: Duration? { if case .live(let pipeline) = state { pipeline.nextTimer } else { nil } }

    // MARK: Connecting

    /// Begins an attempt to connect, if none is under way and the back-off has passed.
    mutating func connect(at now: Duration) -> [Action] {
        guard case .disconnected(let backoff) = state, backoff.earliest <= now else { return [] }
        state = .connecting(backoff)
        return [.connect]
    }

    mutating func connected() {
        guard case .connecting(let backoff) = state else { return }
        state = .live(Pipeline(limits: limits, backoff: backoff))
    }

    mutating func connectFailed(at now: Duration, jitter: Double) {
        guard case .connecting(var backoff) = state else { return }
        backoff.fail(at: now, jitter: jitter)
        state = .disconnected(backoff)
    }

    // MARK: Requests

    /// Sends a request. Call only while `isAccepting`.
    /// - Parameter results: the number of results before the sync.
    mutating func submit(
        _ id: RequestID, _ kind: Kind, results: Int, deadline: Duration, at now: Duration
    ) -> [Action] {
        withPipeline { pipeline in
            if pipeline.entries.isEmpty { pipeline.headSince = now }
            pipeline.entries.append(
                Entry(id: id, kind: kind, remaining: results, phase: .running(deadline: deadline)))
            pipeline.isFlushed = false
            return [.send(id), .flush]
        }
    }

    /// Records the outcome of a flush.
    mutating func flushed(isComplete: Bool) {
        _ = withPipeline { pipeline in
            pipeline.isFlushed = isComplete
            return []
        }
    }

    mutating func received(_ event: ResultEvent, at now: Duration, jitter: Double) -> [Action] {
        var violation = false
        let actions = withPipeline { pipeline in
            guard let actions = pipeline.received(event, at: now) else {
                violation = true
                return []
            }
            return actions
        }
        return violation ? lost(.protocolViolation, at: now, jitter: jitter) : actions
    }

    // MARK: Interruptions

    mutating func timePassed(_ now: Duration, jitter: Double) -> [Action] {
        var unanswered = false
        let actions = withPipeline { pipeline in
            unanswered = pipeline.cancel.map { $0.limit <= now } ?? false
            return unanswered ? [] : pipeline.timePassed(now)
        }
        return unanswered ? lost(.cancelUnanswered, at: now, jitter: jitter) : actions
    }

    /// Interrupts a request whose task was cancelled.
    mutating func interrupt(_ id: RequestID, at now: Duration) -> [Action] {
        withPipeline { $0.interrupt(id, .cancelled, at: now) }
    }

    /// Records that the side thread has delivered the cancel request or failed to deliver it.
    mutating func cancelReturned(at now: Duration) -> [Action] {
        withPipeline { $0.cancelReturned(at: now) }
    }

    // MARK: Ends

    /// Ends the session. Requests that certainly had no effect are requeued.
    mutating func lost(_ loss: Loss, at now: Duration, jitter: Double) -> [Action] {
        guard case .live(let pipeline) = state else { return [] }
        var backoff = pipeline.backoff
        backoff.fail(at: now, jitter: jitter)
        state = .disconnected(backoff)
        return [.disconnect(loss)] + pipeline.completionsAfterLoss(loss)
    }

    mutating func close() -> [Action] {
        defer { state = .closed }
        switch state {
        case .live(let pipeline):
            return [.disconnect(nil)]
                + pipeline.entries.compactMap { entry in
                    if case .abandoned = entry.phase { return nil }
                    return .complete(entry.id, .closed(isOutcomeUnknown: entry.kind != .step))
                }
        case .disconnected, .connecting, .closed:
            return []
        }
    }

    /// Changes the pipeline in place. The state does not refer to the pipeline meanwhile, so that its array is not
    /// copied.
    private mutating func withPipeline(_ body: (inout Pipeline) -> [Action]) -> [Action] {
        guard case .live(var pipeline) = state else { return [] }
        state = .closed
        defer { state = .live(pipeline) }
        return body(&pipeline)
    }
}
#endif
