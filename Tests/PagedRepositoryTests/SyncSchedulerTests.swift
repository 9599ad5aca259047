import PageModel
import Testing

@testable import PagedRepository

@Suite("SyncScheduler of background work")
struct SyncSchedulerTests {
    private let now = Timestamp(milliseconds: 1_800_000_000_000)
    private let scheduler = SyncScheduler(
        rules: SyncScheduler.Rules(freshness: FreshnessPolicy(), longestPause: .seconds(3_600)))

    private func list(
        validated age: Duration?, isPinned: Bool = false, isComplete: Bool = true, isSweeping: Bool = false,
        failure: LedgerEntry? = nil
    ) -> SyncScheduler.List {
        SyncScheduler.List(
            query: QueryID(rawValue: 1), isPinned: isPinned, validatedAt: age.map { now + (.zero - $0) },
            isComplete: isComplete,
            isSweeping: isSweeping, headFailure: failure)
    }

    private func failing(_ next: Timestamp?) -> LedgerEntry {
        LedgerEntry(offset: 0, state: next == nil ? .failedPermanent : .failedRetryable, nextAttemptAt: next)
    }

    @Test("A list never fetched is due now, a fresh list when it goes stale, and a stale list now")
    func freshness() {
        #expect(scheduler.job(for: list(validated: nil), now: now)?.dueAt == now)
        #expect(scheduler.job(for: list(validated: .seconds(10)), now: now)?.dueAt == now + .seconds(50))
        #expect(scheduler.job(for: list(validated: .seconds(61)), now: now)?.dueAt == now)
        #expect(scheduler.job(for: list(validated: .seconds(-5)), now: now)?.dueAt == now, "a clock that was set back")
    }

    @Test("An observed list is refreshed, a pinned list is completed, and an interrupted sweep is resumed")
    func work() {
        #expect(scheduler.job(for: list(validated: .seconds(61)), now: now)?.work == .refresh)
        #expect(scheduler.job(for: list(validated: .seconds(61), isPinned: true), now: now)?.work == .everything)
        #expect(
            scheduler.job(for: list(validated: nil, isPinned: true, isComplete: false), now: now)?.work == .everything)
        // Missing positions are due at once, whatever the age of page one.
        let part = list(validated: .seconds(1), isPinned: true, isComplete: false)
        #expect(scheduler.completion(of: part)?.work == .positions(0..<Int.max))
        #expect(scheduler.completion(of: part).map { $0.dueAt <= now } == true)
        #expect(scheduler.completion(of: list(validated: .seconds(1), isPinned: true)) == nil)
        #expect(scheduler.completion(of: list(validated: .seconds(1), isComplete: false)) == nil)
        #expect(scheduler.job(for: list(validated: .seconds(61), isSweeping: true), now: now)?.work == .sweep)
    }

    @Test("A sweep waits for the retry of the page at which it stopped, and the list is refreshed meanwhile (R33)")
    func sweepFailure() {
        var sweeping = list(validated: .seconds(61), isSweeping: true)
        sweeping.sweepFailure = failing(now + .seconds(7))
        #expect(scheduler.job(for: sweeping, now: now)?.work == .refresh)
        #expect(scheduler.jobs(for: sweeping, now: now).map(\.work) == [.refresh, .sweep])
        #expect(scheduler.jobs(for: sweeping, now: now).last?.dueAt == now + .seconds(7))
        #expect(scheduler.job(for: sweeping, now: now + .seconds(7))?.work == .sweep)
        sweeping.sweepFailure = failing(nil)
        #expect(scheduler.jobs(for: sweeping, now: now + .seconds(7_200)).map(\.work) == [.refresh], "permanent")
        sweeping.sweepFailure = LedgerEntry(offset: 50, state: .failedRetryable, lastAttemptAt: now)
        #expect(scheduler.job(for: sweeping, now: now + .seconds(299))?.work == .refresh)
        #expect(scheduler.job(for: sweeping, now: now + .seconds(300))?.work == .sweep, "all attempts were used up")
    }

    @Test("A failed page one is due at its retry time, and a permanent failure is never due (R33)")
    func failures() {
        let waiting = scheduler.job(for: list(validated: .seconds(100), failure: failing(now + .seconds(7))), now: now)
        #expect(waiting?.dueAt == now + .seconds(7))
        #expect(scheduler.job(for: list(validated: nil, failure: failing(nil)), now: now) == nil)
    }

    @Test("A retry scheduled further ahead than any pause allows is due now (R29)")
    func clockJump() {
        func dueAt(_ seconds: Int, isAsked: Bool) -> Timestamp? {
            var entry = failing(now + .seconds(seconds))
            if isAsked { entry.retryAfterUntil = entry.nextAttemptAt }
            return scheduler.job(for: DueFetch(query: QueryID(rawValue: 1), entry: entry), now: now)?.dueAt
        }
        // An origin may request a pause of an hour. The engine's own back-off is at most five minutes.
        #expect(dueAt(3_601, isAsked: true) == now)
        #expect(dueAt(3_600, isAsked: true) == now + .seconds(3_600))
        #expect(dueAt(301, isAsked: false) == now)
        #expect(dueAt(300, isAsked: false) == now + .seconds(300))
    }

    @Test("The scheduler keeps the soonest job of each list and sorts the jobs by due time")
    func soonest() {
        func job(_ query: Int64, _ seconds: Int) -> SyncScheduler.Job {
            SyncScheduler.Job(query: QueryID(rawValue: query), work: .refresh, dueAt: now + .seconds(seconds))
        }
        #expect(SyncScheduler.soonest([job(1, 9), job(2, 5), job(1, 3), job(2, 7)]) == [job(1, 3), job(2, 5)])
    }
}

