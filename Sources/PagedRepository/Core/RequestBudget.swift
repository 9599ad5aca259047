import PageModel

/// Whether one more request may go to an origin now: so many in flight, so many a second, none while the origin wants
/// quiet.
///
/// Everything is kept as time that is left, and counted down by what a clock says has gone by. A clock that is set back
/// takes nothing away and gives nothing; one that is set forward gives a full bucket, and no more (R29).
struct RequestBudget: Equatable {
    struct Limits: Equatable {
        /// Requests in flight at a time.
        let concurrency: Int
        /// The time between two requests in the long run, in whole milliseconds; nil when there is no such limit.
        let interval: Duration?
        /// How many may go at once after a while without any.
        let burst: Int
        /// No origin is left alone for longer than this, whatever it asks for.
        let longestQuiet: Duration

        /// - Parameters:
        ///   - concurrency: 1….
        ///   - requestsPerSecond: 0.001…1,000; nil for no limit.
        ///   - burst: 1…1,000.
        init(concurrency: Int, requestsPerSecond: Double? = nil, burst: Int = 1, longestQuiet: Duration = .seconds(60))
        {
            self.concurrency = max(1, concurrency)
            interval = requestsPerSecond.map { rate in
                // What is no number counts as the least.
                let rate = rate > 0.001 ? min(rate, 1_000) : 0.001
                return .milliseconds(Int64((1_000 / rate).rounded(.up)))
            }
            self.burst = min(max(1, burst), 1_000)
            self.longestQuiet = max(.zero, longestQuiet)
        }
    }

    enum Verdict: Equatable {
        /// It is in flight now.
        case go
        /// Not before this moment.
        case wait(until: Timestamp)
        /// Not before one of those in flight has ended.
        case full
    }

    private let limits: Limits
    private(set) var inFlight = 0
    /// How long the bucket takes to be full again: each request costs an interval.
    private var debt = Duration.zero
    /// How long the origin is still to be left alone.
    private var quiet = Duration.zero
    /// What is left of the wait that was told last.
    private var promised = Duration.zero
    private var lastLookAt: Timestamp?

    init(_ limits: Limits) { self.limits = limits }

    var isFull: Bool { inFlight >= limits.concurrency }

    /// - Parameter hasWaited: whether the wait that was told last is over. Whoever has waited has waited, even if the
    ///   clock was set back meanwhile (R29).
    mutating func ask(now: Timestamp, hasWaited: Bool = false) -> Verdict {
        look(now, atLeast: hasWaited ? promised : .zero)
        guard !isFull else { return .full }
        let pause = max(quiet, untilNextToken)
        guard pause <= .zero else {
            promised = pause
            return .wait(until: now + pause)
        }
        inFlight += 1
        debt += limits.interval ?? .zero
        return .go
    }

    /// A request has ended, however.
    mutating func ended() {
        precondition(inFlight > 0, "a request ended that never went")
        inFlight -= 1
    }

    /// The origin asks to be left alone for so long. What it asked for before holds as well.
    mutating func quiet(for pause: Duration, now: Timestamp) {
        look(now)
        // Moments have whole milliseconds: a wait for less than one would be none.
        quiet = max(quiet, .milliseconds(min(pause, limits.longestQuiet).wholeMilliseconds))
    }

    private var untilNextToken: Duration {
        guard let interval = limits.interval else { return .zero }
        return debt - interval * (limits.burst - 1)
    }

    private mutating func look(_ now: Timestamp, atLeast least: Duration = .zero) {
        let gone = max(least, lastLookAt.map { now - $0 } ?? .zero)
        lastLookAt = now
        debt = max(.zero, debt - gone)
        quiet = max(.zero, quiet - gone)
        promised = max(.zero, promised - gone)
    }
}
