import PageModel
import PagedRepositoryTesting
import Testing

@testable import PagedRepository

/// For calls that change what they are asked of, which `#expect` does not take.
private func equal<Value: Equatable>(
    _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, sourceLocation: sourceLocation)
}

private let start = Timestamp(milliseconds: 1_800_000_000_000)

private func after(_ milliseconds: Int64) -> Timestamp { start + .milliseconds(milliseconds) }

@Suite("What may go to an origin")
struct RequestBudgetTests {
    private func budget(
        _ concurrency: Int = 4, rate: Double? = nil, burst: Int = 1, longestQuiet: Duration = .seconds(60)
    ) -> RequestBudget {
        RequestBudget(
            RequestBudget.Limits(
                concurrency: concurrency, requestsPerSecond: rate, burst: burst, longestQuiet: longestQuiet))
    }

    /// How many go at this moment, one after the other.
    private func goes(_ budget: inout RequestBudget, at now: Timestamp) -> Int {
        var count = 0
        while budget.ask(now: now) == .go {
            count += 1
            budget.ended()
        }
        return count
    }

    @Test("so many in flight, and one more for each that ends")
    func concurrency() {
        var budget = budget(3)
        for _ in 0..<3 { equal(budget.ask(now: start), .go) }
        equal(budget.ask(now: start), .full)
        budget.ended()
        equal(budget.ask(now: start), .go)
        equal(budget.ask(now: after(3_600_000)), .full)
        #expect(budget.inFlight == 3)
    }

    @Test("limits that are none count as the nearest that are")
    func ranges() {
        let least = RequestBudget.Limits(concurrency: -1, requestsPerSecond: -2, burst: 0, longestQuiet: .seconds(-1))
        #expect(least == RequestBudget.Limits(concurrency: 1, requestsPerSecond: 0.001, burst: 1, longestQuiet: .zero))
        #expect(least.interval == .seconds(1_000))
        #expect(RequestBudget.Limits(concurrency: 1, requestsPerSecond: .nan).interval == .seconds(1_000))
        let most = RequestBudget.Limits(concurrency: .max, requestsPerSecond: .infinity, burst: .max)
        #expect(most.interval == .milliseconds(1))
        #expect(most.burst == 1_000)
        #expect(RequestBudget.Limits(concurrency: 1, requestsPerSecond: 3).interval == .milliseconds(334))
    }

    @Test(
        "a rate lets the burst go at once and then exactly so many a second",
        arguments: [(2.0, 1), (2.0, 3), (10.0, 1), (4.0, 20)])
    func rate(_ rate: Double, _ burst: Int) {
        var budget = budget(rate: rate, burst: burst)
        equal(goes(&budget, at: start), burst)
        var count = 0
        for milliseconds in 1...Int64(10_000) { count += goes(&budget, at: after(milliseconds)) }
        #expect(count == Int(rate * 10))
        // A long rest fills the bucket, and no more.
        equal(goes(&budget, at: after(3_600_000)), burst)
    }

    @Test("who comes too soon is told the moment, and goes then and not before")
    func moments() {
        var budget = budget(rate: 2)
        equal(budget.ask(now: start), .go)
        equal(budget.ask(now: after(100)), .wait(until: after(500)))
        equal(budget.ask(now: after(499)), .wait(until: after(500)))
        equal(budget.ask(now: after(500)), .go)
        equal(budget.ask(now: after(500)), .wait(until: after(1_000)))
    }

    @Test("who is told that it is full has spent nothing")
    func fullCostsNothing() {
        var budget = budget(1, rate: 2, burst: 2)
        equal(budget.ask(now: start), .go)
        for _ in 0..<9 { equal(budget.ask(now: start), .full) }
        budget.ended()
        equal(budget.ask(now: start), .go)
    }

