import PageModel
import Testing

@testable import PagedRepository

@Suite("Pauses between the jobs of a list")
struct RunBackoffTests {
    private let now = Timestamp(milliseconds: 1_800_000_000_000)
    private var backoff = RunBackoff(base: .milliseconds(500), longest: .seconds(30), spread: .seconds(10))

    private func job(_ query: Int64 = 1, due: Duration = .zero) -> SyncScheduler.Job {
        SyncScheduler.Job(query: QueryID(rawValue: query), work: .refresh, dueAt: now + due)
    }

    @Test(
        "A complete run causes no pause, a partial run a short one, and suspended runs ever longer ones up to a limit"
    )
    func pauses() {
        var backoff = backoff
        backoff.ended(job(), .complete, now: now)
        #expect(backoff.start(of: job(), now: now) == now)
        backoff.ended(job(), .some, now: now)
        #expect(backoff.start(of: job(), now: now) == now + .milliseconds(500))
        var pauses: [Duration] = []
        for _ in 0..<40 {
            backoff.ended(job(), .nothing, now: now)
            pauses.append(backoff.start(of: job(), now: now) - now)
        }
        #expect(pauses.prefix(3) == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(pauses.last == .seconds(30))
        backoff.ended(job(), .some, now: now)
        #expect(backoff.start(of: job(), now: now) == now + .milliseconds(500), "a partial run resets the pause")
    }

    @Test("A job with the same due time that ran twice pauses, and other work of the list does not")
    func suspended() {
        var backoff = backoff
        backoff.ended(job(), .complete, now: now)
        #expect(backoff.suspension(of: job(), now: now) == nil)
        backoff.ended(job(), .complete, now: now)
        #expect(backoff.suspension(of: job(), now: now) == now + .seconds(30))
        #expect(backoff.suspension(of: job(due: .seconds(1)), now: now) == nil)
        #expect(backoff.suspension(of: job(), now: now + .seconds(30)) == nil)
    }

    @Test("A clock set back freezes no job (R29)")
    func clock() {
        var backoff = backoff
        for _ in 0..<2 { backoff.ended(job(), .nothing, now: now) }
        let yesterday = now + .seconds(-86_400)
        #expect(backoff.start(of: job(due: .seconds(-86_400)), now: yesterday) == yesterday)
        #expect(backoff.suspension(of: job(), now: yesterday) == nil)
    }

    @Test("Waiting jobs start when their origin is back, and removed lists are forgotten (R32)")
    func forgotten() {
        var backoff = backoff
        for query in [Int64(1), 2] { backoff.ended(job(query), .some, now: now) }
        backoff.keep({ $0.rawValue == 2 }, of: 1)
        #expect(backoff.start(of: job(1), now: now) == now)
        #expect(backoff.start(of: job(2), now: now) > now)
        backoff.endPauses()
        #expect(backoff.start(of: job(2), now: now) == now)
    }
}
