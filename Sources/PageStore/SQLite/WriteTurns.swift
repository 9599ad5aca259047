#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Gives each of several processes that commit at the same time its turn (Decision 0012).
///
/// SQLite's write lock has no queue. A process that commits without a pause takes the lock again long before a waiting
/// process tries again, so the waiting one starves. Two bytes of `<store>-owners` form a queue of length one:
///
/// - The next process, which waits for the write lock, holds the first byte.
/// - A process whose turn is over holds the second byte. That process takes the write lock only after the next process
///   has had it, or after the time of one turn.
///
/// The bytes are advisory: no commit depends on them. If the next process is stopped, it delays another process by one
/// turn at most, and less and less often.
///
/// Mutable state: the schedule, the descriptor, whether this process is the next one, and the time of its last wait.
/// All of it belongs to the thread that holds the writer's mutex.
final class WriteTurns {
    private let store: String
    private var schedule = TurnSchedule()
    private var descriptor: Int32 = -1
    private var isNext = false
    private var waitedAt: UInt64 = 0

    // These bytes are after those of the owners (`OwnerLock`) and before that of `StoreGate`.
    private static let next = Int64.max - 3
    private static let pass = Int64.max - 4
    /// The time between two checks of a byte, in microseconds. The resolution of the kernel's timer makes it about 100.
    private static let look: UInt32 = 50
    /// The time between two checks of whether another process's turn has ended, in microseconds. Each check takes
    /// processor time from that process.
    private static let seldom: UInt32 = 250

    /// - Parameter store: the resolved path of the store file.
    init(store: String) { self.store = store }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Waits for the next process to take the lock, if the turn of this process is over. Call before the write lock is
    /// taken.
    func begin() {
        let began = Watchdog.now()
        guard schedule.isOver(at: began) else { return }
        var now = began
        if isHeld(WriteTurns.next), set(WriteTurns.pass, .exclusive) {
            repeat {
                usleep(WriteTurns.look)
                now = Watchdog.now()
            } while isHeld(WriteTurns.next) && now &- began < TurnSchedule.turn
            _ = set(WriteTurns.pass, .none)
        }
        schedule.begin(at: now, after: now &- began)
    }

    /// Waits before the next attempt to take the write lock. This process becomes the next process if no other process
    /// is the next one.
    /// - Parameter attempt: the number of attempts before the one that has just failed.
    func pause(attempt: Int) {
        let began = Watchdog.now()
        if !isNext { isNext = set(WriteTurns.next, .exclusive) }
        defer { waitedAt = Watchdog.now() }
        guard isNext else { return WriteTurns.pause(attempt: attempt + 4) }
        // A process that has not waited lately has met a single commit, which ends soon. Otherwise another process
        // commits without a pause, and an attempt between two of its commits would cut its turn short.
        guard attempt > 0 || began &- waitedAt < TurnSchedule.memory else { return WriteTurns.pause(attempt: attempt) }
        repeat {
            usleep(WriteTurns.seldom)
        } while !isHeld(WriteTurns.pass) && Watchdog.now() &- began < TurnSchedule.turn
    }

    /// Ends the wait. Call when the write lock was taken or given up.
    func end() {
        guard isNext else { return }
        isNext = false
        _ = set(WriteTurns.next, .none)
        schedule.begin(at: Watchdog.now(), after: 0)
    }

    /// Waits before the next attempt to take a lock, regardless of turns: 50 µs at first, then twice as long each time,
    /// up to 5 ms.
    static func pause(attempt: Int) {
        usleep(min(look << UInt32(min(attempt, 7)), 5_000))
    }

    // MARK: The bytes

    /// Returns whether another process, or another store object of this process, holds the byte. False where the file
    /// of the bytes cannot be opened.
    private func isHeld(_ byte: Int64) -> Bool {
        isOpen() && ByteLock(descriptor: descriptor).isHeldElsewhere(at: byte) == true
    }

    private func set(_ byte: Int64, _ kind: ByteLock.Kind) -> Bool {
        isOpen() && ByteLock(descriptor: descriptor).set(kind, at: byte)
    }

    private func isOpen() -> Bool {
        if descriptor < 0 {
            descriptor = open(store + "-owners", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        }
        return descriptor >= 0
    }
}

/// Decides when a committing process checks whether another one waits. Times are nanoseconds of a monotonic clock.
struct TurnSchedule: Equatable {
    /// How long a process may commit before it lets the next process commit: 20 ms. That is enough for about fifty
    /// commits, and too short for a person to notice.
    static let turn: UInt64 = 20_000_000
    /// The longest time between two checks while other processes are stopped: 1 second.
    static let longest: UInt64 = 1_000_000_000
    /// How long after a wait a process assumes that another process commits without a pause: 100 ms.
    static let memory: UInt64 = 100_000_000

    private var began: UInt64 = 0
    private var length = TurnSchedule.turn

    func isOver(at now: UInt64) -> Bool { now &- began >= length }

    /// Begins a turn.
    /// - Parameter waited: how long this process waited for the next one to take the lock. If it waited for a full
    ///   turn, the next process may be stopped, so this turn is longer.
    mutating func begin(at now: UInt64, after waited: UInt64) {
        length = waited < TurnSchedule.turn ? TurnSchedule.turn : min(length * 2, TurnSchedule.longest)
        began = now
    }
}
