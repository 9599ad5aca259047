#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// Proves that a process is alive (R30).
///
/// The process holds a kernel lock on one byte of a file next to the store. The number of that byte is the name of the
/// process in leases. The kernel drops the lock when the process ends, however it ends. All other processes then see
/// that the leases of this process are void. A pid would not work: pids are reused, and mean nothing in another
/// container.
///
/// The file also records the owner of the log (`LogOwner`) and is never deleted. Locked bytes may be beyond its end.
/// Locks belong to the open file and not to the process ("open file description locks", fcntl(2)), so two stores in one
/// process are two owners.
final class OwnerLock: Sendable {
    /// The name of this owner in its leases.
    let name: String
    private let descriptor: Int32

    /// Opens the file and locks a free byte.
    /// - Parameter store: the resolved path of the store file.
    /// - Throws: `permission`, `cannotCreate`, `full` or `inputOutput`.
    init(store: String) throws(StorageError) {
        let path = store + "-owners"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw StoreFile.failure(errno == EACCES ? .inputOutput : .cannotCreate, "cannot open \(path)")
        }
        // Two owners draw the same number with a probability of 1 in 2^62. One of them then takes the next free number.
        var number = Int64.random(in: 0..<1 << 62)
        while !ByteLock(descriptor: descriptor).set(.exclusive, at: number) {
            guard errno == EAGAIN || errno == EACCES, number < Int64.max - 1 else {
                let error = StorageError(.inputOutput, "cannot lock \(path): \(String(cString: strerror(errno)))")
                close(descriptor)
                throw error
            }
            number += 1
        }
        name = String(number, radix: 36)
    }

    deinit {
        close(descriptor)
    }

    /// Returns whether the process of the named owner is alive. Returns `false` for a text that is not the name of an
    /// owner.
    func isAlive(_ owner: String) -> Bool {
        guard let number = OwnerLock.number(of: owner) else { return false }
        if String(number, radix: 36) == name { return true }
        // A failed system call does not prove that the process is dead.
        return ByteLock(descriptor: descriptor).isHeldElsewhere(at: number) ?? true
    }

    /// Returns the owners in `owners` whose process has certainly ended. The call does not write, and needs no
    /// permission to write. Returns an empty set when the file of the locks is missing.
    static func ended(_ owners: Set<String>, store: String) -> Set<String> {
        let descriptor = open(store + "-owners", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        let locks = ByteLock(descriptor: descriptor)
        return owners.filter { owner in
            OwnerLock.number(of: owner).map { locks.isHeldElsewhere(at: $0) == false } ?? false
        }
    }

    private static func number(of owner: String) -> Int64? {
        // A `LeaseOwner` may add a suffix after "/", which only its own process uses.
        guard let number = Int64(owner.prefix { $0 != "/" }, radix: 36), number >= 0 else { return nil }
        return number
    }
}

extension SQLitePageStore {
    /// Returns the owners of leases in `names` whose process has certainly ended. The leases of these owners are void
    /// (R30).
    package func endedOwners(_ names: Set<String>) -> Set<String> { OwnerLock.ended(names, store: path) }
}
