#if PostgreSQL
/// The pause between two attempts to connect: exponential with full jitter. Times are durations since a moment that
/// the caller chooses.
struct ReconnectBackoff: Hashable, Sendable {
    static let firstCeiling = Duration.milliseconds(50)
    static let lastCeiling = Duration.seconds(2)

    private(set) var failures = 0
    /// The earliest time of the next attempt.
    private(set) var earliest = Duration.zero

    /// Counts a failed attempt or a lost connection.
    /// - Parameter jitter: a random number from 0 to 1.
    mutating func fail(at now: Duration, jitter: Double) {
        let ceiling = min(ReconnectBackoff.lastCeiling, ReconnectBackoff.firstCeiling * (1 << min(failures, 10)))
        failures += 1
        earliest = now + ceiling * min(max(jitter, 0), 1)
    }

    /// Forgets the failures. Call when the server has completed a request without an error.
    mutating func succeed() { failures = 0 }
}
#endif
