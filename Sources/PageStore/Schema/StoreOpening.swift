import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// How a connection is opened so that neither a hostile file nor a second process can surprise us.
enum StoreOpening {
    /// The connection that writes: checks the file, makes a blank one a store, migrates.
    static func openWriter(
        _ path: String, options: PageStore.Options, now: Timestamp
    ) throws(StorageError) -> Connection {
        // Refused here, if it is not one of ours, before SQLite touches it.
        // R9: an empty file that somebody made for us may be readable to others.
        if try StoreFile.kind(of: path) == .blank { chmod(path, 0o600) }
        let connection = try Connection(path: path)
        try harden(connection)
        connection.setBusyBudget(options.busyBudget)
        try stampIfBlank(connection, budget: options.busyBudget)
        // A newer schema is refused here, before anything is written.
        _ = try Migrator.version(of: connection)
        try switchToWAL(connection, budget: options.busyBudget)
        try connection.execute("PRAGMA synchronous = \(options.durability.rawValue)")
        // Freed pages of rewritten rows are overwritten where that costs nothing; purge overwrites always.
        try connection.execute("PRAGMA secure_delete = FAST")
        // The log is cut back to this size after a checkpoint, so that a full disk is not full because of it.
        try connection.execute("PRAGMA journal_size_limit = 16777216")
        try Migrator.migrate(connection, now: now)
        try Migrator.checkSchema(of: connection)
        return connection
    }

    /// A connection that only reads. The writer has been opened before, so the file is known to be a store.
    static func openReader(_ path: String, options: PageStore.Options) throws(StorageError) -> Connection {
        let connection = try Connection(path: path)
        try harden(connection)
        connection.setBusyBudget(options.busyBudget)
        try connection.execute("PRAGMA query_only = ON")
        return connection
    }

    /// https://www.sqlite.org/security.html: "Untrusted SQLite Database Files".
    private static func harden(_ connection: Connection) throws(StorageError) {
        try connection.configure(SQLITE_DBCONFIG_DEFENSIVE, true)
        try connection.configure(SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        try connection.configure(SQLITE_DBCONFIG_ENABLE_VIEW, false)
        try connection.configure(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
        connection.limit(SQLITE_LIMIT_ATTACHED, 0)
        try connection.execute("PRAGMA cell_size_check = ON")
        // With a memory map, a file that another program truncates kills the process.
        try connection.execute("PRAGMA mmap_size = 0")
    }

    /// Marks a blank file as ours. This is written in rollback mode, straight into the header, so that a process that
    /// dies later in opening still leaves a file that says what it is.
    ///
    /// One transaction: a process killed in the middle leaves an empty file, or a journal that makes it empty again, and
    /// so whether the file is blank is asked of SQLite and not of the header.
    private static func stampIfBlank(_ connection: Connection, budget: Duration) throws(StorageError) {
        try retrying(budget) { () throws(StorageError) in
            let stamp = try connection.first("PRAGMA application_id") { row throws(StorageError) in row.int64(0) } ?? 0
            guard stamp != Int64(StoreFile.applicationID) else { return }
            let objects = try connection.first("SELECT count(*) FROM sqlite_schema") { row throws(StorageError) in row.int(0) } ?? 0
            guard stamp == 0, objects == 0 else {
                throw StorageError(.notAStore, "\(connection.path) is not a pagecache store")
            }
            do throws(StorageError) {
                // Space can be given back page by page only if this is set before anything is written. It cannot be
                // once a write transaction has begun, so this one begins with it.
                try connection.execute(
                    """
                    BEGIN;
                    PRAGMA auto_vacuum = INCREMENTAL;
                    PRAGMA application_id = \(StoreFile.applicationID);
                    COMMIT
                    """)
            } catch {
                try? connection.execute("ROLLBACK")
                throw error
            }
        }
    }

    /// Switching to WAL can report BUSY without asking the busy handler, so it is retried here.
    private static func switchToWAL(_ connection: Connection, budget: Duration) throws(StorageError) {
        try retrying(budget) { () throws(StorageError) in
            let mode = try connection.first("PRAGMA journal_mode = WAL") { row throws(StorageError) in row.text(0) }
            guard mode == "wal" else {
                throw StorageError(.inputOutput, "\(connection.path) cannot use a write-ahead log here")
            }
        }
    }

    private static func retrying(_ budget: Duration, _ body: () throws(StorageError) -> Void) throws(StorageError) {
        let step = Duration.milliseconds(10)
        var waited = Duration.zero
        while true {
            do throws(StorageError) {
                return try body()
            } catch {
                guard error.code == .busy, waited < budget else { throw error }
            }
            usleep(UInt32(step.wholeMilliseconds * 1_000))
            waited += step
        }
    }
}
