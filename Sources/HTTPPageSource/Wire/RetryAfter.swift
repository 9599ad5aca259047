import PageModel

/// `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date.
enum RetryAfter {
    /// How long to wait from now on; nil when the field says nothing usable.
    /// - Parameter now: the moment of the answer, by its own `Date` field where it has one: the origin's clock and ours
    ///   need not agree.
    static func pause(_ field: String, now: Timestamp) -> Duration? {
        let text = field.trimmingSpaces()
        if let seconds = DeltaSeconds.parse(text) { return .seconds(seconds) }
        guard let date = HTTPDate.parse(text) else { return nil }
        return max(date - now, .zero)
    }
}
