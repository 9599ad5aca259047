import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Emptying a store whose file SQLite can no longer write: on a full disk a DELETE fails, because it writes too.
enum Recreation {
    /// More than this is not held in memory while a file is made anew.
    static let mostBytesInMemory = 256 << 20

    /// Empties the file at `path`. The next opening makes a store of it again.
    /// - Returns: how many bytes were given back.
    /// - Throws: `cause` when another process has the store open.
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
    /// Whoever has a store in WAL mode open holds a shared lock on the bytes that SQLite reserves for locking
    /// (https://www.sqlite.org/fileformat.html#the_lock_byte_page), for as long as it is open. The same bytes locked
    /// for writing keep every process out. A process that is opening it and has no lock yet is waited for: see
    /// `StoreGate`.
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
