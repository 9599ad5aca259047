import CSQLite
import PageModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// One SQLite connection, used by one thread at a time (whoever owns it sees to that).
///
/// Mutable state: the C handle, the prepared statements, the watchdog, the busy budget, what could not be reached. All of it belongs to whoever uses the connection.
/// Statements are finalised before the handle is closed; SQLite requires that order
/// (https://www.sqlite.org/c3ref/close.html).
final class Connection {
    /// How a file is opened.
    enum Access {
        case readWrite
        case readOnly
        /// Read only, and nobody writes: without a lock, a log, or any file of its own. For media that cannot be written.
        case immutable
    }

    let path: String
    private let handle: OpaquePointer
    private var statements: [Statement?] = []
    private let watchdog: Watchdog
    private var busyBudget: Int32 = 0
    /// What write transactions could not reach.
    var unreachable: Set<UnreachableRow> = []
    /// Whether a write transaction is under way.
    var isWriting = false
    private var endOfLog: ((Int) -> LogEnd?)?

    /// Opens an existing file; never creates one. `path` must be resolved: symbolic links in it are refused.
    /// - Parameter fileSystem: the name of a SQLite VFS; nil for the default one.
    init(path: String, _ access: Access = .readWrite, fileSystem: String? = nil) throws(StorageError) {
        var handle: OpaquePointer?
        // NOMUTEX: one thread at a time, so SQLite need not lock again. EXRESCODE: the codes say what failed.
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        flags |= access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        if path != ":memory:" { flags |= SQLITE_OPEN_NOFOLLOW }
        if access == .immutable { flags |= SQLITE_OPEN_URI }
        let name = access == .immutable ? Connection.immutableURI(path) : path
        let gathering = access == .readWrite ? GatheringVFS.name(over: fileSystem) : nil
        let code = sqlite3_open_v2(name, &handle, flags, gathering ?? fileSystem)
        guard code == SQLITE_OK, let handle else {
            let error = StorageError.sqlite(code, doing: "opening", path: path, handle: handle)
            sqlite3_close_v2(handle)
            throw error
        }
        self.path = path
        self.handle = handle
        watchdog = Watchdog(handle)
    }

