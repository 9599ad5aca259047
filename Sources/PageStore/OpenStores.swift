#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import PageModel
import Synchronization

/// Counts how often this process has each store file open: once for each store, and once for each of its connections.
/// A connection can outlive its store.
///
/// POSIX drops all locks of a process on a file when the process closes any descriptor of it
/// (https://www.sqlite.org/howtocorrupt.html, 2.2). SQLite defers closing its own descriptors. Closing a descriptor of
/// this package would drop SQLite's locks. A store file is therefore created, or read without SQLite, only while this
/// process does not have it open.
///
/// State: the count for each file, and the identities of its log and shared memory. The mutex that guards them is held
/// while a store file is created, or read without SQLite.
enum OpenStores {
    private struct Entry {
        var count = 0
        /// The files next to the store, by suffix. All connections of a process use one shared memory
        /// (https://www.sqlite.org/walformat.html#the_wal_index_file_format).
        var companions: [String: FileIdentity] = [:]
        /// Whether the shared memory has disk space for each byte, see `StoreFile.fillSharedMemory`.
        var isSharedMemoryFilled = false
        /// The descriptor that filled the shared memory. It is closed when this process no longer has the store open.
        var sharedMemory: Int32?
    }

    private static let entries = Mutex<[FileIdentity: Entry]>([:])

    /// Counts the file as open. Runs `check` first if this process does not have the file open yet.
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

    /// Counts the file as open once more.
    fileprivate static func enter(_ file: FileIdentity) {
        entries.withLock { $0[file, default: Entry()].count += 1 }
    }

    fileprivate static func leave(_ file: FileIdentity) {
        entries.withLock { entries in
            entries[file]?.count -= 1
            guard entries[file]?.count == 0 else { return }
            if let descriptor = entries[file]?.sharedMemory { close(descriptor) }
            entries[file] = nil
        }
    }

    /// Returns the log and the shared memory next to an open store. Their identities must be those that its first
    /// connection found.
    /// - Throws: `moved` when a file has been replaced; `full` when the shared memory has holes and the disk has no
    ///   room to fill them.
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
            // Only the first connection fills the shared memory. If the disk has no room, that connection is closed
            // again.
            if fillingSharedMemory, entries[file]?.isSharedMemoryFilled == false {
                entries[file]?.sharedMemory = try StoreFile.fillSharedMemory(path)
                entries[file]?.isSharedMemoryFilled = true
            }
            return found
        }
    }

    /// Runs `body` if this process does not have the file open. Otherwise throws `error`.
    static func whileClosed<Value: Sendable>(
        _ path: String, otherwise error: StorageError, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try entries.withLock { entries throws(StorageError) in
            if let file = FileIdentity(path), entries[file] != nil { throw error }
            return try body()
        }
    }

    /// Runs `body`, which creates a file and returns whether a file was created. No store is opened in this process
    /// until `body` has closed its descriptor.
    ///
    /// A new file can have the inode of a removed one whose last connection is just closing. The log and the shared
    /// memory of that connection are not those of the new file.
    static func making(_ path: String, _ body: () throws(StorageError) -> Bool) throws(StorageError) {
        try entries.withLock { entries throws(StorageError) in
            guard try body(), let file = FileIdentity(path), let entry = entries[file] else { return }
            if let descriptor = entry.sharedMemory { close(descriptor) }
            entries[file] = Entry(count: entry.count)
        }
    }
}

/// Keeps a file counted in `OpenStores` for as long as the object lives.
final class OpenStore: Sendable {
    let path: String
    let identity: FileIdentity

    init(_ path: String, check: () throws(StorageError) -> Void) throws(StorageError) {
        self.path = path
        identity = try OpenStores.enter(path, check: check)
    }

    /// Counts a file that was found before, without checking it. For each connection of a store.
    init(_ path: String, _ identity: FileIdentity) {
        self.path = path
        self.identity = identity
        OpenStores.enter(identity)
    }

    deinit { OpenStores.leave(identity) }
}

/// Identifies a file by device and inode.
struct FileIdentity: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64

    /// Returns `nil` when there is no file at the path. A symbolic link at a resolved path is another file: the log of
    /// the file to which it leads has another path.
    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
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

/// The size and the times of a file. They differ after a write by any process.
struct FileState: Hashable, Sendable {
    private let size: Int
    private let modified: [Int]
    private let changed: [Int]

    /// Returns `nil` when there is no file at the path.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        size = Int(status.st_size)
        #if canImport(Darwin)
        let (modification, change) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modification, change) = (status.st_mtim, status.st_ctim)
        #endif
        modified = [Int(modification.tv_sec), Int(modification.tv_nsec)]
        changed = [Int(change.tv_sec), Int(change.tv_nsec)]
    }
}

extension Connection {
    /// Whether a process has written to the file of an immutable connection since it was opened. Such a connection holds
    /// no lock, so its transactions do not see one moment of the file. False for any other connection.
    var hasLostMoment: Bool { immutableState.map { $0 != FileState(path) } ?? false }

    /// Checks that the paths of the store, its log and its shared memory still lead to the files that this connection
    /// has open. A process that opens a store without its log creates a new log. Two processes would then use different
    /// logs.
    /// - Throws: `moved` when one of the files was renamed, replaced or removed; `notAStore` when the store has a
    ///   second name.
    func checkPlace() throws(StorageError) {
        guard !hasMoved, place.map({ FileIdentity(path) == $0.identity }) ?? true,
            companions.allSatisfy({ FileIdentity($0.path) == $0.identity })
        else { throw .moved(path) }
        if place != nil { try StoreFile.checkName(of: path) }
    }

    /// Remembers the identities of the log and the shared memory. Call after the first read of the connection: from
    /// then on both files exist until the last connection is closed. They may be missing where the files cannot be
    /// written, or where one process uses the store exclusively.
    /// - Parameters:
    ///   - file: the identity of the store file.
    ///   - isAlone: whether this process uses the store exclusively, without shared memory.
    func rememberCompanions(of file: FileIdentity, isAlone: Bool) throws(StorageError) {
        companions = try OpenStores.companions(of: file, at: path, fillingSharedMemory: !isAlone)
    }

    /// Returns `moved` instead of `error` when the open store is no longer at its path, and `damaged` when another
    /// program changed its schema. The message of `moved` says which file is gone. Call outside a transaction.
    func explained(_ error: StorageError) -> StorageError {
        switch error.code {
        case .permission, .inputOutput, .cannotCreate, .damaged, .notAStore, .internal:
            do throws(StorageError) { try checkPlace() } catch let moved { return explainedByFiles(moved) }
            return error.code == .internal ? explainedBySchema(error) : error
        case .moved: return explainedByFiles(error)
        default: return error
        }
    }
}

extension StorageError {
    static func moved(_ path: String) -> StorageError {
        StorageError(.moved, "\(path) was renamed, replaced or removed while it was open; nothing more was stored")
    }
}
