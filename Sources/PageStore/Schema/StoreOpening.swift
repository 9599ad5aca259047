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
    /// The connection that writes: makes a blank file a store, migrates.
    /// - Parameter withLog: whether commits go to a write-ahead log. Without it, a file that is made anew takes its own
    ///   size and no more: for a full disk. Default: true.
    static func openWriter(
        _ path: String, _ identity: FileIdentity, options: PageStore.Options, now: Timestamp, withLog: Bool = true
    ) throws(StorageError) -> Connection {
        let connection = try Connection(path: path, fileSystem: options.fileSystem)
        try harden(connection, options)
        // The first read takes a lock on the file, and keeps it.
        try retrying(connection, options) { () throws(StorageError) in _ = try connection.pragma("user_version") }
        try identity.check(connection)
        try stampIfBlank(connection, options)
        // What is not ours, or newer than we are, is refused here, before anything is written.
        try retrying(connection, options) { () throws(StorageError) in try Migrator.checkSchema(of: connection) }
        if withLog { try switchToWAL(connection, options) }
        try connection.execute("PRAGMA synchronous = \(options.isUnsafe ? "OFF" : options.durability.rawValue)")
        // Freed pages of rewritten rows are overwritten where that costs nothing; purge overwrites always.
        try connection.execute("PRAGMA secure_delete = FAST")
        // The log is cut back to this size after a checkpoint, so that a full disk is not full because of it.
        try connection.execute("PRAGMA journal_size_limit = 16777216")
        // Only under the write lock: see `LogMerger`.
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        // What is sorted or moved on the way is nobody's business on a disk.
        try connection.execute("PRAGMA temp_store = MEMORY")
        try Seal.define(in: connection)
        try Migrator.migrate(connection, now: now)
        try Migrator.checkSchema(of: connection)
        try connection.rememberCompanions(of: identity, isAlone: options.fileSystem == StoreFile.exclusiveFileSystem)
        return connection
    }

    /// A connection that holds the write lock while the log is merged, and writes nothing. The writer has been opened
    /// before.
    static func openLocker(
        _ path: String, _ identity: FileIdentity, options: PageStore.Options
    ) throws(StorageError) -> Connection {
        guard FileIdentity(path) == identity else { throw .moved(path) }
        let connection = try Connection(path: path, fileSystem: options.fileSystem)
        try harden(connection, options)
        // It merges the log when it is the last to close.
        try connection.execute("PRAGMA synchronous = \(options.isUnsafe ? "OFF" : options.durability.rawValue)")
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        _ = try connection.pragma("user_version")
        try identity.check(connection)
        try connection.rememberCompanions(of: identity, isAlone: options.fileSystem == StoreFile.exclusiveFileSystem)
        return connection
    }

    /// A connection that only reads. Unless the store as a whole is open for reading only, the writer has been opened
    /// before, so the file is known to be a store.
    static func openReader(
        _ path: String, _ identity: FileIdentity, isReadOnly: Bool, options: PageStore.Options
    ) throws(StorageError) -> Connection {
        guard FileIdentity(path) == identity else { throw .moved(path) }
        let connection =
            isReadOnly ? try openUntouched(path, options) : try Connection(path: path, fileSystem: options.fileSystem)
        try harden(connection, options)
        // A reader merges nothing, not even as the last to close.
        connection.keepLogWhenClosing()
        try retrying(connection, options) { () throws(StorageError) in _ = try connection.pragma("user_version") }
        try identity.check(connection)
        try connection.rememberCompanions(of: identity, isAlone: options.fileSystem == StoreFile.exclusiveFileSystem)
        if isReadOnly {
            try retrying(connection, options) { () throws(StorageError) in try Migrator.checkSchema(of: connection) }
            switch try Migrator.version(of: connection) {
            case Migration.newest: break
            // Whoever was to make it has been stopped before there was anything in it.
            case 0: throw StorageError(.notFound, "there is nothing in \(path) yet")
            default:
                throw StorageError(
                    .permission, "\(path) has an older schema; open it once for writing to bring it up to date")
            }
        } else {
            try connection.execute("PRAGMA query_only = ON")
        }
        return connection
    }

    /// Opens a store that is not to be written. Where not even the shared memory of its log can be made (a read-only
    /// directory or medium), it is read as it is, provided that no log holds anything newer
    /// (https://www.sqlite.org/wal.html#read_only_databases).
    private static func openUntouched(_ path: String, _ options: PageStore.Options) throws(StorageError) -> Connection {
        if options.fileSystem == StoreFile.exclusiveFileSystem {
            // An exclusive lock needs a descriptor that writes.
            let connection = try Connection(path: path, fileSystem: options.fileSystem)
            connection.setBusyBudget(options.busyBudget)
            try connection.execute("PRAGMA query_only = ON")
            return connection
        }
        let connection = try Connection(path: path, .readOnly, fileSystem: options.fileSystem)
        // Where the last process was killed, somebody is making its log good, and holds the others off meanwhile.
        connection.setBusyBudget(options.busyBudget)
        do throws(StorageError) {
            try retrying(connection, options) { () throws(StorageError) in _ = try connection.pragma("user_version") }
            return connection
        } catch {
            guard [.cannotCreate, .permission].contains(error.code), StoreFile.hasNoLog(path) else { throw error }
            return try Connection(path: path, .immutable, fileSystem: options.fileSystem)
        }
    }

    /// https://www.sqlite.org/security.html: "Untrusted SQLite Database Files".
    static func harden(_ connection: Connection, _ options: PageStore.Options) throws(StorageError) {
        connection.setBusyBudget(options.busyBudget)
        connection.timeLimit = options.timeLimit
        try connection.configure(SQLITE_DBCONFIG_DEFENSIVE, true)
        try connection.configure(SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        try connection.configure(SQLITE_DBCONFIG_ENABLE_VIEW, false)
        try connection.configure(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
        connection.limit(SQLITE_LIMIT_ATTACHED, 0)
        // No value larger than this is believed, or stored: a page's limit is far below (R43).
        connection.limit(SQLITE_LIMIT_LENGTH, 256 << 20)
        try connection.execute("PRAGMA cell_size_check = ON")
        // With a memory map, a file that another program truncates kills the process.
        try connection.execute("PRAGMA mmap_size = 0")
    }

    private static let schemaObjects = SQL("SELECT count(*) FROM sqlite_schema")

    /// Marks a blank file as ours. This is written in rollback mode, straight into the header, so that a process that
    /// dies later in opening still leaves a file that says what it is.
    ///
    /// One transaction: a process killed in the middle leaves an empty file, or a journal that makes it empty again,
    /// and so whether the file is blank is asked of SQLite and not of the header.
    private static func stampIfBlank(_ connection: Connection, _ options: PageStore.Options) throws(StorageError) {
        try retrying(connection, options) { () throws(StorageError) in
            // Both in one look: somebody else may be making a store of it right now.
            let (stamp, objects) = try connection.transaction(.read) { () throws(StorageError) in
                (try connection.pragma("application_id"), try connection.number(schemaObjects) ?? 0)
            }
            guard stamp != Int64(StoreFile.applicationID) else { return }
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
    private static func switchToWAL(_ connection: Connection, _ options: PageStore.Options) throws(StorageError) {
        try retrying(connection, options) { () throws(StorageError) in
            var mode = ""
            try connection.pragma("journal_mode = WAL") { row throws(StorageError) in mode = row.text(0) }
            guard mode == "wal" else {
                throw StorageError(.inputOutput, "\(connection.path) cannot use a write-ahead log here")
            }
        }
    }

    /// Tries again while somebody else is in the way, for no longer than the busy budget in all: an attempt may wait
    /// itself, and gets what is left of it.
    private static func retrying(
        _ connection: Connection, _ options: PageStore.Options, _ body: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let deadline = ContinuousClock.now + min(options.busyBudget, .milliseconds(Int32.max))
        defer { connection.setBusyBudget(options.busyBudget) }
        while true {
            do throws(StorageError) {
                return try body()
            } catch {
                guard error.code == .busy, ContinuousClock.now < deadline else { throw error }
            }
            usleep(10_000)
            connection.setBusyBudget(max(.zero, ContinuousClock.now.duration(to: deadline)))
        }
    }
}
