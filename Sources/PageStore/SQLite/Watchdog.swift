import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Ends a statement that computes for too long, as one over a damaged or crafted file may do for ever.
///
/// Mutable state: the limit and the deadline, used by the thread that uses the connection; SQLite calls back on it.
final class Watchdog {
    var limit: Duration? {
        didSet { restart() }
    }
    private var deadline: UInt64 = .max

    init(_ handle: OpaquePointer) {
        // Unretained: the connection owns both, and closes the handle first.
        let this = Unmanaged.passUnretained(self).toOpaque()
        // Every 100,000 instructions of SQLite's machine, a few milliseconds.
        sqlite3_progress_handler(
            handle, 100_000,
            { context in
                guard let context else { return 0 }
                return Unmanaged<Watchdog>.fromOpaque(context).takeUnretainedValue().isOver ? 1 : 0
            }, this)
    }

    /// Call at the beginning of every transaction.
    func restart() {
        guard let limit else {
            deadline = .max
            return
        }
        deadline = Watchdog.now() &+ UInt64(max(0, limit.wholeMilliseconds)) &* 1_000_000
    }

    private var isOver: Bool { deadline != .max && Watchdog.now() > deadline }

    /// Nanoseconds of a clock that is never set.
    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
