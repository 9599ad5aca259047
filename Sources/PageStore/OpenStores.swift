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
/// (https://www.sqlite.org/howtocorrupt.html, 2.2). SQLite defers the closing of its own descriptors. A descriptor of
/// ours would take SQLite's locks away. So a store file is made, or read without SQLite, only while nothing in this
/// process has it open.
///
/// State: how often each file is open, and which files its log and shared memory are, under a mutex that is held while
/// a descriptor of ours is open.
enum OpenStores {
    private struct Entry {
        var count = 0
        /// By suffix. All connections of a process use one shared memory
        /// (https://www.sqlite.org/walformat.html#the_wal_index_file_format).
        var companions: [String: FileIdentity] = [:]
        /// A descriptor of the shared memory, see `StoreFile.fillSharedMemory`. Closed when nothing in this process has
        /// the store open.
        var sharedMemory: Int32?
    }

    private static let entries = Mutex<[FileIdentity: Entry]>([:])

    /// Counts the file as open; `check` runs first if nothing in this process has it open.
    fileprivate static func enter(_ path: String, check: () throws(StorageError) -> Void) throws(StorageError)
        -> FileIdentity
    {
        try entries.withLock { entries throws(StorageError) in
            guard let file = FileIdentity(path) else { throw StorageError(.notFound, "there is no store at \(path)") }
            if entries[file] == nil { try check() }
            entries[file, default: Entry()].count += 1
            return file
        }
    }

    fileprivate static func leave(_ file: FileIdentity) {
        entries.withLock { entries in
            entries[file]?.count -= 1
            guard entries[file]?.count == 0 else { return }
            if let descriptor = entries[file]?.sharedMemory { close(descriptor) }
            entries[file] = nil
        }
    }

    /// The log and the shared memory beside a store that is open: those that its first connection found.
    /// - Throws: `moved` when there are others by now; `full` when the shared memory has holes and there is no room to
    ///   fill them.
    static func companions(
        of file: FileIdentity, at path: String, fillingSharedMemory: Bool
    ) throws(StorageError) -> [(path: String, identity: FileIdentity)] {
        try entries.withLock { entries throws(StorageError) in
            var found: [(path: String, identity: FileIdentity)] = []
            for suffix in ["-wal", "-shm"] {
                let known = entries[file]?.companions[suffix]
                let companion = FileIdentity(path + suffix)
                guard known == nil || known == companion else { throw .moved(path) }
                guard let companion else { continue }
                entries[file]?.companions[suffix] = companion
                found.append((path + suffix, companion))
            }
            if fillingSharedMemory, entries[file]?.count == 1, entries[file]?.sharedMemory == nil {
                entries[file]?.sharedMemory = try StoreFile.fillSharedMemory(path)
            }
            return found
        }
    }

    /// Runs `body` if nothing in this process has the file open; else throws `error`.
    static func whileClosed<Value: Sendable>(
        _ path: String, otherwise error: StorageError, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try entries.withLock { entries throws(StorageError) in
            if let file = FileIdentity(path), entries[file] != nil { throw error }
            return try body()
        }
    }

    /// Runs `body`, which makes a new file: its descriptor is closed before anything in this process can open the file.
    static func making<Value: Sendable>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try entries.withLock { _ throws(StorageError) in try body() }
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
    /// Checks that the paths of the store, its log and its shared memory still lead to the files that this connection
    /// has open. A process that opens a store whose log was removed makes a new log, and two processes would each read
    /// their own.
    /// - Throws: `moved` when one of them was renamed, replaced or removed.
    func checkPlace() throws(StorageError) {
        guard !hasMoved, companions.allSatisfy({ FileIdentity($0.path) == $0.identity }) else { throw .moved(path) }
    }

    /// Remembers which files the log and the shared memory are. Call when the connection has read for the first time:
    /// from then on both exist until the last connection is closed. Where nothing can be written, or one process has
    /// the store for itself, they may be missing.
    /// - Parameter isAlone: whether this process has the store for itself, and uses no shared memory.
    func rememberCompanions(of file: FileIdentity, isAlone: Bool) throws(StorageError) {
        companions = try OpenStores.companions(of: file, at: path, fillingSharedMemory: !isAlone)
    }

    /// The error `moved` in place of another one, when the store that this connection has open is gone from its place.
    func explained(_ error: StorageError) -> StorageError {
        switch error.code {
        case .permission, .inputOutput, .cannotCreate, .damaged, .notAStore, .internal:
            do throws(StorageError) { try checkPlace() } catch let moved { return moved }
            return error
        default: return error
        }
    }
}

extension StorageError {
    static func moved(_ path: String) -> StorageError {
        StorageError(.moved, "\(path) was renamed, replaced or removed while it was open; nothing more was stored")
    }
}
