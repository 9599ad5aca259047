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
/// A process that has opened a file and not yet locked it holds nothing. If the file were renamed at that moment, and a new one made
/// under its name, the process would use the old file with the log of the new one. So opening holds one byte of `<store>-owners`
/// shared until SQLite holds a lock of its own, and every change of the file itself holds that byte exclusively.
///
/// The lock belongs to the open file description, so tasks of one process exclude each other, too. It ends with this object.
final class StoreGate: Sendable {
    enum Kind {
        case shared
        case exclusive
    }

    private let descriptor: Int32
    /// Behind the bytes that owners take, see `OwnerLock`.
    private static let position = Int64.max - 2

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Waits until the store is free for this kind of use.
    /// - Parameters:
    ///   - store: the resolved path of the store file.
    ///   - makingFile: whether `<store>-owners` is made when it is missing.
    ///   - budget: how long others are waited for.
    /// - Returns: `nil` where the file is missing and not made, or may not be opened: then nothing can be kept apart.
    /// - Throws: `busy` after the budget.
    static func enter(_ store: String, _ kind: Kind, makingFile: Bool, budget: Duration) throws(StorageError) -> StoreGate? {
        // A shared lock needs a descriptor that reads, an exclusive one a descriptor that writes.
        let access = makingFile ? O_RDWR | O_CREAT : kind == .exclusive ? O_RDWR : O_RDONLY
        let descriptor = open(store + "-owners", access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return nil }
        let gate = StoreGate(descriptor)
        try gate.lock(kind, of: store, budget)
        return gate
    }

    /// Lets others open the store, and goes on keeping changes of its file away.
    func share(_ store: String) throws(StorageError) { try lock(.shared, of: store, .zero) }

    private func lock(_ kind: Kind, of store: String, _ budget: Duration) throws(StorageError) {
        let deadline = ContinuousClock.now + budget
        var region = flock()
        region.l_type = Int16(kind == .shared ? F_RDLCK : F_WRLCK)
        region.l_whence = Int16(SEEK_SET)
        region.l_start = off_t(StoreGate.position)
        region.l_len = 1
        while fcntl(descriptor, OwnerLock.setCommand, &region) != 0 {
            guard errno == EAGAIN || errno == EACCES || errno == EINTR else {
                // A file system without such locks: then SQLite cannot share a store on it, either.
                return
            }
            guard ContinuousClock.now < deadline else {
                throw StorageError(.busy, "\(store) is being opened, made or replaced by another process")
            }
            usleep(2_000)
        }
    }
}
