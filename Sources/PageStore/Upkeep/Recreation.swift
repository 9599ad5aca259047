import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Empties a store whose file SQLite can no longer write. On a full disk a DELETE fails, because it also writes.
enum Recreation {
    /// The largest number of bytes held in memory while a file is recreated.
    static let mostBytesInMemory = 256 << 20

    /// Empties the file at `path`. The next opening makes it a store again.
    /// - Returns: the number of bytes freed.
    /// - Throws: an error with the code of `cause` when this or another process has the store open.
    static func empty(_ path: String, because cause: StorageError) throws(StorageError) -> Int {
        let bytes = [path, path + "-wal", path + "-shm"].reduce(0) { $0 + StoreFile.size($1) }
        try whileAlone(with: path, otherwise: cause) { () throws(StorageError) in
            guard truncate(path, 0) == 0 else {
                throw StorageError(.inputOutput, "cannot empty \(path): \(String(cString: strerror(errno)))")
            }
            unlink(path + "-wal")
            unlink(path + "-shm")
            unlink(path + "-journal")
        }
        return bytes
    }

    /// Runs `body` while no other process has the store open, and none can open it.
    ///
    /// A process with an open store in WAL mode holds a shared lock on the bytes that SQLite reserves for locks
    /// (https://www.sqlite.org/fileformat.html#the_lock_byte_page). An exclusive lock on these bytes excludes every
    /// process. A process that is just opening the store may not hold that lock yet. This call waits until such a
    /// process has it: see `StoreGate`.
    static func whileAlone<Value: Sendable>(
        with path: String, otherwise error: StorageError, budget: Duration = .seconds(5),
        _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let inUse = StorageError(error.code, "\(error.message); the store is open elsewhere too", cause: error)
        let gate = StoreGate(path, makingFile: true)
        try gate?.lockExclusively(budget: budget)
        defer { withExtendedLifetime(gate) {} }
        return try OpenStores.whileClosed(path, otherwise: inUse) { () throws(StorageError) in
            try locked(path, otherwise: inUse, body)
        }
    }

    private static func locked<Value>(
        _ path: String, otherwise error: StorageError, _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw StoreFile.failure(.inputOutput, "cannot open \(path)") }
        defer { close(descriptor) }
        guard ByteLock(descriptor: descriptor).set(.exclusive, at: 0x4000_0000, length: 512) else { throw error }
        return try body()
    }
}
