import PageModel
import Testing

@testable import PagedRepository

@Suite("Retry-After only lengthens a pause (R28; RFC 9110, 10.2.3)")
struct RetryPauseTests {
    private let noon = Timestamp(milliseconds: 1_800_000_000_000)

    private func pause(_ retryAfter: Duration?, attempt: Int, jitter: Double = 0.5) throws -> Duration {
        let failure = FetchFailure.status(503, retryAfter: retryAfter)
        return try #require(RetrySchedule().nextAttempt(after: failure, attempt: attempt, now: noon, jitter: jitter))
            - noon
    }

    @Test("A Retry-After of zero or in the past leaves all pauses of a run unchanged", arguments: 1...7)
    func floor(attempt: Int) throws {
        let own = try pause(nil, attempt: attempt)
        #expect(own > .zero)
        for asked in [Duration.zero, .milliseconds(1), .seconds(-30)] {
            #expect(try pause(asked, attempt: attempt) == own)
        }
    }

    @Test(
        "The pause is the longer one of the schedule's own pause and a Retry-After of up to an hour"
    )
    func larger() throws {
        for attempt in 1...7 {
            for chance in [0, 0.1, 0.5, 0.999] {
                for asked in [0, 1, 2, 10, 60, 3_600, 3_601, 1 << 31] {
                    let own = try pause(nil, attempt: attempt, jitter: chance)
                    let kept = min(Duration.seconds(asked), .seconds(3_600))
                    #expect(try pause(.seconds(asked), attempt: attempt, jitter: chance) == max(own, kept))
                }
            }
        }
    }

    private let bad = FetchTarget.range(0..<5, overlap: 0)
    private let good = FetchTarget.range(5..<10, overlap: 0)

    /// Returns a queue of two pages with a concurrency of one. The first page has just failed.
    private func queue(retryWaitBudget: Duration, failedWith failure: FetchFailure, nextAttemptAt: Timestamp?)
        -> FetchQueue
    {
        var queue = FetchQueue(
            .init(concurrency: 1, transportFailures: 3, retryWaitBudget: retryWaitBudget, budget: nil))
        queue.add([bad, good])
        #expect(queue.next(now: noon) == .fetch(bad))
        queue.failed(
            bad, failure, nextAttemptAt: nextAttemptAt, quiet: RetrySchedule().quiet(after: failure, now: noon))
        return queue
    }

    @Test("A failed page waits for its own retry time, and the other pages wait only for Retry-After")
    func others() {
        var queue = queue(
            retryWaitBudget: .seconds(60), failedWith: .status(503, retryAfter: .seconds(2)),
            nextAttemptAt: noon + .seconds(30))
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(2)))
        #expect(queue.next(now: noon + .seconds(2)) == .fetch(good))
        queue.completed(good)
        #expect(queue.next(now: noon + .seconds(3)) == .sleep(until: noon + .seconds(30)))
        #expect(queue.next(now: noon + .seconds(30)) == .fetch(bad))
    }

    @Test("Without a wait budget, a failed page with Retry-After 0 does not end a run that has other pages to fetch")
    func impatient() {
        var queue = queue(
            retryWaitBudget: .zero, failedWith: .status(503, retryAfter: .zero), nextAttemptAt: noon + .seconds(1))
        #expect(queue.next(now: noon) == .fetch(good))
        queue.completed(good)
        #expect(queue.next(now: noon) == .finish(.retryLater(noon + .seconds(1))))
    }

    @Test("A pause that the origin requests also holds when the page that received it is abandoned")
    func abandoned() {
        var queue = queue(
            retryWaitBudget: .seconds(60), failedWith: .status(429, retryAfter: .seconds(9)), nextAttemptAt: nil)
        #expect(queue.next(now: noon) == .sleep(until: noon + .seconds(9)))
        #expect(queue.next(now: noon + .seconds(9)) == .fetch(good))
    }
}
