/// The clock of a storage. Every stored time comes from it (R52). Callers of a storage pass durations.
public protocol StorageClock: Sendable {
    /// Returns the wall time, for ages.
    func now() -> Timestamp
    /// Returns the time since the machine started, including time in suspend. Leases end by this clock, because it
    /// cannot be set.
    func uptime() -> Uptime
}

/// A time since the start of a machine.
public struct Uptime: Hashable, Sendable {
    /// Milliseconds since the start, including time in suspend.
    public var milliseconds: Int64
    /// The id of the boot. Times of different boots cannot be compared.
    public var boot: String

    /// A time since the boot with this id.
    public init(milliseconds: Int64, boot: String) {
        self.milliseconds = milliseconds
        self.boot = boot
    }

    /// Returns the time `duration` later, clamped to the range that a storage keeps: 2^53 milliseconds in either
    /// direction.
    public static func + (uptime: Uptime, duration: Duration) -> Uptime {
        let sum = (Timestamp(milliseconds: uptime.milliseconds) + duration).stored
        return Uptime(milliseconds: sum.milliseconds, boot: uptime.boot)
    }
}

/// One reading of a storage's clock. A transaction takes one reading and uses it for all comparisons and stored times.
/// The times of a reading are within `StoredBounds`.
package struct StorageMoment: Hashable, Sendable {
    package var now: Timestamp
    package var uptime: Uptime

    package init(_ clock: any StorageClock) {
        now = clock.now().stored
        uptime = clock.uptime() + .zero
    }

    /// Whether a lease with this end has ended: its time has passed, or the machine has restarted.
    package func isOver(_ end: Uptime) -> Bool { end.boot != uptime.boot || end.milliseconds <= uptime.milliseconds }

    /// Returns the end of a lease as a wall time, for people. A lease from before a restart has ended, and yields
    /// `now`.
    package func wallTime(of end: Uptime) -> Timestamp {
        guard end.boot == uptime.boot else { return now }
        return now + (Timestamp(milliseconds: end.milliseconds) - Timestamp(milliseconds: uptime.milliseconds))
    }
}
