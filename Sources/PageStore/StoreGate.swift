#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// Keeps the opening of a store apart from making, renaming, replacing and emptying its file.
///
/// A process that has opened a file and not yet locked it holds nothing. If the file were renamed at that moment, and a
/// new one made under its name, the process would use the old file with the log of the new one. So opening holds one
/// byte of `<store>-owners` shared until SQLite holds a lock of its own, and every change of the file itself holds that
/// byte exclusively.
///
/// The lock belongs to the open file description, so tasks of one process exclude each other, too. It ends with this
/// object.
final class StoreGate: Sendable {
    private let store: String
    private let descriptor: Int32
    /// Behind the bytes that owners take, see `OwnerLock`.
    private static let position = Int64.max - 2

    /// Opens the gate's file.
    /// - Parameters:
    ///   - store: the resolved path of the store file.
    ///   - makingFile: whether `<store>-owners` is made when it is missing.
    /// - Returns: `nil` where the file is missing and not made, or may not be opened: then nothing can be kept apart.
    init?(_ store: String, makingFile: Bool) {
        self.store = store
        // An exclusive lock needs a descriptor that writes.
        let access = makingFile ? O_RDWR | O_CREAT : O_RDONLY
        descriptor = open(store + "-owners", access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Takes the lock, or changes its kind. Waits for nothing.
    /// - Returns: whether it was free.
    func lock(_ kind: ByteLock.Kind) -> Bool {
        // A file system without such locks gives another error: SQLite cannot share a store on it, either.
        ByteLock(descriptor: descriptor).set(kind, at: StoreGate.position) || ![EAGAIN, EACCES, EINTR].contains(errno)
    }

    /// Takes the lock exclusively; blocks the calling thread for as long as `budget`.
    /// - Throws: `busy` after the budget.
    func lockExclusively(budget: Duration) throws(StorageError) {
        let deadline = ContinuousClock.now + budget
        while !lock(.exclusive) {
            guard ContinuousClock.now < deadline else { throw isTaken }
            usleep(2_000)
        }
    }

    var isTaken: StorageError { StorageError(.busy, "\(store) is being opened, made or replaced by another process") }
}
