import PageModel
import PagedRepositoryTesting
import Testing

@testable import PagedRepository

private let start = Timestamp(milliseconds: 1_800_000_000_000)

private func after(_ milliseconds: Int64) -> Timestamp { start + .milliseconds(milliseconds) }

@Suite("Request budget of an origin")
struct RequestBudgetTests {
    private func budget(
        _ concurrency: Int = 4, rate: Double? = nil, burst: Int = 1, longestRetryAfterHold: Duration = .seconds(60)
    ) -> RequestBudget {
        RequestBudget(
            RequestBudget.Limits(
                concurrency: concurrency, requestsPerSecond: rate, burst: burst,
                longestRetryAfterHold: longestRetryAfterHold))
    }

    /// Returns how many requests may start at this moment, one after the other.
    private func goes(_ budget: inout RequestBudget, at now: Timestamp) -> Int {
        var count = 0
        while budget.ask(now: now) == .go {
            count += 1
            budget.ended()
        }
        return count
    }

    @Test("The budget limits the requests in flight, and each request that ends makes room for another")
    func concurrency() {
        var budget = budget(3)
        for _ in 0..<3 { equal(budget.ask(now: start), .go) }
        equal(budget.ask(now: start), .full)
        budget.ended()
        equal(budget.ask(now: start), .go)
        equal(budget.ask(now: after(3_600_000)), .full)
        #expect(budget.inFlight == 3)
    }

    @Test("Limits out of range are clamped to the nearest valid value")
    func ranges() {
        let least = RequestBudget.Limits(
            concurrency: -1, requestsPerSecond: -2, burst: 0, longestRetryAfterHold: .seconds(-1))
        #expect(
            least
                == RequestBudget.Limits(
                    concurrency: 1, requestsPerSecond: 0.001, burst: 1, longestRetryAfterHold: .zero))
        #expect(least.interval == .seconds(1_000))
        #expect(RequestBudget.Limits(concurrency: 1, requestsPerSecond: .nan).interval == .seconds(1_000))
        let most = RequestBudget.Limits(concurrency: .max, requestsPerSecond: .infinity, burst: .max)
        #expect(most.interval == .milliseconds(1))
        #expect(most.burst == 1_000)
        #expect(RequestBudget.Limits(concurrency: 1, requestsPerSecond: 3).interval == .milliseconds(334))
    }

    @Test(
        "A rate admits the burst at once, and then exactly the given number of requests a second",
        arguments: [(2.0, 1), (2.0, 3), (10.0, 1), (4.0, 20)])
    func rate(_ rate: Double, _ burst: Int) {
        var budget = budget(rate: rate, burst: burst)
        equal(goes(&budget, at: start), burst)
        var count = 0
        for milliseconds in 1...Int64(10_000) { count += goes(&budget, at: after(milliseconds)) }
        #expect(count == Int(rate * 10))
        // A long pause refills the burst and no more.
        equal(goes(&budget, at: after(3_600_000)), burst)
    }

    @Test("A request that comes too early gets the moment at which it may start, and starts then and not before")
    func moments() {
        var budget = budget(rate: 2)
        equal(budget.ask(now: start), .go)
        equal(budget.ask(now: after(100)), .wait(until: after(500)))
        equal(budget.ask(now: after(499)), .wait(until: after(500)))
        equal(budget.ask(now: after(500)), .go)
        equal(budget.ask(now: after(500)), .wait(until: after(1_000)))
    }

    @Test("A request refused as full spends nothing of the rate")
    func fullCostsNothing() {
        var budget = budget(1, rate: 2, burst: 2)
        equal(budget.ask(now: start), .go)
        for _ in 0..<9 { equal(budget.ask(now: start), .full) }
        budget.ended()
        equal(budget.ask(now: start), .go)
    }

    @Test("A clock that jumps forward admits no more than the burst (R29)", arguments: [1, 5])
    func forward(_ burst: Int) {
        var budget = budget(rate: 1, burst: burst)
        equal(goes(&budget, at: start), burst)
        equal(goes(&budget, at: after(86_400_000_000)), burst)
        equal(goes(&budget, at: Timestamp(milliseconds: .max)), burst)
    }

    @Test("A clock set back admits no request, and adds no more than the remaining wait (R29)")
    func back() {
        var budget = budget(rate: 2)
        equal(budget.ask(now: start), .go)
        budget.ended()
        equal(budget.ask(now: after(200)), .wait(until: after(500)))
        equal(budget.ask(now: after(-3_600_000)), .wait(until: after(-3_600_000 + 300)))
        equal(budget.ask(now: after(-3_600_000 + 300)), .go)
        budget.ended()
        equal(budget.ask(now: Timestamp(milliseconds: .min)), .wait(until: Timestamp(milliseconds: .min + 500)))
    }

    @Test("A request that has waited starts, although the clock was set back meanwhile (R29)")
    func waited() {
        var budget = budget(rate: 2)
        equal(budget.ask(now: start), .go)
        budget.ended()
        equal(budget.ask(now: start), .wait(until: after(500)))
        equal(budget.ask(now: after(-3_600_000), hasWaited: true), .go)
        budget.ended()
        equal(budget.ask(now: after(-3_600_000)), .wait(until: after(-3_600_000 + 500)))
    }

    @Test("A pause that the origin requests during a wait continues after that wait")
    func quietMeanwhile() {
        var budget = budget(rate: 2)
        equal(budget.ask(now: start), .go)
        equal(budget.ask(now: start), .wait(until: after(500)))
        budget.quiet(for: .seconds(10), now: after(200))
        equal(budget.ask(now: after(500), hasWaited: true), .wait(until: after(10_200)))
        equal(budget.ask(now: after(10_200), hasWaited: true), .go)
    }

    @Test("A pause that the origin requests holds, and a later shorter one does not end it (R28)")
    func quiet() {
        var budget = budget()
        budget.quiet(for: .seconds(10), now: start)
        equal(budget.ask(now: start), .wait(until: after(10_000)))
        budget.quiet(for: .seconds(2), now: after(1_000))
        equal(budget.ask(now: after(9_999)), .wait(until: after(10_000)))
        equal(goes(&budget, at: after(9_999)), 0)
        for _ in 0..<4 { equal(budget.ask(now: after(10_000)), .go) }
    }

    @Test("A pause that the origin requests is capped at the maximum, and no clock change extends it (R29)")
    func longestRetryAfterHold() {
        var budget = budget(longestRetryAfterHold: .seconds(60))
        budget.quiet(for: .seconds(Int64.max), now: start)
        equal(budget.ask(now: start), .wait(until: after(60_000)))
        equal(budget.ask(now: after(-86_400_000)), .wait(until: after(-86_400_000 + 60_000)))
        equal(budget.ask(now: after(-86_400_000), hasWaited: true), .go)
        budget.quiet(for: .seconds(-5), now: start)
        budget.quiet(for: .microseconds(900), now: start)
        // A pause below a millisecond counts as zero.
        equal(budget.ask(now: start), .go)
    }

    @Test(
        "With any clock, no wait exceeds the longest wait, and no more requests start than the time allows (R29)",
        arguments: 0..<50)
    func anyClock(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let (interval, burst, longestRetryAfterHold) = (Duration.milliseconds(250), 3, Duration.seconds(5))
        var budget = budget(2, rate: 4, burst: burst, longestRetryAfterHold: longestRetryAfterHold)
        var now = start
        var (gone, went) = (Duration.zero, 0)
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                now = now + .milliseconds(Int64.random(in: -10_000_000...0, using: &random))
            case 1:
                now = now + .seconds(600)
                // The pause adds no more than a full burst.
                gone += interval * burst
            case 2:
                budget.quiet(for: .milliseconds(Int64.random(in: 0...90_000, using: &random)), now: now)
            default:
                let step = Duration.milliseconds(Int64.random(in: 0...200, using: &random))
                now = now + step
                gone += step
            }
            switch budget.ask(now: now) {
            case .go: went += 1
            case .wait(let moment): #expect(moment > now && moment - now <= longestRetryAfterHold)
            case .full: #expect(budget.inFlight == 2)
            }
            if budget.inFlight > 0, Bool.random(using: &random) { budget.ended() }
        }
        #expect(went > 0)
        #expect(interval * (went - burst) <= gone)
    }
}

