import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The cause of an error: a store can be read only after it was opened for writing.
enum NeedsWriter: Error {
    case olderSchema
    /// A program that uses a rollback journal was killed during a commit, so the file may hold only a part of it.
    case hotJournal
}

/// Opens connections in a way that is safe against hostile files and concurrent processes.
enum StoreOpening {
    /// Opens the connection that writes. Makes a blank file a store, and migrates the schema.
    /// - Parameter withLog: whether commits go to a write-ahead log. Without a log, a recreated file needs only its own
    ///   size, which helps on a full disk. Defaults to true.
    static func openWriter(
        _ path: String, _ identity: FileIdentity, options: SQLitePageStore.Options, now: Timestamp, withLog: Bool = true
    ) throws(StorageError) -> Connection {
        let connection = try Connection(
            path: path, fileSystem: options.fileSystem, place: OpenStore(path, identity))
        try harden(connection, options)
        // The first read takes SQLite's lock on the file. In WAL mode the connection keeps it.
        try readFirst(connection, options)
        try identity.check(connection)
        try StoreHeader.checkWritable(connection)
        try stampIfBlank(connection, options)
        // A file that is not a store, or has a newer schema, is refused before anything is written.
        var lacksIndexes = false
        try retrying(connection, options) { () throws(StorageError) in
            lacksIndexes = try Migrator.lacksIndexes(connection)
        }
        if withLog {
            do throws(StorageError) {
                try switchToWAL(connection, options)
            } catch {
                // Another program chose a rollback journal, and the disk has no room for the switch. This process uses
                // the store alone then, and can make room.
                guard error.code == .full, options.isAlone else { throw error }
            }
        }
        try connection.execute("PRAGMA synchronous = \(options.isUnsafe ? "OFF" : options.durability.rawValue)")
        // FAST overwrites freed pages where that needs no additional writes. A purge always overwrites them.
        try connection.execute("PRAGMA secure_delete = FAST")
        // The log is cut to this size after a checkpoint, so that a large log does not keep the disk full.
        try connection.execute("PRAGMA journal_size_limit = 16777216")
        // This package merges the log only under the write lock: see `LogMerger`.
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        // Temporary data of sorts and moves is not written to the disk.
        try connection.execute("PRAGMA temp_store = MEMORY")
        try RowChecksum.define(in: connection)
        if lacksIndexes { try createIndexes(connection) }
        try Migrator.migrate(connection, now: now)
        try connection.transaction(.read) { () throws(StorageError) in try Migrator.compareSchema(of: connection) }
        try connection.rememberCompanions(of: identity, isAlone: options.fileSystem == StoreFile.exclusiveFileSystem)
        return connection
    }

    /// Creates missing indexes again, unless the disk has no room. No read and no write needs them.
    private static func createIndexes(_ connection: Connection) throws(StorageError) {
        do throws(StorageError) {
            try Migrator.createIndexes(in: connection)
        } catch {
            guard error.code == .full else { throw error }
            connection.lacksIndexes = true
        }
    }

    /// Opens the connection that holds the write lock during merges. It changes no rows. The writer must have been
    /// opened before.
    static func openLocker(
        _ path: String, _ identity: FileIdentity, options: SQLitePageStore.Options
    ) throws(StorageError) -> Connection {
        guard FileIdentity(path) == identity else { throw .moved(path) }
        let connection = try Connection(
            path: path, fileSystem: options.fileSystem, place: OpenStore(path, identity))
        try harden(connection, options)
        // This connection merges the log when it is the last one to close.
        try connection.execute("PRAGMA synchronous = \(options.isUnsafe ? "OFF" : options.durability.rawValue)")
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
        _ = try connection.pragma("user_version")
        try identity.check(connection)
        try connection.rememberCompanions(of: identity, isAlone: options.fileSystem == StoreFile.exclusiveFileSystem)
        return connection
    }

    /// Opens a connection that only reads. The writer must have been opened before, unless the whole store is open for
    /// reading only. In that case this function checks the schema itself.
    /// - Parameter takesOlder: whether a store of an older schema is opened, too. Otherwise such a store throws
    ///   `permission` with the cause `NeedsWriter`. Defaults to false.
    static func openReader(
        _ path: String, _ identity: FileIdentity, isReadOnly: Bool, options: SQLitePageStore.Options,
        takesOlder: Bool = false
    ) throws(StorageError) -> Connection {
        guard FileIdentity(path) == identity else { throw .moved(path) }
        let place = OpenStore(path, identity)
        let connection =
            isReadOnly
            ? try openUntouched(path, options, place)
            : try Connection(path: path, fileSystem: options.fileSystem, place: place)
        try harden(connection, options)
        // A reader never merges the log, not even as the last connection to close.
        connection.keepLogWhenClosing()
        try readFirst(connection, options)
        try identity.check(connection)
        try connection.rememberCompanions(of: identity, isAlone: options.fileSystem == StoreFile.exclusiveFileSystem)
        if isReadOnly {
            // A read does without a missing index. `verify` reports it.
            try retrying(connection, options) { () throws(StorageError) in
                connection.lacksIndexes = try Migrator.lacksIndexes(connection)
            }
            switch try Migrator.version(of: connection) {
            case Migration.newest: break
            // The process that was creating the store ended before it wrote anything.
            case 0: throw StorageError(.notFound, "\(path) is empty: no process has created a store in it")
            default:
                guard takesOlder else {
                    throw StorageError(
                        .permission, "\(path) has an older schema; open it once for writing to bring it up to date",
                        cause: NeedsWriter.olderSchema)
                }
            }
        } else {
            try connection.execute("PRAGMA query_only = ON")
        }
        return connection
    }

