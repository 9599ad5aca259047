#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Locks bytes of a file for an open file description ("open file description locks", fcntl(2)).
///
/// Two descriptions exclude each other, even within one process. The kernel drops a lock when the last descriptor of
/// its description is closed, however the process ends. Bytes beyond the end of the file can be locked.
struct ByteLock {
    enum Kind {
        case none, shared, exclusive

        fileprivate var word: Int16 {
            switch self {
            case .none: Int16(F_UNLCK)
            case .shared: Int16(F_RDLCK)
            case .exclusive: Int16(F_WRLCK)
            }
        }
    }

    /// The open file. An exclusive lock needs a descriptor that is open for writing.
    let descriptor: Int32

    /// Takes the lock on `length` bytes, changes its kind, or drops it. Does not wait.
    /// - Returns: whether the call succeeded; if not, `errno` holds the reason.
    func set(_ kind: Kind, at position: Int64, length: Int64 = 1) -> Bool {
        var region = ByteLock.region(kind, position, length)
        return fcntl(descriptor, ByteLock.setCommand, &region) == 0
    }

    /// Returns whether another description, or SQLite in any process, holds a lock on the byte. Returns `nil` when the
    /// system call fails.
    func isHeldElsewhere(at position: Int64) -> Bool? {
        var region = ByteLock.region(.exclusive, position, 1)
        guard fcntl(descriptor, ByteLock.getCommand, &region) == 0 else { return nil }
        return region.l_type != Int16(F_UNLCK)
    }

    private static func region(_ kind: Kind, _ position: Int64, _ length: Int64) -> flock {
        var region = flock()
        region.l_type = kind.word
        region.l_whence = Int16(SEEK_SET)
        region.l_start = off_t(position)
        region.l_len = off_t(length)
        return region
    }

    // The values of F_OFD_GETLK and F_OFD_SETLK, which are macros that Swift does not import.
    #if os(Linux)
    private static let getCommand: Int32 = 36
    private static let setCommand: Int32 = 37
    #else
    private static let getCommand: Int32 = 92
    private static let setCommand: Int32 = 90
    #endif
}
