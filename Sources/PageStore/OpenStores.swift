#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel
import Synchronization

/// The store files that this process has open, and how often.
///
/// POSIX drops all locks of a process on a file when the process closes any descriptor of it
/// (https://www.sqlite.org/howtocorrupt.html, 2.2). SQLite knows its own descriptors and takes care; ours would take its
/// locks away. So a store file is looked at without SQLite only while nothing in this process has it open.
enum OpenStores {
    struct FileID: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64
    }

    private static let counts = Mutex<[FileID: Int]>([:])

    /// Notes that the file is about to be opened; `check` runs first if nothing here has it open.
    static func enter(_ path: String, check: () throws(StorageError) -> Void) throws(StorageError) -> FileID {
        guard let file = identify(path) else { throw StorageError(.notFound, "there is no store at \(path)") }
        try counts.withLock { counts throws(StorageError) in
            if counts[file] == nil { try check() }
            counts[file, default: 0] += 1
        }
        return file
    }

    static func leave(_ file: FileID) {
        counts.withLock { counts in
            let left = (counts[file] ?? 1) - 1
            counts[file] = left > 0 ? left : nil
        }
    }

    /// Runs `body` if nothing in this process has the file open; else throws `error`.
    static func whileClosed<Value: Sendable>(
        _ path: String, otherwise error: StorageError, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try counts.withLock { counts throws(StorageError) in
            if let file = identify(path), counts[file] != nil { throw error }
            return try body()
        }
    }

    private static func identify(_ path: String) -> FileID? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return FileID(device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    }
}

/// Holds a file's place in `OpenStores` for as long as it lives.
final class OpenStore: Sendable {
    private let file: OpenStores.FileID

    init(_ path: String, check: () throws(StorageError) -> Void) throws(StorageError) {
        file = try OpenStores.enter(path, check: check)
    }

    deinit { OpenStores.leave(file) }
}