    /// Opens a store that must not be written. A read-only directory or medium may not even allow the shared memory of
    /// the log. The file is then read as it is, if no log has newer data
    /// (https://www.sqlite.org/wal.html#read_only_databases).
    private static func openUntouched(
        _ path: String, _ options: SQLitePageStore.Options, _ place: OpenStore
    ) throws(StorageError) -> Connection {
        if options.fileSystem == StoreFile.exclusiveFileSystem {
            // An exclusive lock needs a descriptor that is open for writing.
            let connection = try Connection(path: path, fileSystem: options.fileSystem, place: place)
            connection.setBusyBudget(options.busyBudget)
            try connection.execute("PRAGMA query_only = ON")
            return connection
        }
        let connection = try Connection(path: path, .readOnly, fileSystem: options.fileSystem, place: place)
        // After a crash another process may be recovering the log. It holds the locks until it has finished.
        connection.setBusyBudget(options.busyBudget)
        do throws(StorageError) {
            try readFirst(connection, options)
            return connection
        } catch {
            // SQLITE_READONLY_ROLLBACK
            if (error.cause as? SQLiteError)?.code == SQLITE_READONLY | 3 << 8 {
                throw StorageError(
                    .permission,
                    "\(path)-journal holds an unfinished change of another program; open the store once for writing to undo it",
                    cause: NeedsWriter.hotJournal)
            }
            guard [.cannotCreate, .permission].contains(error.code), StoreFile.hasNoLog(path) else { throw error }
            let state = FileState(path)
            let connection = try Connection(path: path, .immutable, fileSystem: options.fileSystem, place: place)
            connection.immutableState = state
            return connection
        }
    }

    /// Applies SQLite's advice for untrusted database files (https://www.sqlite.org/security.html).
    static func harden(_ connection: Connection, _ options: SQLitePageStore.Options) throws(StorageError) {
        connection.setBusyBudget(options.busyBudget)
        connection.timeLimit = options.timeLimit
        try connection.configure(SQLITE_DBCONFIG_DEFENSIVE, true)
        try connection.configure(SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        try connection.configure(SQLITE_DBCONFIG_ENABLE_VIEW, false)
        try connection.configure(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
        connection.limit(SQLITE_LIMIT_ATTACHED, 0)
        // Larger values are neither read nor written. The limit of a page is far smaller (R43).
        connection.limit(SQLITE_LIMIT_LENGTH, 256 << 20)
        try connection.execute("PRAGMA cell_size_check = ON")
        // With a memory map, the process would be killed when another program truncates the file.
        try connection.execute("PRAGMA mmap_size = 0")
    }

    private static let schemaObjects = SQL("SELECT count(*) FROM sqlite_schema")

    /// Marks a blank file as a store. The mark is written in rollback mode, directly into the header. A process that
    /// dies later during opening then leaves a file that is known to be a store.
    ///
    /// The mark is one transaction. A process killed during it leaves an empty file, or a journal that makes the file
    /// empty again. So SQLite, and not the header, decides whether the file is blank.
    private static func stampIfBlank(_ connection: Connection, _ options: SQLitePageStore.Options) throws(StorageError)
    {
        try retrying(connection, options) { () throws(StorageError) in
            // One transaction reads both values, because another process may be creating the store right now.
            let (stamp, objects) = try connection.transaction(.read) { () throws(StorageError) in
                (try connection.pragma("application_id"), try connection.number(schemaObjects) ?? 0)
            }
            guard stamp != Int64(StoreFile.applicationID) else { return }
            guard stamp == 0, objects == 0 else {
                throw StorageError(.notAStore, "\(connection.path) is not a pagecache store")
            }
            try stampBlank(connection)
        }
    }

    /// Marks a blank database as a store.
    static func stampBlank(_ connection: Connection) throws(StorageError) {
        do throws(StorageError) {
            // Incremental vacuum works only if it is enabled before anything is written. A pragma cannot enable it
            // after a write transaction has begun, so it is the first statement of this one.
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

    /// Switches to WAL. The switch can report BUSY without calling the busy handler, so it is retried here.
    private static func switchToWAL(_ connection: Connection, _ options: SQLitePageStore.Options) throws(StorageError) {
        try retrying(connection, options) { () throws(StorageError) in
            var mode = ""
            try connection.pragma("journal_mode = WAL") { row throws(StorageError) in mode = row.text(0) }
            guard mode == "wal" else {
                throw StorageError(.inputOutput, "\(connection.path) cannot use a write-ahead log here")
            }
        }
    }

    /// Reads the header through SQLite. The file has the mark of a store, so a header that SQLite refuses is damage.
    private static func readFirst(_ connection: Connection, _ options: SQLitePageStore.Options) throws(StorageError) {
        do throws(StorageError) {
            try retrying(connection, options) { () throws(StorageError) in _ = try connection.pragma("user_version") }
        } catch {
            guard error.code == .notAStore else { throw error }
            throw StorageError(.damaged, "the header of \(connection.path) is damaged", cause: error)
        }
    }

    /// Runs `body` again while another process holds a lock. All attempts together last no longer than the busy budget:
    /// each attempt may itself wait for the rest of the budget.
    private static func retrying(
        _ connection: Connection, _ options: SQLitePageStore.Options, _ body: () throws(StorageError) -> Void
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