    deinit {
        sqlite3_wal_hook(handle, nil, nil)
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    // MARK: Statements

    /// Runs a script of statements without parameters.
    func execute(_ script: String) throws(StorageError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, doing: "running a statement on") }
    }

    /// Runs one statement that returns nothing.
    func run(_ sql: SQL, _ values: SQLValue...) throws(StorageError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() {}
    }

    /// Runs one statement that returns nothing; `bind` gives it its values without boxing them first.
    func run(_ sql: SQL, bind: (Statement) throws(StorageError) -> Void) throws(StorageError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try bind(statement)
        while try statement.step() {}
    }

    /// The first row for these values, mapped; nil when there is none.
    func first<Value>(
        _ sql: SQL, values: [SQLValue], map: (borrowing Row) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        return try statement.step() ? try map(Row(statement: statement)) : nil
    }

    /// Runs a statement whose text is made from our own schema.
    func run(_ text: String, _ values: [SQLValue]) throws(StorageError) {
        let statement = try prepare(text, persistent: false)
        try statement.bind(values)
        while try statement.step() {}
    }

    /// Calls `body` with each row of a statement whose text is made from our own schema.
    func each(_ text: String, body: (borrowing Row) throws(StorageError) -> Void) throws(StorageError) {
        let statement = try prepare(text, persistent: false)
        while try statement.step() { try body(Row(statement: statement)) }
    }

    /// Calls `body` with each row.
    func each(
        _ sql: SQL, _ values: SQLValue..., body: (borrowing Row) throws(StorageError) -> Void
    ) throws(StorageError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() {
            try body(Row(statement: statement))
        }
    }

    /// The first row, mapped; nil when there is none.
    func first<Value>(
        _ sql: SQL, _ values: SQLValue..., map: (borrowing Row) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        return try statement.step() ? try map(Row(statement: statement)) : nil
    }

    /// The first row for two numbers, mapped: the key of most tables.
    func first<Value>(
        _ sql: SQL, _ one: Int64, _ two: Int64, map: (borrowing Row) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(1, one)
        try statement.bind(2, two)
        return try statement.step() ? try map(Row(statement: statement)) : nil
    }

    /// The number in the first column of the first row; nil when there is no row.
    func number(_ sql: SQL, _ values: SQLValue...) throws(StorageError) -> Int64? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        return try statement.step() ? Row(statement: statement).int64(0) : nil
    }

    /// Runs a pragma and calls `body` with each row. Pragmas take no parameters; their text is ours.
    func pragma(_ text: String, body: (borrowing Row) throws(StorageError) -> Void) throws(StorageError) {
        let statement = try prepare("PRAGMA \(text)", persistent: false)
        while try statement.step() { try body(Row(statement: statement)) }
    }

    /// The number that a pragma answers with.
    func pragma(_ text: String) throws(StorageError) -> Int64 {
        var number: Int64 = 0
        try pragma(text) { row throws(StorageError) in number = row.int64(0) }
        return number
    }

    /// How many rows the last statement inserted, changed or deleted.
    var changes: Int { Int(sqlite3_changes64(handle)) }

    /// The rowid of the last insert.
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    // MARK: Settings

    /// Sets a Boolean option of the connection.
    func configure(_ option: Int32, _ value: Bool) throws(StorageError) {
        let code = pagecache_db_config(handle, option, value ? 1 : 0)
        guard code == SQLITE_OK else { throw failure(code, doing: "configuring the connection to") }
    }

    /// Sets a limit of the connection (https://www.sqlite.org/c3ref/limit.html).
    func limit(_ category: Int32, _ value: Int32) {
        sqlite3_limit(handle, category, value)
    }

    /// Lets so many databases be attached while `body` runs; none before and after (`StoreOpening`).
    func allowingAttached(_ count: Int32, _ body: () throws(StorageError) -> Void) throws(StorageError) {
        let before = sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, count)
        defer { sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, before) }
        try body()
    }

    func setBusyBudget(_ duration: Duration) {
        busyBudget = Int32(clamping: duration.wholeMilliseconds)
        sqlite3_busy_timeout(handle, busyBudget)
    }

    /// Runs `body` with no patience for other processes; nil when it would have had to wait for one.
    func withoutWaiting<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value? {
        sqlite3_busy_timeout(handle, 0)
        defer { sqlite3_busy_timeout(handle, busyBudget) }
        do throws(StorageError) {
            return try body()
        } catch {
            guard error.code == .busy else { throw error }
            return nil
        }
    }

    /// How what is left of the log is merged into the file, so that the next commit begins at its start.
    enum LogEnd {
        /// As far as nobody is in the way.
        case atOnce
        /// Waiting for readers, and for others that write, for `endPatience`.
        case patiently
    }

    /// Longer than reading an outline of 10,000 pages, and far shorter than the busy budget of those who are held up meanwhile.
    static let endPatience = Duration.milliseconds(50)

    /// Asks after each commit, with the size of the log in pages, whether this connection shall merge it into the file, and how. Takes the
    /// place of SQLite's automatic checkpoints (https://www.sqlite.org/c3ref/wal_hook.html).
    func watchLog(_ end: @escaping (Int) -> LogEnd?) {
        endOfLog = end
        sqlite3_wal_hook(
            handle,
            { connection, _, _, pages in
                // The handle is closed before the connection is gone.
                if let connection { Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue().logHasGrown(to: Int(pages)) }
                // The commit is made, whatever came of this.
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func logHasGrown(to pages: Int) {
        guard let end = endOfLog?(pages) else { return }
        // Both keep others from committing meanwhile: what they add, this would not merge. FULL only if nobody is at it just then, since it
        // has no patience; RESTART also waits until nobody reads out of the log. Who begins to read then reads the file.
        sqlite3_busy_timeout(handle, end == .atOnce ? 0 : Int32(Connection.endPatience.wholeMilliseconds))
        sqlite3_wal_checkpoint_v2(handle, nil, end == .atOnce ? SQLITE_CHECKPOINT_FULL : SQLITE_CHECKPOINT_RESTART, nil, nil)
        sqlite3_busy_timeout(handle, busyBudget)
    }

    /// Merges what it can of the log into the file, and waits for nobody. What fails leaves the log as it is.
    /// - Returns: whether nearly all is merged of what was in it: nothing failed, and no reader stands far back.
    func mergeLog() -> Bool {
        var (size, merged): (Int32, Int32) = (0, 0)
        guard sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &size, &merged) == SQLITE_OK else { return false }
        return merged >= size - size / 16
    }

    /// Waits until what was written to the file is on the disk, if this connection waits for the disk at all.
    /// - Returns: whether it has.
    func syncFile() -> Bool {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard let level = try? pragma("synchronous") else { return false }
        guard level > 0 else { return true }
        guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file else { return false }
        return file.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_NORMAL) == SQLITE_OK
    }

    /// Merges the log into the file and leaves it empty, unless readers are in the way for longer than the busy budget.
    /// - Parameters:
    ///   - isUrgent: whether others who merge it are waited for, too: within the same budget.
    ///   - pause: between two attempts.
    /// - Returns: whether it is empty.
    @discardableResult
    func emptyLog(isUrgent: Bool, pause: () -> Void = { usleep(10_000) }) throws(StorageError) -> Bool {
        let deadline = ContinuousClock.now + .milliseconds(busyBudget)
        defer { sqlite3_busy_timeout(handle, busyBudget) }
        while true {
            var isBlocked = false
            try pragma("wal_checkpoint(TRUNCATE)") { row throws(StorageError) in isBlocked = row.bool(0) }
            let left = ContinuousClock.now.duration(to: deadline)
            guard isBlocked, isUrgent, left > .zero else { return !isBlocked }
            // Readers are waited for by SQLite itself; somebody who merges the log is not
            // (https://www.sqlite.org/c3ref/wal_checkpoint_v2.html).
            pause()
            sqlite3_busy_timeout(handle, Int32(clamping: left.wholeMilliseconds))
        }
    }

    /// How long a transaction may compute; nil for as long as it takes.
    var timeLimit: Duration? {
        get { watchdog.limit }
        set { watchdog.limit = newValue }
    }

    /// Starts counting the time limit anew.
    func restartWatchdog() { watchdog.restart() }

    /// Adds a function to SQL on this connection that does nothing but compute.
    func define(
        _ name: String, arguments: Int32,
        _ function: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void
    ) throws(StorageError) {
        // DIRECTONLY: nothing in a schema can call it (https://www.sqlite.org/c3ref/c_deterministic.html).
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
        let code = sqlite3_create_function_v2(handle, name, arguments, flags, nil, function, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, doing: "defining a function for") }
    }

    // MARK: Plumbing

    private func prepared(_ sql: SQL) throws(StorageError) -> Statement {
        if sql.number < statements.count, let statement = statements[sql.number] { return statement }
        let made = try prepare(sql.text, persistent: true)
        while statements.count <= sql.number { statements.append(nil) }
        statements[sql.number] = made
        return made
    }

    private func prepare(_ text: String, persistent: Bool) throws(StorageError) -> Statement {
        var statement: OpaquePointer?
        let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sqlite3_prepare_v3(handle, text, -1, flags, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code, doing: "preparing a statement for") }
        return Statement(statement, connection: handle, path: path)
    }

    private func failure(_ code: Int32, doing what: String) -> StorageError {
        .sqlite(code, doing: what, path: path, handle: handle)
    }

    /// https://www.sqlite.org/uri.html: everything but plain characters is escaped.
    private static func immutableURI(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var uri = "file:"
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                uri.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                uri += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return uri + "?immutable=1"
    }
}
