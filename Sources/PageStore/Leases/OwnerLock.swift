#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel

/// Proof that a process lives (R30): it holds a kernel lock on one byte of a file beside the store, and the number of
/// that byte is its name in leases. When it dies, however it dies, the kernel drops the lock, and everybody can see
/// that its leases are worth nothing. A pid would not do: it is reused, and means nothing in another container.
///
/// The file holds whose log lies beside it and nothing else (`LogOwner`), and is never deleted: locks may lie beyond
/// its end. Locks belong to the open file and not to the process ("open file description locks", fcntl(2)), so that two
/// stores in one process are two owners.
final class OwnerLock: Sendable {
    /// The name that this owner's leases carry.
    let name: String
    private let descriptor: Int32

    /// - Parameter store: the resolved path of the store file.
    init(store: String) throws(StorageError) {
        let path = store + "-owners"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw StorageError(
                errno == EACCES ? .permission : .cannotCreate,
                "cannot open \(path): \(String(cString: strerror(errno)))")
        }
        // Chance makes two owners meet once in 2^62; then one of them takes the next number.
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

    /// Whether the process of the owner with this name lives. Returns `false` for a text that is no owner's name.
    func isAlive(_ owner: String) -> Bool {
        // What a `LeaseOwner` adds is the process's own matter.
        let process = owner.prefix { $0 != "/" }
        if process == name { return true }
        guard let number = Int64(process, radix: 36), number >= 0 else { return false }
        // A question that fails is no proof of death.
        return ByteLock(descriptor: descriptor).isHeldElsewhere(at: number) ?? true
    }
}
