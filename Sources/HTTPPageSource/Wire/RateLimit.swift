import PageModel

/// The rate limit fields of an answer, for origins that send no `Retry-After`: `RateLimit-Remaining` and
/// `RateLimit-Reset`, often with the prefix `X-`.
enum RateLimit {
    /// The time until requests are available again. Zero when the origin states no time. Returns nil when requests
    /// remain, or the fields are missing.
    /// - Parameter now: the time of the answer, from its own `Date` field where it has one.
    static func pause(_ response: HTTPPageResponse, now: Timestamp) -> Duration? {
        guard number("Remaining", response) == 0 else { return nil }
        // The answer states no reset time, so the back-off schedule decides (R28).
        guard let reset = number("Reset", response) else { return .zero }
        // Some origins count seconds from now, and others from 1970. No limit lasts for thirty years.
        guard reset >= 1_000_000_000 else { return .seconds(reset) }
        return max(Timestamp(milliseconds: Int64(min(reset, 1 << 50)) * 1_000) - now, .zero)
    }

    private static func number(_ name: String, _ response: HTTPPageResponse) -> Int? {
        ["X-RateLimit-\(name)", "RateLimit-\(name)", "X-Rate-Limit-\(name)"].lazy
            .compactMap { response.values($0).first?.trimmingSpaces() }.first
            .flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
