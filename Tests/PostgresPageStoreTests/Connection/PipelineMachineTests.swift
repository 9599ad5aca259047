#if PostgreSQL
import Testing

@testable import PostgresPageStore

/// The decisions of one connection, without a socket, a clock or chance.
@Suite("The pipeline machine")
struct PipelineMachineTests {
    typealias Machine = PipelineMachine

    private static let never = Duration.seconds(1_000_000)

    private func live() -> Machine {
        var machine = Machine()
        #expect(machine.connect(at: .zero) == [.connect])
        machine.connected()
        return machine
    }

    private func live(
        with requests: [(id: UInt64, kind: Machine.Kind, results: Int)], deadline: Duration = never
    ) -> Machine {
        var machine = live()
        for request in requests {
            let actions = machine.submit(
                request.id, request.kind, results: request.results, deadline: deadline, at: .zero)
            #expect(actions == [.send(request.id), .flush])
        }
        machine.flushed(isComplete: true)
        return machine
    }

    private func receive(
        _ machine: inout Machine, _ events: [Machine.ResultEvent], at now: Duration = .zero
    ) -> [Machine.Action] {
        events.flatMap { machine.received($0, at: now, jitter: 0) }
    }

    // MARK: Order and failures

    @Test("Requests complete in the order in which they were sent")
    func order() {
        var machine = live(with: [(1, .group, 2), (2, .group, 1), (3, .group, 0)])
        #expect(machine.load == 3 && machine.head == 1)
        #expect(receive(&machine, [.rows, .rows]) == [.keep(1), .keep(1)])
        #expect(receive(&machine, [.sync, .rows]) == [.complete(1, .rows), .keep(2)])
        #expect(receive(&machine, [.sync, .sync]) == [.complete(2, .rows), .complete(3, .rows)])
        #expect(machine.isDrained)
    }

