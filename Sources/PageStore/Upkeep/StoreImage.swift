import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The bytes of a whole store, which are written over a store's file.
struct StoreImage: ~Copyable {
    private let bytes: UnsafeMutableRawBufferPointer

    deinit { sqlite3_free(bytes.baseAddress) }

    /// - Throws: `full` when there is no memory for a copy.
    init(of connection: Connection) throws(StorageError) {
        var size: sqlite3_int64 = 0
        guard let start = sqlite3_serialize(connection.handle, "main", &size, 0) else { throw StoreImage.lackOfMemory }
        bytes = UnsafeMutableRawBufferPointer(start: start, count: Int(size))
        // The store has a write-ahead log (https://www.sqlite.org/fileformat.html#file_format_version_numbers).
        bytes[18] = 2
        bytes[19] = 2
    }

    /// Makes the database of `memory` a copy of a store, page by page, including the content of the store's log.
    /// - Parameter memory: a new connection to a database in memory.
    /// - Throws: `full` when there is no memory for a copy.
    static func copy(_ store: Connection, to memory: Connection) throws(StorageError) {
        var size: sqlite3_int64 = 0
        guard let start = sqlite3_serialize(store.handle, "main", &size, 0) else { throw lackOfMemory }
        // A database in memory has no log.
        start[18] = 1
        start[19] = 1
        // SQLite frees the bytes, after a failure, too (https://www.sqlite.org/c3ref/deserialize.html).
        let flags = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE)
        guard sqlite3_deserialize(memory.handle, "main", start, size, size, flags) == SQLITE_OK else {
            throw lackOfMemory
        }
    }

    private static var lackOfMemory: StorageError {
        StorageError(.full, "there is not enough memory for a copy of the store")
    }

    /// Writes the image over the file at `path`, in the blocks of the file and of its log, and deletes the log. Call
    /// while no other connection has the store open.
    /// - Throws: `cause`, and leaves the file as it is, when the image does not fit into these blocks or exceeds the
    ///   process's limit for files. Throws `inputOutput`, and leaves the file as it is, when the log cannot be cut.
    ///   Throws `inputOutput`, too, when the file is written and its directory cannot be synced. Throws `damaged` when
    ///   the file is partly written.
    func write(over path: String, because cause: StorageError) throws(StorageError) {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreFile.failure(.inputOutput, "cannot open \(path)") }
        defer { close(descriptor) }
        guard bytes.count <= StoreImage.room(for: path) else { throw cause }
        guard bytes.count <= StoreImage.largestFile else {
            throw StorageError(
                .full, "\(path) would be larger than this process may make a file (raise the limit with 'ulimit -f')",
                cause: cause)
        }
        // The log of the old content must not be applied to the new one. SQLite has the log open, so only a truncation
        // frees its blocks.
        guard truncate(path + "-wal", 0) == 0 || errno == ENOENT else {
            throw StoreFile.failure(.inputOutput, "cannot cut \(path)-wal")
        }
        for suffix in ["-wal", "-shm", "-journal"] { unlink(path + suffix) }
        var unsynced: StorageError?
        do throws(StorageError) { try StoreFile.syncDirectory(of: path) } catch { unsynced = error }
        guard isWritten(to: descriptor), ftruncate(descriptor, off_t(bytes.count)) == 0, fsync(descriptor) == 0 else {
            throw StorageError(
                .damaged, "\(path) could not be rewritten, and its pages are lost: \(String(cString: strerror(errno)))")
        }
        // The log is cut by now, so the file is written all the same.
        if let unsynced {
            throw StorageError(
                .inputOutput, "\(path) is rewritten; a power loss may undo that: \(unsynced.message)", cause: unsynced)
        }
    }

    /// The number of bytes that the file can have without more blocks than it and its log have.
    private static func room(for path: String) -> Int {
        [path, path + "-wal"].reduce(0) { bytes, path in
            var status = stat()
            return lstat(path, &status) == 0 ? bytes + Int(status.st_blocks) * 512 : bytes
        }
    }

    /// The largest size of a file that this process may write, in bytes.
    private static var largestFile: Int {
        var limit = rlimit()
        return getrlimit(fileSizeLimit, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    #if canImport(Glibc)
    private static let fileSizeLimit = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    #else
    private static let fileSizeLimit = RLIMIT_FSIZE
    #endif

    private func isWritten(to descriptor: Int32) -> Bool {
        var position = 0
        while position < bytes.count {
            let step = pwrite(descriptor, bytes.baseAddress! + position, bytes.count - position, off_t(position))
            guard step > 0 else { return false }
            position += step
        }
        return true
    }
}
