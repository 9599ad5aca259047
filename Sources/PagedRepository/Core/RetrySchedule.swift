public import PageModel

/// Decides when a failed page is retried (R27, R28): after its back-off, or after a longer pause that the origin
/// requests. Callers pass the time and a random number, so the same arguments give the same result.
public struct RetrySchedule: Hashable, Sendable {
    /// The number of consecutive attempts after which no further retry is scheduled. Background work then fetches a
    /// page of a pinned list, or page one of an observed list, once per `cap`. At least 1. Defaults to 8.
    public var attempts: Int
    /// The upper bound of the first pause. The bound doubles with each attempt up to `cap`, and each pause is a random
    /// share of its bound (full jitter). At least 0. Defaults to 0.5 seconds.
    public var base: Duration
    /// The longest pause that is not requested by the origin. At least 0. Defaults to 5 minutes.
    public var cap: Duration
    /// The longest pause that an origin can request. A longer one is cut to this. At least 0. Defaults to 1 hour.
    public var longestRetryAfter: Duration

    /// Creates a schedule.
    public init(
        attempts: Int = 8, base: Duration = .milliseconds(500), cap: Duration = .seconds(300),
        longestRetryAfter: Duration = .seconds(3600)
    ) {
        self.attempts = attempts
        self.base = base
        self.cap = cap
        self.longestRetryAfter = longestRetryAfter
    }

    /// Returns the time of the next attempt. Returns nil after a permanent failure, and when `attempts` attempts have
    /// failed.
    ///
    /// The origin's `Retry-After` can only lengthen the pause (RFC 9110, 10.2.3). A value of 0 or a past time would
    /// otherwise use up all attempts at once.
    /// - Parameters:
    ///   - failure: the failure of the attempt.
    ///   - attempt: the number of the failed attempt, from 1.
    ///   - now: the time of the failure.
    ///   - jitter: a random number in 0..<1. The back-off is this share of its upper bound (full jitter).
    public func nextAttempt(after failure: FetchFailure, attempt: Int, now: Timestamp, jitter: Double) -> Timestamp? {
        guard failure.isRetryable, attempt < attempts else { return nil }
        // Doubling 30 times is far beyond any cap. More doublings, and a base of more than 68 years, could overflow.
        let base = min(max(base, .zero), .seconds(1 << 31))
        let longest = min(max(cap, .zero), base * (1 << min(max(attempt - 1, 0), 30)))
        return max(now + longest * jitter, quiet(after: failure, now: now) ?? now)
    }

    /// Returns the time until which the origin wants no requests at all (R28). Returns nil when the origin did not
    /// request a pause. The back-off of one failing page does not count, because it concerns only that page.
    func quiet(after failure: FetchFailure, now: Timestamp) -> Timestamp? {
        failure.retryAfter.map { now + min(max($0, .zero), longestRetryAfter) }
    }
}
