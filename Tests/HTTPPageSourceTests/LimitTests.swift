#if HTTP
import PageModel
import Testing

@testable import HTTPPageSource

@Suite("Limits of the wire (R43)")
struct LimitTests {
    private func tally(_ change: (inout HTTPLimits) -> Void) -> AnswerTally {
        var limits = HTTPLimits()
        change(&limits)
        return AnswerTally(limits)
    }

    @Test("The limits have their documented defaults")
    func defaults() {
        let limits = HTTPLimits()
        #expect(limits.body == 32 << 20 && limits.decompressedBody == 64 << 20 && limits.header == 64 << 10)
        #expect(limits.connectTimeout == .seconds(10) && limits.requestTimeout == .seconds(60) && limits.redirects == 5)
    }

    @Test("A body may have as many bytes as the limit and not one more, in any number of pieces")
    func body() {
        var tally = tally { $0.body = 10 }
        #expect(tally.receive(4) == nil)
        #expect(tally.receive(6) == nil)
        let failure = tally.receive(1)
        #expect(failure?.message == "the body is larger than 10 bytes; request smaller pages")
        #expect(failure?.failureClass == .limitExceeded && failure?.isRetryable == false)
    }

    @Test("A decompressed body has a limit of its own")
    func decompressed() {
        var tally = tally {
            $0.body = 10; $0.decompressedBody = 20
        }
        #expect(tally.receive(10) == nil)
        #expect(tally.inflate(20) == nil)
        #expect(tally.inflate(1)?.message.hasPrefix("the decompressed body is larger than 20 bytes") == true)
    }

    @Test("A decompression bomb ends early: more than 200 times the received bytes, beyond one megabyte")
    func bomb() {
        var tally = tally { _ in }
        #expect(tally.receive(2_000) == nil)
        #expect(tally.inflate(1 << 20) == nil, "524 times the received bytes, but still below a megabyte")
        let failure = tally.inflate(1)
        #expect(failure?.message == "the body inflates more than 200 times")
        #expect(failure?.failureClass == .limitExceeded && failure?.isRetryable == false)
    }

    @Test("A body that compresses 200 times is not refused as a bomb")
    func wellCompressed() {
        var tally = tally { _ in }
        for _ in 0..<30 {
            #expect(tally.receive(10_000) == nil)
            #expect(tally.inflate(2_000_000) == nil)
        }
    }

    @Test("An inflation limit of zero counts as one, and the largest limits do not overflow")
    func extremes() {
        var strict = tally { $0.inflation = 0 }
        _ = strict.receive(2 << 20)
        #expect(strict.inflate(2 << 20) == nil)
        #expect(strict.inflate(1)?.failureClass == .limitExceeded)
        var lax = tally {
            $0.inflation = .max; $0.body = .max; $0.decompressedBody = .max
        }
        #expect(lax.receive(1 << 20) == nil && lax.inflate(1 << 40) == nil)
    }

    @Test("Headers that are too large, and bodies announced as too large, are refused")
    func header() {
        var limits = HTTPLimits()
        limits.header = 20
        limits.body = 100
        let small = [HTTPField("a", "b"), HTTPField("ccc", "dddd")]  // 6 + 11
        #expect(AnswerTally.refusal(ofHeader: small, announced: 100, limits) == nil)
        #expect(AnswerTally.refusal(ofHeader: small, announced: nil, limits) == nil)
        #expect(
            AnswerTally.refusal(ofHeader: small, announced: 101, limits)?.message.hasPrefix(
                "the body is larger than 100 bytes") == true)
        let large = AnswerTally.refusal(ofHeader: small + [HTTPField("", "")], announced: nil, limits)
        #expect(large?.message.contains("larger than 20 bytes") == true)
        #expect(large?.failureClass == .limitExceeded && large?.isRetryable == false)
    }
}

@Suite("The minimum throughput of a body (R43)")
struct BodyPaceTests {
    private func pace(_ least: Int = 1_024, _ window: Duration = .seconds(10)) -> BodyPace {
        var limits = HTTPLimits()
        limits.minimumThroughput = least
        limits.throughputWindow = window
        return BodyPace(limits)
    }

    @Test("The time before the header does not count for the throughput, because the deadline covers it")
    func beforeTheHeader() {
        var pace = pace()
        #expect(pace.look(at: .zero) == .lookAgain(at: .seconds(10)))
        #expect(pace.look(at: .seconds(10)) == .lookAgain(at: .seconds(20)))
        pace.begin(at: .seconds(15))
        #expect(pace.look(at: .seconds(20)) == .lookAgain(at: .seconds(25)))
    }

    @Test("A body of one byte per second is too slow after its first window")
    func drip() {
        var pace = pace()
        pace.begin(at: .seconds(1))
        for second in 1...10 {
            pace.receive(1)
            #expect(second == 10 || pace.look(at: .seconds(second)) == .lookAgain(at: .seconds(11)))
        }
        #expect(pace.look(at: .seconds(11)) == .tooSlow)
    }

    @Test("A body at the minimum throughput is fast enough, and one byte less is too slow")
    func edge() {
        var enough = pace()
        enough.begin(at: .zero)
        enough.receive(10_240)
        #expect(enough.look(at: .seconds(10)) == .lookAgain(at: .seconds(20)))
        var short = pace()
        short.begin(at: .zero)
        short.receive(10_239)
        #expect(short.look(at: .seconds(10)) == .tooSlow)
    }

    @Test("A fast start does not compensate for a body that then stalls")
    func standstill() {
        var pace = pace()
        pace.begin(at: .zero)
        pace.receive(10 << 20)
        #expect(pace.look(at: .seconds(10)) == .lookAgain(at: .seconds(20)))
        #expect(pace.look(at: .seconds(20)) == .tooSlow)
    }

    @Test("A late check expects proportionally more bytes")
    func late() {
        var pace = pace()
        pace.begin(at: .zero)
        pace.receive(15_000)
        #expect(pace.look(at: .seconds(20)) == .tooSlow)
    }

    @Test("A minimum of zero, or a window of zero, disables the limit")
    func off() {
        var none = pace(0)
        none.begin(at: .zero)
        #expect(none.look(at: .seconds(1_000)) == .never)
        var pointless = pace(1_024, .zero)
        #expect(pointless.look(at: .zero) == .never)
        var absurd = pace(.max)
        absurd.begin(at: .zero)
        #expect(absurd.look(at: .seconds(10)) == .tooSlow)
    }
}
#endif
