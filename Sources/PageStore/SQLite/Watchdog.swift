import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Interrupts a statement that computes for too long. A statement on a damaged or crafted file may otherwise never end.
///
/// Mutable state: the limit and the deadline. Only the thread that uses the connection touches them; SQLite calls back
/// on that thread.
final class Watchdog {
    var limit: Duration? {
        didSet { restart() }
    }
    private var deadline: UInt64 = .max

    init(_ handle: OpaquePointer) {
        // Unretained: the connection owns this object, and closes the handle first.
        let this = Unmanaged.passUnretained(self).toOpaque()
        // SQLite calls back every 100,000 instructions of its virtual machine, which take a few milliseconds.
        sqlite3_progress_handler(
            handle, 100_000,
            { context in
                guard let context else { return 0 }
                return Unmanaged<Watchdog>.fromOpaque(context).takeUnretainedValue().isOver ? 1 : 0
            }, this)
    }

    /// Restarts the time limit. Call at the beginning of every transaction. A statement outside a transaction counts as
    /// a transaction.
    func restart() {
        guard let limit else {
            deadline = .max
            return
        }
        deadline = Watchdog.now() &+ UInt64(max(0, limit.wholeMilliseconds)) &* 1_000_000
    }

    private var isOver: Bool { deadline != .max && Watchdog.now() > deadline }

    /// The current time of a monotonic clock, in nanoseconds.
    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
