import PageModel

/// `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date.
enum RetryAfter {
    /// The time to wait from now on. Returns nil when the field has no usable value.
    /// - Parameter now: the time of the answer, from its own `Date` field where it has one. The clock of the origin may
    ///   differ from the local one.
    static func pause(_ field: String, now: Timestamp) -> Duration? {
        let text = field.trimmingSpaces()
        if let seconds = DeltaSeconds.parse(text) { return .seconds(seconds) }
        guard let date = HTTPDate.parse(text) else { return nil }
        return max(date - now, .zero)
    }
}
