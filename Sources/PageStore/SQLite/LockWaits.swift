import PageModel
import Synchronization

/// The time for which this process has waited for a lock that another process holds on a store. The tool shows this
/// time.
///
/// Mutable state: the times of the latest wait, of all stores of this process, behind the mutex.
package enum LockWaits {
    private static let times = Mutex(WaitTimes())

    /// The length of the present wait. `nil` when there is none.
    package static var current: Duration? { times.withLock { $0.length(at: Watchdog.now()) } }

    /// Call when the present wait is known to have ended. If a wait goes on after all, its next pause is counted again.
    package static func end() { times.withLock { $0.end() } }

    /// Call before each pause of a call that waits for a lock.
    /// - Parameter isFirst: whether the wait begins with this pause.
    static func note(isFirst: Bool) {
        let now = Watchdog.now()
        times.withLock { $0.note(at: now, isFirst: isFirst) }
    }
}

/// The beginning and the latest pause of a wait: a plain value. Times are nanoseconds of a monotonic clock.
struct WaitTimes: Equatable {
    /// The time without a pause after which a wait counts as ended, because no call reports its end. A pause between
    /// two attempts is far shorter.
    static let longestPause: UInt64 = 500_000_000

    private var began: UInt64 = 0
    /// The time of the latest pause. `nil` before the first one.
    private var latest: UInt64?

    mutating func note(at now: UInt64, isFirst: Bool) {
        if isFirst { began = now }
        latest = now
    }

    mutating func end() { latest = nil }

    /// The length of the wait, with the time since its latest pause. `nil` when it has ended.
    func length(at now: UInt64) -> Duration? {
        // Another thread may have noted a pause after `now` was read.
        guard let latest, now < latest || now - latest < WaitTimes.longestPause else { return nil }
        return now < began ? .zero : .nanoseconds(Int64(clamping: now - began))
    }
}
