/// A moment in time: whole milliseconds since 1970-01-01T00:00:00Z.
///
/// The model never reads a clock. Times are arguments, so that every decision about age can be tested.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the Unix epoch; negative before it.
    public var milliseconds: Int64

    /// The moment this many milliseconds after the Unix epoch.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Returns the moment `duration` later. A sum outside the range of `Int64` is clamped to the nearest
    /// bound.
    public static func + (moment: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = moment.milliseconds.addingReportingOverflow(duration.wholeMilliseconds)
        return Timestamp(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Returns how much later `left` is than `right`; negative when `left` is earlier. A difference outside the range
    /// of `Int64` becomes half of that range's bound.
    public static func - (left: Timestamp, right: Timestamp) -> Duration {
        let (difference, overflow) = left.milliseconds.subtractingReportingOverflow(right.milliseconds)
        return .milliseconds(overflow ? (left > right ? Int64.max / 2 : Int64.min / 2) : difference)
    }
}

extension Duration {
    /// The duration in milliseconds, rounded towards zero and clamped to the range of `Int64`.
    public var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }
}
