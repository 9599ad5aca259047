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
/// process tries again, and the waiting one starves. Two bytes of `<store>-owners` make a queue of one:
///
/// - The process that waits for the write lock holds the first byte: it is the next.
/// - A process whose turn is over holds the second byte, and leaves the write lock alone until the next one has had it.
///
/// The bytes are a courtesy: no commit depends on them. A next process that stands still delays another by one turn at
/// most, and then more and more seldom.
///
/// Mutable state: the schedule, the descriptor, whether this process is the next, when it last waited. All of it
/// belongs to the thread that holds the writer's mutex.
final class WriteTurns {
    private let store: String
    private var schedule = TurnSchedule()
    private var descriptor: Int32 = -1
    private var isNext = false
    private var waitedAt: UInt64 = 0

    // Behind the bytes that owners take (`OwnerLock`), and before that of `StoreGate`.
    private static let next = Int64.max - 3
    private static let pass = Int64.max - 4
    /// Microseconds between two looks at a byte. The kernel's timer makes about 100 of them.
    private static let look: UInt32 = 50
    /// The same for a process that waits for the turn of another one to end: each look takes processor time from the
    /// other one.
    private static let seldom: UInt32 = 250

    /// - Parameter store: the resolved path of the store file.
    init(store: String) { self.store = store }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Call before the write lock is taken. Once the turn of this process is over, waits until the next process has the
    /// lock.
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

    /// Waits before the next attempt to take the write lock. Becomes the next process where no other one is.
    /// - Parameter attempt: how many attempts have been made before the one that has just failed.
    func pause(attempt: Int) {
        let began = Watchdog.now()
        if !isNext { isNext = set(WriteTurns.next, .exclusive) }
        defer { waitedAt = Watchdog.now() }
        guard isNext else { return WriteTurns.pause(attempt: attempt + 4) }
        // A process that has not waited lately meets one commit, which ends soon. Otherwise another process commits
        // without a pause, and an attempt between two of its commits would cut its turn short.
        guard attempt > 0 || began &- waitedAt < TurnSchedule.memory else { return WriteTurns.pause(attempt: attempt) }
        repeat {
            usleep(WriteTurns.seldom)
        } while !isHeld(WriteTurns.pass) && Watchdog.now() &- began < TurnSchedule.turn
    }

    /// Call when the write lock was taken, or given up.
    func end() {
        guard isNext else { return }
        isNext = false
        _ = set(WriteTurns.next, .none)
        schedule.begin(at: Watchdog.now(), after: 0)
    }

    /// Waits where no process takes turns: 50 µs at first, then longer and longer, 5 ms at most.
    static func pause(attempt: Int) {
        usleep(min(look << UInt32(min(attempt, 7)), 5_000))
    }

    // MARK: The bytes

    /// Whether another process, or another task of this one, holds a byte.
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

/// Decides when a process that commits looks whether another one waits. Times are nanoseconds of a monotonic clock.
struct TurnSchedule: Equatable {
    /// How long a process may commit before it lets the next one in: some fifty commits, and less than a person
    /// notices.
    static let turn: UInt64 = 20_000_000
    /// The longest time between two looks, while others stand still.
    static let longest: UInt64 = 1_000_000_000
    /// For how long after a wait a process assumes that another one commits without a pause.
    static let memory: UInt64 = 100_000_000

    private var began: UInt64 = 0
    private var length = TurnSchedule.turn

    func isOver(at now: UInt64) -> Bool { now &- began >= length }

    /// Begins a turn.
    /// - Parameter waited: for how long the next process was let in. A whole turn means that it may stand still: this
    ///   turn is longer.
    mutating func begin(at now: UInt64, after waited: UInt64) {
        length = waited < TurnSchedule.turn ? TurnSchedule.turn : min(length * 2, TurnSchedule.longest)
        began = now
    }
}
