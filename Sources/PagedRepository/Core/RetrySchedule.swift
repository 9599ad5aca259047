public import PageModel

/// When a failed page is tried again (R27, R28): after a pause of our own, or a longer one that the origin asks for.
/// Time and chance are arguments.
public struct RetrySchedule: Hashable, Sendable {
    /// Attempts before automatic triggers give up. 1…. Default: 8.
    public var attempts: Int
    /// The longest first pause; it doubles with each attempt. 0…. Default: 0.5 seconds.
    public var base: Duration
    /// No pause of our own is longer. 0…. Default: 5 minutes.
    public var cap: Duration
    /// An origin that asks for a longer pause than this is asked again after this. 0…. Default: 1 hour.
    public var longestRetryAfter: Duration

    /// A schedule; each parameter is the property of its name.
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
    ///
    /// What the origin asks for only ever lengthens the pause (RFC 9110, 10.2.3): an origin that says 0, or names a
    /// moment that is over, would otherwise have all attempts at once.
    /// - Parameters:
    ///   - failure: what went wrong.
    ///   - attempt: number of the attempt that failed, from 1.
    ///   - now: the moment of the failure.
    ///   - chance: a random number in 0..<1; our own pause is that share of the longest one ("full jitter").
    public func nextAttempt(after failure: FetchFailure, attempt: Int, now: Timestamp, chance: Double) -> Timestamp? {
        guard failure.isRetryable, attempt < attempts else { return nil }
        // Doubling 30 times is far beyond any cap; further would overflow.
        let longest = min(cap, base * (1 << min(max(attempt - 1, 0), 30)))
        return max(now + longest * chance, quiet(after: failure, now: now) ?? now)
    }

    /// Until when the origin itself asked to be left alone, by everybody (R28); nil when it did not ask. It asked for
    /// no more than that: what one page waits on top, for its own failures, is no reason to leave the others.
    func quiet(after failure: FetchFailure, now: Timestamp) -> Timestamp? {
        failure.retryAfter.map { now + min(max($0, .zero), longestRetryAfter) }
    }
}
