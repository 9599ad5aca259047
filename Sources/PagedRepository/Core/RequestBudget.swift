import PageModel

/// Decides whether one more request may be sent to an origin now. It limits the requests in flight and the requests per
/// second, and holds all requests back during a pause that the origin requested.
///
/// The limit on requests per second is a token bucket. All state is remaining time, which decreases as a clock
/// advances. A clock that is set back changes nothing. A clock that is set forward gives at most a full bucket (R29).
struct RequestBudget: Equatable {
    struct Limits: Equatable {
        /// The maximum number of requests in flight.
        let concurrency: Int
        /// The interval between two requests in the long run, in whole milliseconds. `nil` means no such limit.
        let interval: Duration?
        /// The maximum number of requests that may be sent at once after an idle period.
        let burst: Int
        /// The longest pause that an origin can impose.
        let longestRetryAfterHold: Duration

        /// - Parameters:
        ///   - concurrency: the maximum number of requests in flight. A value below 1 counts as 1.
        ///   - requestsPerSecond: 0.001…1,000. Other values are clamped. `nil` means no limit.
        ///   - burst: 1…1,000. Other values are clamped.
        ///   - longestRetryAfterHold: at least 0. Defaults to 60 seconds.
        init(
            concurrency: Int, requestsPerSecond: Double? = nil, burst: Int = 1,
            longestRetryAfterHold: Duration = .seconds(60)
        ) {
            self.concurrency = max(1, concurrency)
            interval = requestsPerSecond.map { rate in
                // NaN counts as the smallest rate.
                let rate = rate > 0.001 ? min(rate, 1_000) : 0.001
                return .milliseconds(Int64((1_000 / rate).rounded(.up)))
            }
            self.burst = min(max(1, burst), 1_000)
            self.longestRetryAfterHold = max(.zero, longestRetryAfterHold)
        }
    }

    enum Admission: Equatable {
        /// The request is in flight now.
        case go
        /// The request must wait until this time.
        case wait(until: Timestamp)
        /// The request must wait until one in flight has ended.
        case full
    }

    private let limits: Limits
    private(set) var inFlight = 0
    /// The time until the bucket is full again, so that `burst` requests may be sent at once. Each request adds one
    /// interval.
    private var debt = Duration.zero
    /// The remaining pause that the origin requested.
    private var quiet = Duration.zero
    /// The remaining part of the last wait that was returned.
    private var promised = Duration.zero
    private var lastLookAt: Timestamp?

    init(_ limits: Limits) { self.limits = limits }

    var isFull: Bool { inFlight >= limits.concurrency }

    /// Asks whether a request may be sent now.
    /// - Parameters:
    ///   - now: the present time.
    ///   - hasWaited: whether the last returned wait is over. A completed wait counts, even if the clock was set back
    ///     in the meantime (R29). Defaults to false.
    mutating func ask(now: Timestamp, hasWaited: Bool = false) -> Admission {
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

    /// Ends a request, whether it succeeded or failed.
    mutating func ended() {
        precondition(inFlight > 0, "a request ended that was never sent")
        inFlight -= 1
    }

    /// Starts a pause that the origin requested. An earlier pause that ends later stays in force.
    mutating func quiet(for pause: Duration, now: Timestamp) {
        look(now)
        // Timestamps have whole milliseconds, so a shorter wait would be no wait.
        quiet = max(quiet, .milliseconds(min(pause, limits.longestRetryAfterHold).wholeMilliseconds))
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