@Suite("Request line of an origin")
struct RequestLineTests {
    private func line(_ concurrency: Int, rate: Double? = nil) -> RequestLine {
        RequestLine(RequestBudget.Limits(concurrency: concurrency, requestsPerSecond: rate))
    }

    @Test("Requests start in order of arrival, and a new request does not overtake the waiting ones")
    func order() {
        var line = line(1)
        let tickets = (0..<3).map { _ in line.join() }
        equal(line.ask(tickets[1], now: start), .full)
        equal(line.ask(tickets[0], now: start), .go)
        #expect(line.next == nil)
        line.ended()
        let late = line.join()
        equal(line.ask(late, now: start), .full)
        equal(line.ask(tickets[2], now: start), .full)
        #expect(line.next == tickets[1])
        equal(line.ask(tickets[1], now: start), .go)
        #expect(line.count == 2)
    }

    @Test("While the first request waits for the rate, the others wait for the first")
    func time() {
        var line = line(4, rate: 2)
        let tickets = (0..<3).map { _ in line.join() }
        equal(line.ask(tickets[0], now: start), .go)
        equal(line.ask(tickets[2], now: start), .full)
        equal(line.ask(tickets[1], now: start), .wait(until: after(500)))
        equal(line.ask(tickets[2], now: after(500)), .full)
        equal(line.ask(tickets[1], now: after(500)), .go)
        equal(line.ask(tickets[2], now: after(500)), .wait(until: after(1_000)))
    }

    @Test("A request that leaves the line gives its place to the next and takes no capacity along")
    func leaving() {
        var line = line(1)
        let tickets = (0..<4).map { _ in line.join() }
        line.leave(tickets[0])
        line.leave(tickets[2])
        #expect(line.next == tickets[1])
        equal(line.ask(tickets[1], now: start), .go)
        line.ended()
        #expect(line.next == tickets[3])
        equal(line.ask(tickets[0], now: start), .full)
        line.leave(tickets[0])
        line.leave(tickets[3])
        #expect(line.next == nil)
        #expect(line.count == 0 && line.inFlight == 0)
    }
}
