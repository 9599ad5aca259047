import PageModel
import Testing

@testable import PagedRepository

@Suite("Pauses between the jobs of a list")
struct RunBackoffTests {
    private let now = Timestamp(milliseconds: 1_800_000_000_000)
    private var pacing = RunBackoff(base: .milliseconds(500), longest: .seconds(30), spread: .seconds(10))

    private func job(_ query: Int64 = 1, due: Duration = .zero) -> SyncScheduler.Job {
        SyncScheduler.Job(query: QueryID(rawValue: query), work: .refresh, dueAt: now + due)
    }

    @Test(
        "A complete run causes no pause, a partial run a short one, and suspended runs ever longer ones up to a limit"
    )
    func pauses() {
        var pacing = pacing
        pacing.ended(job(), .complete, now: now)
        #expect(pacing.start(of: job(), now: now) == now)
        pacing.ended(job(), .some, now: now)
        #expect(pacing.start(of: job(), now: now) == now + .milliseconds(500))
        var pauses: [Duration] = []
        for _ in 0..<40 {
            pacing.ended(job(), .nothing, now: now)
            pauses.append(pacing.start(of: job(), now: now) - now)
        }
        #expect(pauses.prefix(3) == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(pauses.last == .seconds(30))
        pacing.ended(job(), .some, now: now)
        #expect(pacing.start(of: job(), now: now) == now + .milliseconds(500), "a partial run resets the pause")
    }

    @Test("A job with the same due time that ran twice pauses, and other work of the list does not")
    func suspended() {
        var pacing = pacing
        pacing.ended(job(), .complete, now: now)
        #expect(pacing.suspension(of: job(), now: now) == nil)
        pacing.ended(job(), .complete, now: now)
        #expect(pacing.suspension(of: job(), now: now) == now + .seconds(30))
        #expect(pacing.suspension(of: job(due: .seconds(1)), now: now) == nil)
        #expect(pacing.suspension(of: job(), now: now + .seconds(30)) == nil)
    }

    @Test("A clock set back freezes no job (R29)")
    func clock() {
        var pacing = pacing
        for _ in 0..<2 { pacing.ended(job(), .nothing, now: now) }
        let yesterday = now + .seconds(-86_400)
        #expect(pacing.start(of: job(due: .seconds(-86_400)), now: yesterday) == yesterday)
        #expect(pacing.suspension(of: job(), now: yesterday) == nil)
    }

    @Test("Waiting jobs start when their origin is back, and removed lists are forgotten (R32)")
    func forgotten() {
        var pacing = pacing
        for query in [Int64(1), 2] { pacing.ended(job(query), .some, now: now) }
        pacing.keep({ $0.rawValue == 2 }, of: 1)
        #expect(pacing.start(of: job(1), now: now) == now)
        #expect(pacing.start(of: job(2), now: now) > now)
        pacing.endPauses()
        #expect(pacing.start(of: job(2), now: now) == now)
    }
}
