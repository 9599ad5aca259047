import PageModel

/// What an origin says of the requests that are left to the caller, where it does not say `Retry-After`:
/// `RateLimit-Remaining` and `RateLimit-Reset`, with an `X-` in front as often as not.
enum RateLimit {
    /// How long nothing is left; nil where something is, or the answer does not say.
    /// - Parameter now: the moment of the answer, by its own `Date` field where it has one.
    static func pause(_ response: HTTPPageResponse, now: Timestamp) -> Duration? {
        guard number("Remaining", response) == 0 else { return nil }
        // Nobody says until when: then it is for our own back-off (R28).
        guard let reset = number("Reset", response) else { return .zero }
        // Some count from now, some from 1970; no limit is set for thirty years.
        guard reset >= 1_000_000_000 else { return .seconds(reset) }
        return max(Timestamp(milliseconds: Int64(min(reset, 1 << 50)) * 1_000) - now, .zero)
    }

    private static func number(_ name: String, _ response: HTTPPageResponse) -> Int? {
        ["X-RateLimit-\(name)", "RateLimit-\(name)", "X-Rate-Limit-\(name)"].lazy
            .compactMap { response.values($0).first?.trimmingSpaces() }.first
            .flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