@Suite("CircuitBreaker of an origin")
struct CircuitBreakerTests {
    private let now = Timestamp(milliseconds: 1_800_000_000_000)

    @Test("The circuit opens after five transport failures in a row, then lets one probe through at a time (R32)")
    func opens() {
        var circuit = CircuitBreaker(threshold: 5, pause: .seconds(30))
        for _ in 0..<4 { circuit.recordFailure(now: now) }
        equal(circuit.permission(now: now), .go)
        circuit.recordFailure(now: now)
        equal(circuit.permission(now: now), .wait(until: now + .seconds(30)))
        equal(circuit.permission(now: now + .seconds(30)), .probe)
        equal(circuit.permission(now: now + .seconds(30)), .wait(until: now + .seconds(60)))
        circuit.recordFailure(now: now + .seconds(31))
        equal(circuit.permission(now: now + .seconds(40)), .wait(until: now + .seconds(61)))
        equal(circuit.permission(now: now + .seconds(61)), .probe)
        equal(circuit.recordSuccess(), true)
        equal(circuit.permission(now: now + .seconds(61)), .go)
        equal(circuit.recordSuccess(), false)
    }

    @Test("An answer resets the circuit's count of failures")
    func heard() {
        var circuit = CircuitBreaker(threshold: 2, pause: .seconds(30))
        for _ in 0..<10 {
            circuit.recordFailure(now: now)
            _ = circuit.recordSuccess()
        }
        #expect(circuit.isClosed)
    }

    @Test("The circuit is restored as open after a restart; a clock set back does not keep it open")
    func restored() {
        var circuit = CircuitBreaker(threshold: 5, pause: .seconds(30), failures: 6, lastFailureAt: now)
        equal(circuit.permission(now: now + .seconds(1)), .wait(until: now + .seconds(30)))
        equal(circuit.permission(now: now + .seconds(-5)), .probe)
    }
}

@Suite("State machine of a list")
struct ListMachineTests {
    private let failure = ListFailure(.next, FetchFailure(.transport, "away", isRetryable: true))

    private func loaded(_ machine: inout ListMachine, isAtEnd: Bool = false) {
        _ = machine.setContent(ListMachine.Content(isLoaded: true, isAtEnd: isAtEnd))
    }

    @Test("The next page of an empty list is page one, and both calls share one load (R34)")
    func first() {
        var machine = ListMachine(gate: .never)
        equal(machine.next(), .start(.refresh, ticket: 1, superseding: nil))
        equal(machine.refresh(), .join(ticket: 1))
        equal(machine.next(), .join(ticket: 1))
    }

    @Test("A refresh supersedes a next page, and the list ignores the superseded result (R36)")
    func supersedes() {
        var machine = ListMachine(gate: .never)
        loaded(&machine)
        equal(machine.next(), .start(.next, ticket: 1, superseding: nil))
        equal(machine.next(), .join(ticket: 1))
        equal(machine.refresh(), .start(.refresh, ticket: 2, superseding: 1))
        equal(machine.next(), .wait(ticket: 2))
        equal(machine.nextAutomatically(now: Timestamp(milliseconds: 0)), .finished(.superseded))
        equal(machine.ended(1, failure: failure), false)
        #expect(machine.failure == nil)
        equal(machine.ended(2, failure: nil), true)
        #expect(machine.work == nil)
    }

    @Test("The failure of a prefetch is silent, unless a call has joined the prefetch (X13)", arguments: [false, true])
    func joinsPrefetch(isJoined: Bool) {
        var machine = ListMachine(gate: .never)
        loaded(&machine)
        equal(
            machine.nextAutomatically(now: Timestamp(milliseconds: 0)), .start(.next, ticket: 1, superseding: nil))
        if isJoined { equal(machine.next(), .join(ticket: 1)) }
        equal(machine.nextAutomatically(now: Timestamp(milliseconds: 0)), .join(ticket: 1))
        equal(machine.ended(1, failure: failure), true)
        #expect(machine.failure == (isJoined ? failure : nil))
        #expect(machine.retriesNextPage)
    }

    @Test("A retry requests the page whose failure is shown, also if another writer has recorded it (R37)")
    func retriesElsewhere() {
        var machine = ListMachine(gate: .never)
        loaded(&machine)
        machine.failedElsewhere(failure)
        #expect(machine.shownFailure == failure && machine.retriesNextPage)
        machine.failedElsewhere(ListFailure(.refresh, failure.failure))
        #expect(machine.shownFailure?.kind == .refresh && !machine.retriesNextPage)
        machine.failedElsewhere(nil)
        #expect(!machine.retriesNextPage)
    }

    @Test("The list reports its end once for each arrival there (R38)")
    func end() {
        var machine = ListMachine(gate: .never)
        equal(machine.setContent(ListMachine.Content(isLoaded: true, isAtEnd: true)), true)
        equal(machine.setContent(ListMachine.Content(isLoaded: true, isAtEnd: true)), false)
        equal(machine.next(), .finished(.endReached))
        equal(machine.setContent(ListMachine.Content(isLoaded: true, isAtEnd: false)), false)
        equal(machine.setContent(ListMachine.Content(isLoaded: true, isAtEnd: true)), true)
        _ = machine.reset()
        equal(machine.setContent(ListMachine.Content(isLoaded: true, isAtEnd: true)), true)
    }
}
