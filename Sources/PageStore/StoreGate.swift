#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// Keeps a process from opening a store while another process creates, renames, replaces or empties its file. Also
/// keeps a process from such a change while another process opens the store.
///
/// A process that has opened a file but not yet locked it holds no lock. Another process could then rename the file and
/// create a new one under its name. The first process would use the old file with the log of the new one. So a process
/// that opens a store holds one byte of `<store>-owners` shared until SQLite holds its own lock. Every change of the
/// file itself holds that byte exclusively.
///
/// The lock belongs to the open file description, so tasks of one process exclude each other, too. The lock ends with
/// this object.
final class StoreGate: Sendable {
    private let store: String
    private let descriptor: Int32
    /// The position of the locked byte, after the bytes that owners lock (`OwnerLock`).
    private static let position = Int64.max - 2

    /// Opens the file of the gate. Returns `nil` where the file is missing and not created, or cannot be opened. The
    /// gate then excludes no process.
    /// - Parameters:
    ///   - store: the resolved path of the store file.
    ///   - makingFile: whether `<store>-owners` is created when it is missing.
    init?(_ store: String, makingFile: Bool) {
        self.store = store
        // An exclusive lock needs a descriptor that is open for writing.
        let access = makingFile ? O_RDWR | O_CREAT : O_RDONLY
        descriptor = open(store + "-owners", access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Takes the lock, or changes its kind. Does not wait.
    /// - Returns: whether the lock was taken, or the file system has no such locks.
    func lock(_ kind: ByteLock.Kind) -> Bool {
        // A file system without such locks reports another error. SQLite cannot share a store on such a file system,
        // either.
        ByteLock(descriptor: descriptor).set(kind, at: StoreGate.position) || ![EAGAIN, EACCES, EINTR].contains(errno)
    }

    /// Takes the lock exclusively. Blocks the calling thread for at most `budget`.
    /// - Throws: `busy` after the budget.
    func lockExclusively(budget: Duration) throws(StorageError) {
        let deadline = ContinuousClock.now + budget
        var isFirst = true
        while !lock(.exclusive) {
            guard ContinuousClock.now < deadline else { throw isTaken }
            LockWaits.note(isFirst: isFirst)
            isFirst = false
            usleep(2_000)
        }
    }

    var isTaken: StorageError {
        StorageError(.busy, "\(store) is being opened, created or replaced by another process")
    }
}