    @Test("R29: a clock that jumps forward lets no more than the burst go", arguments: [1, 5])
    func forward(_ burst: Int) {
        var budget = budget(rate: 1, burst: burst)
        equal(goes(&budget, at: start), burst)
        equal(goes(&budget, at: after(86_400_000_000)), burst)
        equal(goes(&budget, at: Timestamp(milliseconds: .max)), burst)
    }

    @Test("R29: a clock that is set back gives nothing, and costs no more than what was left to wait")
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

    @Test("R29: who has waited goes, though the clock was set back meanwhile")
    func waited() {
        var budget = budget(rate: 2)
        equal(budget.ask(now: start), .go)
        budget.ended()
        equal(budget.ask(now: start), .wait(until: after(500)))
        equal(budget.ask(now: after(-3_600_000), hasWaited: true), .go)
        budget.ended()
        equal(budget.ask(now: after(-3_600_000)), .wait(until: after(-3_600_000 + 500)))
    }

    @Test("what the origin asks for while somebody waits is not over with that wait")
    func quietMeanwhile() {
        var budget = budget(rate: 2)
        equal(budget.ask(now: start), .go)
        equal(budget.ask(now: start), .wait(until: after(500)))
        budget.quiet(for: .seconds(10), now: after(200))
        equal(budget.ask(now: after(500), hasWaited: true), .wait(until: after(10_200)))
        equal(budget.ask(now: after(10_200), hasWaited: true), .go)
    }

    @Test("R28: an origin that asks for quiet is left alone; what it asked for before holds as well")
    func quiet() {
        var budget = budget()
        budget.quiet(for: .seconds(10), now: start)
        equal(budget.ask(now: start), .wait(until: after(10_000)))
        budget.quiet(for: .seconds(2), now: after(1_000))
        equal(budget.ask(now: after(9_999)), .wait(until: after(10_000)))
        equal(goes(&budget, at: after(9_999)), 0)
        for _ in 0..<4 { equal(budget.ask(now: after(10_000)), .go) }
    }

    @Test("R29: no origin can ask for more than the maximum, and no clock can make it more")
    func longestQuiet() {
        var budget = budget(longestQuiet: .seconds(60))
        budget.quiet(for: .seconds(Int64.max), now: start)
        equal(budget.ask(now: start), .wait(until: after(60_000)))
        equal(budget.ask(now: after(-86_400_000)), .wait(until: after(-86_400_000 + 60_000)))
        equal(budget.ask(now: after(-86_400_000), hasWaited: true), .go)
        budget.quiet(for: .seconds(-5), now: start)
        budget.quiet(for: .microseconds(900), now: start)
        // Less than a millisecond is nothing.
        equal(budget.ask(now: start), .go)
    }

    @Test(
        "R29: whatever a clock does, nobody waits longer than the longest wait, and no more go than time allows",
        arguments: 0..<50)
    func anyClock(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let (interval, burst, longestQuiet) = (Duration.milliseconds(250), 3, Duration.seconds(5))
        var budget = budget(2, rate: 4, burst: burst, longestQuiet: longestQuiet)
        var now = start
        var (gone, went) = (Duration.zero, 0)
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                now = now + .milliseconds(Int64.random(in: -10_000_000...0, using: &random))
            case 1:
                now = now + .seconds(600)
                // No more than a full bucket comes of it.
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
            case .wait(let moment): #expect(moment > now && moment - now <= longestQuiet)
            case .full: #expect(budget.inFlight == 2)
            }
            if budget.inFlight > 0, Bool.random(using: &random) { budget.ended() }
        }
        #expect(went > 0)
        #expect(interval * (went - burst) <= gone)
    }
}

@Suite("Who goes to an origin first")
struct RequestLineTests {
    private func line(_ concurrency: Int, rate: Double? = nil) -> RequestLine {
        RequestLine(RequestBudget.Limits(concurrency: concurrency, requestsPerSecond: rate))
    }

    @Test("first come, first served: who comes when there is room does not overtake those who wait")
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

    @Test("while the first waits for time, the others wait for the first")
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

    @Test("who leaves gives the place to the next, and takes no room along")
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
