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
/// (https://www.sqlite.org/howtocorrupt.html, 2.2). SQLite defers the closing of its own descriptors. A descriptor of ours would
/// take SQLite's locks away. So a store file is made, or read without SQLite, only while nothing in this process has it open.
///
/// State: a count for each file, under a mutex that is held while a descriptor of ours is open.
enum OpenStores {
    private static let counts = Mutex<[FileIdentity: Int]>([:])

    /// Counts the file as open; `check` runs first if nothing in this process has it open.
    fileprivate static func enter(_ path: String, check: () throws(StorageError) -> Void) throws(StorageError) -> FileIdentity {
        try counts.withLock { counts throws(StorageError) in
            guard let file = FileIdentity(path) else { throw StorageError(.notFound, "there is no store at \(path)") }
            if counts[file] == nil { try check() }
            counts[file, default: 0] += 1
            return file
        }
    }

    fileprivate static func leave(_ file: FileIdentity) {
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
            if let file = FileIdentity(path), counts[file] != nil { throw error }
            return try body()
        }
    }

    /// Runs `body`, which makes a new file: its descriptor is closed before anything in this process can open the file.
    static func making<Value: Sendable>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try counts.withLock { _ throws(StorageError) in try body() }
    }
}

/// Holds a file's place in `OpenStores` for as long as it lives.
final class OpenStore: Sendable {
    let path: String
    let identity: FileIdentity

    init(_ path: String, check: () throws(StorageError) -> Void) throws(StorageError) {
        self.path = path
        identity = try OpenStores.enter(path, check: check)
    }

    deinit { OpenStores.leave(identity) }
}

/// Which file a path leads to.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    /// Returns `nil` when the path leads to no file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
    }

    /// Checks that a connection that was just opened has this file open, and that its path leads to this file.
    /// - Throws: `moved` when the store was renamed, replaced or removed.
    func check(_ connection: Connection) throws(StorageError) {
        guard FileIdentity(connection.path) == self else { throw .moved(connection.path) }
        try connection.checkPlace()
    }
}

extension Connection {
    /// Checks that the path still leads to the file that this connection has open.
    /// - Throws: `moved` when the store was renamed, replaced or removed.
    func checkPlace() throws(StorageError) {
        guard !hasMoved else { throw .moved(path) }
    }
}

extension StorageError {
    static func moved(_ path: String) -> StorageError {
        StorageError(.moved, "\(path) was renamed, replaced or removed while it was open; nothing more was stored")
    }
}
