import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Empties or rewrites a store whose file SQLite can no longer write. On a full disk a DELETE fails, because a DELETE
/// also writes.
enum Recreation {
    /// The largest number of bytes held in memory while a file is recreated.
    static let mostBytesInMemory = 256 << 20

    /// Empties the file at `path`. The next opening makes it a store again.
    /// - Returns: the number of bytes freed.
    /// - Throws: an error with the code of `cause` when this or another process has the store open.
    static func empty(_ path: String, because cause: StorageError) throws(StorageError) -> Int {
        let bytes = size(path)
        try whileAlone(with: path, otherwise: cause) { () throws(StorageError) in try cut(path) }
        return bytes
    }

    /// Reads rows of a store with `look`, empties the file, and fills it again. No process commits between reading and
    /// emptying, and none opens the store before the file is filled. Close the store before.
    /// - Parameters:
    ///   - look: reads the rows. Returns `nil` to leave the file as it is. Its connection excludes all others.
    ///   - fill: makes the empty file a store again, with the result of `look`.
    /// - Returns: the result of `look`, and the number of bytes freed. `nil` where the file was left as it is.
    /// - Throws: an error with the code of `cause` when another connection has the store open.
    static func empty<Value>(
        _ path: String, _ options: SQLitePageStore.Options, because cause: StorageError,
        after look: (Connection) throws(StorageError) -> Value?, then fill: (Value) throws(StorageError) -> Void
    ) throws(StorageError) -> (value: Value, bytes: Int)? {
        let gate = StoreGate(path, makingFile: true)
        try gate?.lockExclusively(budget: options.busyBudget)
        defer { withExtendedLifetime(gate) {} }
        let bytes = size(path)
        let found = try whileExclusive(path, options, because: cause) { connection throws(StorageError) -> Value? in
            guard let value = try look(connection) else { return nil }
            try cut(path)
            return value
        }
        guard let value = found else { return nil }
        try fill(value)
        return (value, bytes)
    }

    /// Writes the rows that `choose` returns over the file, which takes no new block of the disk. No process commits or
    /// opens the store meanwhile. Close the store before.
    /// - Throws: an error with the code of `cause` when another connection has the store open, and the errors of
    ///   `StoreImage.write(over:because:)`.
    static func rewrite(
        _ path: String, _ options: SQLitePageStore.Options, because cause: StorageError,
        with choose: (Connection) throws(StorageError) -> MemoryCopy
    ) throws(StorageError) -> MemoryCopy {
        let gate = StoreGate(path, makingFile: true)
        try gate?.lockExclusively(budget: options.busyBudget)
        defer { withExtendedLifetime(gate) {} }
        return try whileExclusive(path, options, because: cause) { connection throws(StorageError) in
            let rows = try choose(connection)
            try rows.image().write(over: path, because: cause)
            return rows
        }
    }

    /// Runs `body` with a connection that excludes all others. `body` replaces the file, which the connection does not
    /// write when it closes.
    private static func whileExclusive<Value>(
        _ path: String, _ options: SQLitePageStore.Options, because cause: StorageError,
        _ body: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        guard let identity = FileIdentity(path) else { throw .moved(path) }
        let connection = try Connection(
            path: path, fileSystem: options.fileSystem, place: OpenStore(path, identity))
        defer { withExtendedLifetime(connection) {} }
        try StoreOpening.harden(connection, options)
        connection.timeLimit = nil
        // Closing must not write the log, which is gone by then.
        connection.keepLogWhenClosing()
        do throws(StorageError) {
            // With this mode the log needs no shared memory, for which a full disk has no room
            // (https://www.sqlite.org/wal.html#noshm).
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
        } catch {
            guard error.code == .busy else { throw error }
            throw inUse(cause)
        }
        return try body(connection)
    }

    private static func size(_ path: String) -> Int {
        [path, path + "-wal", path + "-shm"].reduce(0) { $0 + StoreFile.size($1) }
    }

    /// Cuts the file to 0 bytes and removes its log, shared memory and journal. Call while no other connection has the
    /// store open.
    /// - Throws: `inputOutput` when the system refuses to cut the file.
    private static func cut(_ path: String) throws(StorageError) {
        guard truncate(path, 0) == 0 else {
            throw StorageError(.inputOutput, "cannot empty \(path): \(String(cString: strerror(errno)))")
        }
        for suffix in ["-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }

    private static func inUse(_ cause: StorageError) -> StorageError {
        StorageError(cause.code, "\(cause.message); another process has the store open, too", cause: cause)
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
        let inUse = inUse(error)
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