    @Test("A failure aborts the rest of its own request only")
    func failure() {
        var machine = live(with: [(1, .group, 3), (2, .group, 1)])
        #expect(
            receive(&machine, [.rows, .failed(.other), .aborted, .sync, .rows, .sync]) == [
                .keep(1), .keep(1), .keep(1), .complete(1, .failed), .keep(2), .complete(2, .rows),
            ])
    }

    @Test("A failure of the commit comes after all results")
    func failureAtCommit() {
        var machine = live(with: [(1, .group, 1)])
        #expect(receive(&machine, [.rows, .failed(.other), .sync]).last == .complete(1, .failed))
    }

    @Test("A request whose named statement is outdated is sent again, a step of a transaction is not")
    func staleStatement() {
        var machine = live(with: [(1, .group, 1), (2, .step, 1)])
        #expect(receive(&machine, [.failed(.staleStatement), .sync]).last == .requeue(1))
        #expect(receive(&machine, [.failed(.staleStatement), .sync]).last == .complete(2, .failed))
    }

    @Test(
        "A message that the protocol does not allow ends the session",
        arguments: [[Machine.ResultEvent.sync], [.rows, .rows], [.unexpected], [.rows, .aborted]])
    func violation(events: [Machine.ResultEvent]) {
        var machine = live(with: [(1, .group, 1), (2, .group, 1)])
        let actions = receive(&machine, events)
        #expect(
            actions.suffix(3) == [
                .disconnect(.protocolViolation), .complete(1, .protocolViolation), .complete(2, .unknownOutcome),
            ])
        var idle = live()
        #expect(receive(&idle, [.rows]) == [.disconnect(.protocolViolation)])
    }

    @Test("A flush that is not complete waits for both directions")
    func flush() {
        var machine = live(with: [(1, .group, 1)])
        #expect(machine.interest == (true, false))
        machine.flushed(isComplete: false)
        #expect(machine.interest == (true, true))
    }

    // MARK: Deadlines and cancellation

    @Test("A deadline cancels the running request and reports that it changed nothing")
    func deadline() {
        var machine = live(with: [(1, .group, 1)], deadline: .seconds(1))
        #expect(machine.nextTimer == .seconds(1))
        #expect(machine.timePassed(.milliseconds(999), jitter: 0) == [])
        #expect(machine.timePassed(.seconds(1), jitter: 0) == [.cancel])
        #expect(!machine.isAccepting)
        let actions = receive(&machine, [.failed(.queryCanceled), .sync], at: .seconds(1))
        #expect(actions.last == .complete(1, .interrupted(.deadline, isOutcomeUnknown: false)))
        #expect(!machine.isAccepting, "the cancel request could hit the next request")
        #expect(machine.cancelReturned(at: .seconds(1)) == [])
        #expect(machine.isAccepting)
    }

    @Test("A request that completes although it was cancelled returns its rows")
    func lateSuccess() {
        var machine = live(with: [(1, .group, 1)])
        #expect(machine.interrupt(1, at: .zero) == [.cancel])
        #expect(machine.interrupt(1, at: .zero) == [])
        #expect(machine.cancelReturned(at: .zero) == [])
        #expect(receive(&machine, [.rows, .sync]) == [.keep(1), .complete(1, .rows)])
        #expect(machine.isAccepting)
    }

    @Test("An interrupted request without an answer is unknown after the grace, and its results are dropped")
    func grace() {
        var machine = live(with: [(1, .group, 1), (2, .step, 1)], deadline: .seconds(1))
        #expect(machine.timePassed(.seconds(1), jitter: 0) == [.cancel])
        #expect(
            machine.timePassed(.milliseconds(1_250), jitter: 0) == [
                .complete(1, .interrupted(.deadline, isOutcomeUnknown: true)),
                // A step changes nothing without a commit.
                .complete(2, .interrupted(.deadline, isOutcomeUnknown: false)),
            ])
        #expect(receive(&machine, [.rows, .sync, .rows, .sync]) == [])
        #expect(machine.load == 0)
    }

    @Test("A cancel request that is not answered loses the connection")
    func unansweredCancel() {
        var machine = live(with: [(1, .group, 1), (2, .group, 1)])
        #expect(machine.interrupt(1, at: .zero) == [.cancel])
        #expect(machine.cancelReturned(at: .zero) == [])
        _ = machine.timePassed(.seconds(1), jitter: 0)
        #expect(
            machine.timePassed(.seconds(5), jitter: 0) == [
                .disconnect(.cancelUnanswered), .complete(2, .unknownOutcome),
            ])
    }

    @Test("A request after another one is cancelled when it runs, after a short delay")
    func interruptedBehindAnother() {
        var machine = live(with: [(1, .group, 1), (2, .group, 1)])
        #expect(machine.interrupt(2, at: .zero) == [])
        #expect(receive(&machine, [.rows, .sync]) == [.keep(1), .complete(1, .rows)])
        #expect(machine.timePassed(.milliseconds(19), jitter: 0) == [])
        #expect(machine.timePassed(.milliseconds(60), jitter: 0) == [.cancel])
    }

    @Test("A request that a cancel request hits by mistake is sent again")
    func victim() {
        var machine = live(with: [(1, .group, 1), (2, .group, 1), (3, .step, 1)])
        #expect(machine.interrupt(1, at: .zero) == [.cancel])
        #expect(receive(&machine, [.rows, .sync]) == [.keep(1), .complete(1, .rows)])
        #expect(receive(&machine, [.failed(.queryCanceled), .sync]) == [.keep(2), .requeue(2)])
        #expect(receive(&machine, [.failed(.queryCanceled), .sync]) == [.keep(3), .complete(3, .failed)])
    }

    @Test("A statement timeout of the server is a failure")
    func statementTimeout() {
        var machine = live(with: [(1, .group, 1)])
        #expect(receive(&machine, [.failed(.queryCanceled), .sync]) == [.keep(1), .complete(1, .failed)])
    }

    @Test("A request that runs for long marks the connection as stalled")
    func stall() {
        var machine = live(with: [(1, .group, 1), (2, .group, 1)])
        #expect(!machine.isStalled(at: .milliseconds(19)) && machine.isStalled(at: .milliseconds(60)))
        _ = receive(&machine, [.rows, .sync], at: .milliseconds(60))
        #expect(!machine.isStalled(at: .milliseconds(39)))
    }

    // MARK: Loss

    @Test("After a broken connection the outcome of groups and commits is unknown, and later steps have no effect")
    func broken() {
        var machine = live(with: [(1, .group, 1), (2, .step, 1), (3, .commit, 2)])
        #expect(
            machine.lost(.broken, at: .zero, jitter: 0) == [
                .disconnect(.broken), .complete(1, .unknownOutcome), .complete(2, .unavailable),
                .complete(3, .unknownOutcome),
            ])
        #expect(machine.load == 0 && !machine.isLive)
    }

    @Test("A request whose sync is still in the send buffer had no effect")
    func notFlushed() {
        var machine = live(with: [(1, .group, 1), (2, .group, 1)])
        machine.flushed(isComplete: false)
        #expect(
            machine.lost(.broken, at: .zero, jitter: 0)
                == [.disconnect(.broken), .complete(1, .unknownOutcome), .requeue(2)])
    }

    @Test("A request that failed before the loss keeps its failure")
    func failedBeforeLoss() {
        var machine = live(with: [(1, .group, 2)])
        _ = receive(&machine, [.failed(.other)])
        #expect(machine.lost(.broken, at: .zero, jitter: 0) == [.disconnect(.broken), .complete(1, .failed)])
    }

    @Test("A shutdown of the server proves that all requests without their last result had no effect")
    func shutdown() {
        var machine = live(with: [(1, .group, 2), (2, .group, 1)])
        #expect(receive(&machine, [.rows, .fatal(isShutdown: true)]) == [.keep(1)])
        #expect(machine.lost(.broken, at: .zero, jitter: 0) == [.disconnect(.broken), .requeue(1), .requeue(2)])
        // All results are there, only the sync is missing: the commit may have happened.
        machine = live(with: [(1, .group, 1), (2, .group, 1)])
        _ = receive(&machine, [.rows, .fatal(isShutdown: true)])
        #expect(
            machine.lost(.broken, at: .zero, jitter: 0)
                == [.disconnect(.broken), .complete(1, .unknownOutcome), .requeue(2)])
        // The missing result may be that of the COMMIT.
        machine = live(with: [(1, .commit, 2)])
        _ = receive(&machine, [.rows, .fatal(isShutdown: true)])
        #expect(machine.lost(.broken, at: .zero, jitter: 0) == [.disconnect(.broken), .complete(1, .unknownOutcome)])
        // Another fatal error proves nothing: a pooler sends them, too.
        machine = live(with: [(1, .group, 1)])
        _ = receive(&machine, [.fatal(isShutdown: false)])
        #expect(machine.lost(.broken, at: .zero, jitter: 0) == [.disconnect(.broken), .complete(1, .unknownOutcome)])
    }

    @Test("An interrupted request that is lost reports its interruption")
    func interruptedLoss() {
        var machine = live(with: [(1, .group, 1), (2, .group, 1)])
        _ = machine.interrupt(1, at: .zero)
        machine.flushed(isComplete: false)
        _ = machine.interrupt(2, at: .zero)
        #expect(
            machine.lost(.broken, at: .zero, jitter: 0) == [
                .disconnect(.broken), .complete(1, .interrupted(.cancelled, isOutcomeUnknown: true)),
                .complete(2, .interrupted(.cancelled, isOutcomeUnknown: false)),
            ])
    }

    @Test("Events of other states change nothing")
    func racyEvents() {
        var machine = Machine()
        #expect(machine.lost(.broken, at: .zero, jitter: 0) == [])
        machine.connected()
        #expect(!machine.isLive && machine.interrupt(1, at: .zero) == [] && machine.cancelReturned(at: .zero) == [])
        #expect(machine.connect(at: .zero) == [.connect])
        #expect(machine.connect(at: .zero) == [])
        #expect(machine.lost(.broken, at: .zero, jitter: 0) == [] && machine.isConnecting)
        #expect(machine.close() == [])
        machine.connected()
        #expect(!machine.isLive && machine.connect(at: .zero) == [] && machine.close() == [])
    }

    @Test("Closing completes all requests")
    func closing() {
        var machine = live(with: [(1, .group, 1), (2, .step, 1), (3, .group, 1)])
        _ = machine.interrupt(3, at: .zero)
        _ = machine.timePassed(.seconds(1), jitter: 0)
        #expect(
            machine.close() == [
                .disconnect(nil), .complete(1, .closed(isOutcomeUnknown: true)),
                .complete(2, .closed(isOutcomeUnknown: false)),
            ])
        #expect(!machine.isLive)
    }

    // MARK: Reconnecting

    @Test("Attempts to connect back off, and a completed request ends the back-off")
    func backoff() {
        var machine = Machine()
        var now = Duration.zero
        for ceiling in [50, 100, 200, 400, 800, 1_600, 2_000, 2_000] {
            #expect(machine.connect(at: now) == [.connect])
            machine.connectFailed(at: now, jitter: 1)
            #expect(machine.earliestConnect == now + .milliseconds(ceiling))
            #expect(machine.connect(at: now + .milliseconds(ceiling - 1)) == [])
            now += .milliseconds(ceiling)
        }
        #expect(machine.connect(at: now) == [.connect])
        machine.connected()
        // A session that is lost before its first answer is a failure like the others.
        _ = machine.lost(.broken, at: now, jitter: 0.5)
        #expect(machine.earliestConnect == now + .seconds(1))
        now += .seconds(1)
        _ = machine.connect(at: now)
        machine.connected()
        _ = machine.submit(1, .group, results: 0, deadline: Self.never, at: now)
        _ = receive(&machine, [.sync], at: now)
        _ = machine.lost(.broken, at: now, jitter: 1)
        #expect(machine.earliestConnect == now + .milliseconds(50))
        // A session that ends because the server refused its request is a failure, too: a standby refuses each LISTEN.
        for ceiling in [100, 200, 400] {
            now += .seconds(1)
            #expect(machine.connect(at: now) == [.connect])
            machine.connected()
            _ = machine.submit(2, .group, results: 1, deadline: Self.never, at: now)
            _ = receive(&machine, [.failed(.other), .sync], at: now)
            _ = machine.lost(.broken, at: now, jitter: 1)
            #expect(machine.earliestConnect == now + .milliseconds(ceiling))
        }
    }

    @Test("Random lives complete each request exactly once", arguments: 0..<200)
    func randomLives(seed: UInt64) {
        var random = SplitMix(state: seed)
        var machine = live()
        var (open, next, now): (Set<UInt64>, UInt64, Duration) = ([], 0, .zero)
        func apply(_ actions: [Machine.Action]) {
            for action in actions {
                switch action {
                case .complete(let id, _), .requeue(let id):
                    #expect(open.remove(id) != nil, "request \(id) was completed twice")
                case .keep(let id): #expect(open.contains(id))
                case .connect, .send, .flush, .cancel, .disconnect: break
                }
            }
        }
        for _ in 0..<300 {
            now += .milliseconds(Int64.random(in: 0..<200, using: &random))
            switch Int.random(in: 0..<12, using: &random) {
            case 0...2 where machine.isAccepting:
                open.insert(next)
                let kind: Machine.Kind = [.group, .group, .step, .commit].randomElement(using: &random) ?? .group
                let deadline = now + .milliseconds(Int64.random(in: 0..<3_000, using: &random))
                apply(
                    machine.submit(next, kind, results: .random(in: 0...3, using: &random), deadline: deadline, at: now)
                )
                next += 1
            case 3...7:
                let events: [Machine.ResultEvent] = [
                    .rows, .rows, .failed(.other), .failed(.queryCanceled), .failed(.staleStatement), .aborted, .sync,
                    .sync,
                ]
                // A server that follows the protocol sends as many results as there are statements.
                var copy = machine
                let event = events.randomElement(using: &random) ?? .sync
                let isLegal = !copy.received(event, at: now, jitter: 0).contains(.disconnect(.protocolViolation))
                if isLegal { apply(machine.received(event, at: now, jitter: 0)) }
            case 8: apply(machine.timePassed(now, jitter: .random(in: 0...1, using: &random)))
            case 9: if let id = open.randomElement(using: &random) { apply(machine.interrupt(id, at: now)) }
            case 10: apply(machine.cancelReturned(at: now))
            case 11 where .random(in: 0..<5, using: &random) == 0:
                apply(machine.lost(.broken, at: now, jitter: 0))
                #expect(open.isEmpty)
                _ = machine.connect(at: now)
                machine.connected()
            default: machine.flushed(isComplete: .random(using: &random))
            }
            #expect(machine.load >= open.count)
        }
        apply(machine.close())
        #expect(open.isEmpty)
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }
}
#endif
