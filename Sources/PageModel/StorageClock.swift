/// The clock of a storage. Every stored time comes from it (R52): callers of a storage give durations.
public protocol StorageClock: Sendable {
    /// The wall time: what ages are measured with.
    func now() -> Timestamp
    /// The time since the machine started, suspended or not. Leases end by it. It cannot be set.
    func uptime() -> Uptime
}

/// A time since the start of a machine.
public struct Uptime: Hashable, Sendable {
    /// Milliseconds since the start; time in suspend counts.
    public var milliseconds: Int64
    /// The name of the start. Times of two starts cannot be compared.
    public var boot: String

    /// A time since the start of this name.
    public init(milliseconds: Int64, boot: String) {
        self.milliseconds = milliseconds
        self.boot = boot
    }

    /// The time `duration` later, kept inside of what a storage keeps: 2^53 milliseconds either way.
    public static func + (uptime: Uptime, duration: Duration) -> Uptime {
        let sum = (Timestamp(milliseconds: uptime.milliseconds) + duration).stored
        return Uptime(milliseconds: sum.milliseconds, boot: uptime.boot)
    }
}

/// One reading of a storage's clock: a transaction takes one, and judges and stores everything by it. Its times are
/// within `StoredBounds`.
package struct StorageMoment: Hashable, Sendable {
    package var now: Timestamp
    package var uptime: Uptime

    package init(_ clock: any StorageClock) {
        now = clock.now().stored
        uptime = clock.uptime() + .zero
    }

    /// Whether a lease with this end is over: its time is, or the machine has started anew.
    package func isOver(_ end: Uptime) -> Bool { end.boot != uptime.boot || end.milliseconds <= uptime.milliseconds }

    /// The end of a lease as a wall time, for people. One of another start is over.
    package func wallTime(of end: Uptime) -> Timestamp {
        guard end.boot == uptime.boot else { return now }
        return now + (Timestamp(milliseconds: end.milliseconds) - Timestamp(milliseconds: uptime.milliseconds))
    }
}
