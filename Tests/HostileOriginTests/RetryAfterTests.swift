#if Tool
import HostileOrigin
import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// The time at which an origin permits the next request (R28). It is respected up to a maximum, and retries never
/// become a storm.
@Suite("A hostile origin: Retry-After")
struct RetryAfterTests {
    @Test(
        "An invalid Retry-After is ignored, and a distant date is reduced to an hour", .timeLimit(.minutes(20)),
        arguments: [
            ("3", Duration.seconds(3)), ("3600", .seconds(3_600)), ("3601", .seconds(3_600)),
            ("2147483648", .seconds(3_600)),
            ("Thu, 31 Dec 2099 23:59:59 GMT", .seconds(3_600)), ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(3_600)),
            ("-5", .milliseconds(250)), ("soon", .milliseconds(250)), ("", .milliseconds(250)),
            ("1.5", .milliseconds(250)),
            ("Thu, 99 Dec 2099 23:59:59 GMT", .milliseconds(250)), ("tomorrow at noon", .milliseconds(250)),
        ] as [(String, Duration)])
    func pause(field: String, pause: Duration) async throws {
        for (status, failureClass) in [(429, FetchFailure.Class.throttled), (503, .server)] {
            try await HostileBench.run { bench in
                #expect(try await bench.sync().outcome == .complete)
                bench.clock.advance(by: .seconds(600))
                bench.origin.set("/list", .answer(.status(status, [("Retry-After", field)])))
                let before = bench.asked.count
                let report = try await bench.sync()
                #expect(bench.asked.count == before + 1)
                #expect(report.headFailure?.failureClass == failureClass && report.headFailure?.httpStatus == status)
                let entry = try #require(report.list?.failures.first)
                #expect(entry.state == .failedRetryable && entry.attempts == 1)
                #expect(entry.nextAttemptAt == bench.clock.now() + pause)
                try await bench.expectUnharmed(GoodList.all, report)
            }
        }
    }

    @Test(
        "An enormous Retry-After is reduced to an hour at most", .timeLimit(.minutes(20)),
        arguments: [
            "99999999999999999999", "9223372036854775807",
        ])
    func enormous(field: String) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            bench.origin.set("/list", .answer(.status(429, [("Retry-After", field)])))
            let report = try await bench.sync()
            let next = try #require(report.list?.failures.first?.nextAttemptAt)
            #expect(next > bench.clock.now() && next <= bench.clock.now() + .seconds(3_600))
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test(
        "A Retry-After of zero or in the past does not shorten the usual pause (RFC 9110, 10.2.3)",
        .timeLimit(.minutes(20)),
        arguments: [
            "0", "Sun, 06 Nov 1994 08:49:37 GMT",
        ])
    func atOnce(field: String) async throws {
        try await HostileBench.run { bench in
            #expect(try await bench.sync().outcome == .complete)
            bench.clock.advance(by: .seconds(600))
            bench.origin.set("/list", .answer(.status(503, [("Retry-After", field)])))
            let before = bench.asked.count
            let began = bench.clock.now()
            let report = try await bench.sync {
                $0.retry.attempts = 4
                $0.retryWaitBudget = .seconds(30)
            }
            #expect(bench.asked.count - before == 4)
            // The pauses are half of half a second, of one second and of two.
            #expect(bench.clock.slept == [.milliseconds(250), .milliseconds(500), .seconds(1)])
            #expect(bench.clock.now() - began == .milliseconds(1_750))
            let entry = try #require(report.list?.failures.first)
            #expect(entry.attempts == 4 && entry.nextAttemptAt == nil, "no further automatic attempt is scheduled")
            #expect(entry.state == .failedRetryable)
            #expect(report.headFailure?.httpStatus == 503)
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }

    @Test("A run waits for Retry-After exactly and then completes")
    func waited() async throws {
        try await HostileBench.run { bench in
            bench.origin.set("/list", .inTurn(.answer(.status(429, [("Retry-After", "7")])), GoodList.behaviour))
            let began = bench.clock.now()
            let report = try await bench.sync { $0.retryWaitBudget = .seconds(30) }
            #expect(report.outcome == .complete)
            #expect(bench.clock.now() == began + .seconds(7))
            #expect(bench.asked.count == 3)
            try await bench.expectUnharmed(GoodList.all, report)
        }
    }
}
#endif
