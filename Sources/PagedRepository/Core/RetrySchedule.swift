public import PageModel

/// When a failed page is tried again (R27, R28). Time and chance are arguments.
public struct RetrySchedule: Hashable, Sendable {
    /// Attempts before automatic triggers give up. Default: 8.
    public var attempts: Int
    /// The longest first pause; it doubles with each attempt. Default: 0.5 seconds.
    public var base: Duration
    /// No pause is longer. Default: 5 minutes.
    public var cap: Duration
    /// An origin that asks for a longer pause than this is asked again after this. Default: 1 hour.
    public var longestRetryAfter: Duration

    public init(
        attempts: Int = 8, base: Duration = .milliseconds(500), cap: Duration = .seconds(300),
        longestRetryAfter: Duration = .seconds(3600)
    ) {
        self.attempts = attempts
        self.base = base
        self.cap = cap
        self.longestRetryAfter = longestRetryAfter
    }

    /// The moment of the next attempt; nil when no automatic trigger should try again.
    /// - Parameters:
    ///   - attempt: number of the attempt that failed, from 1.
    ///   - chance: a random number in 0..<1; the pause is that share of the longest one ("full jitter").
    public func nextAttempt(after failure: FetchFailure, attempt: Int, now: Timestamp, chance: Double) -> Timestamp? {
        guard failure.isRetryable, attempt < attempts else { return nil }
        if let retryAfter = failure.retryAfter {
            return now + min(max(retryAfter, .zero), longestRetryAfter)
        }
        // Doubling 30 times is far beyond any cap; further would overflow.
        let longest = min(cap, base * (1 << min(max(attempt - 1, 0), 30)))
        return now + longest * chance
    }
}
