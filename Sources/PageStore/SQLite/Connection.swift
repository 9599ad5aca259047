import CSQLite
import PageModel

/// One SQLite connection. The owner ensures that only one thread uses it at a time.
///
/// Mutable state: the C handle, the prepared statements, the watchdog, the lock wait and the unreachable rows. All
/// of it belongs to the thread that uses the connection. Statements are finalised before the handle is closed; SQLite
/// requires that order (https://www.sqlite.org/c3ref/close.html).
final class Connection {
    /// The access mode of the file.
    enum Access {
        case readWrite
        case readOnly
        /// Read only, without a lock, a log or any other file. No process may write meanwhile. For media that cannot be
        /// written.
        case immutable
    }

    /// The version of the SQLite library, such as "3.40.1".
    static var libraryVersion: String { String(cString: sqlite3_libversion()) }

    let path: String
    let handle: OpaquePointer
    /// The entry in `OpenStores`. It lives until the handle is closed. `nil` for a file that is not a store.
    let place: OpenStore?
    private var statements: [Statement?] = []
    private let watchdog: Watchdog
    /// How statements wait for locks of other connections, see `Connection+Waiting`.
    var lockWait = LockWait()
    /// The turns of the processes that write. `nil` for a connection that only reads.
    var turns: WriteTurns?
    var logObserver: ((Int) -> Void)?
    /// The rows that write transactions could not reach.
    var unreachable: Set<UnreachableRow> = []
    /// The log and the shared memory, as this connection found them when it was opened.
    var companions: [(path: String, identity: FileIdentity)] = []
    /// The file as it was when this connection was opened as immutable. `nil` for any other connection.
    var immutableState: FileState?
    /// Whether the index of names was found to have an entry for each record, see `QueryNames`.
    var hasSoundNames = false
    /// Whether indexes of the store were missing when this connection was opened, and were not created again.
    var lacksIndexes = false
    /// Whether a write transaction is under way.
    var isWriting = false

    /// Opens an existing file; never creates one. Symbolic links in the path are refused.
    /// - Parameters:
    ///   - path: the resolved path of the file, or ":memory:".
    ///   - access: the access mode. Defaults to `readWrite`.
    ///   - fileSystem: the name of a SQLite VFS. Defaults to nil, which means SQLite's default VFS.
    ///   - place: the entry of the file in `OpenStores`, for a connection of a store. Defaults to nil.
    init(
        path: String, _ access: Access = .readWrite, fileSystem: String? = nil, place: OpenStore? = nil
    ) throws(StorageError) {
        var handle: OpaquePointer?
        // NOMUTEX: one thread uses the connection at a time, so SQLite needs no mutex. EXRESCODE: extended result codes
        // name the failed operation.
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        flags |= access == .readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        if path != ":memory:" { flags |= SQLITE_OPEN_NOFOLLOW }
        if access == .immutable { flags |= SQLITE_OPEN_URI }
        let name = access == .immutable ? Connection.immutableURI(path) : path
        let code = sqlite3_open_v2(name, &handle, flags, fileSystem)
        guard code == SQLITE_OK, let handle else {
            let error = StorageError.sqlite(code, doing: "opening", path: path, handle: handle)
            sqlite3_close_v2(handle)
            throw error
        }
        self.path = path
        self.handle = handle
        self.place = place
        watchdog = Watchdog(handle)
    }

    deinit {
        sqlite3_wal_hook(handle, nil, nil)
        sqlite3_busy_handler(handle, nil, nil)
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    // MARK: Statements

    /// Runs a script of statements without parameters.
    func execute(_ script: String) throws(StorageError) {
        restartWatchdog()
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, doing: "running a statement on") }
    }

    /// Runs one statement that returns no rows.
    func run(_ sql: SQL, _ values: SQLValue...) throws(StorageError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() {}
    }

    /// Runs one statement that returns no rows. `bind` binds its values without boxing them.
    func run(_ sql: SQL, bind: (Statement) throws(StorageError) -> Void) throws(StorageError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try bind(statement)
        while try statement.step() {}
    }

    /// Returns the first row for these values, mapped, or nil when there is none.
    func first<Value>(
        _ sql: SQL, values: [SQLValue], map: (borrowing Row) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        return try statement.step() ? try map(Row(statement: statement)) : nil
    }

    /// Runs a statement whose text is built from the schema's own names.
    func run(_ text: String, _ values: [SQLValue]) throws(StorageError) {
        let statement = try prepare(text, persistent: false)
        try statement.bind(values)
        while try statement.step() {}
    }

    /// Calls `body` with each row of a statement whose text is built from the schema's own names.
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

    /// Calls `body` with each row. Calls `goesOn` before each row, and stops when `goesOn` returns false.
    func each(
        _ sql: SQL, _ values: SQLValue..., while goesOn: () -> Bool, body: (borrowing Row) throws(StorageError) -> Void
    ) throws(StorageError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while goesOn(), try statement.step() {
            try body(Row(statement: statement))
        }
    }

    /// Returns the first row, mapped, or nil when there is none.
    func first<Value>(
        _ sql: SQL, _ values: SQLValue..., map: (borrowing Row) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        return try statement.step() ? try map(Row(statement: statement)) : nil
    }

    /// Returns the first row for one number, mapped, or nil when there is none.
    func first<Value>(
        _ sql: SQL, _ one: Int64, map: (borrowing Row) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(1, one)
        return try statement.step() ? try map(Row(statement: statement)) : nil
    }

    /// Returns the first row for two numbers, mapped, or nil when there is none. Most tables have a key of two numbers.
    func first<Value>(
        _ sql: SQL, _ one: Int64, _ two: Int64, map: (borrowing Row) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(1, one)
        try statement.bind(2, two)
        return try statement.step() ? try map(Row(statement: statement)) : nil
    }

    /// Returns the number in the first column of the first row, or nil when there is no row.
    func number(_ sql: SQL, _ values: SQLValue...) throws(StorageError) -> Int64? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        return try statement.step() ? Row(statement: statement).int64(0) : nil
    }

    /// Runs a pragma and calls `body` with each row. Pragmas take no parameters, so `text` must never contain data.
    func pragma(_ text: String, body: (borrowing Row) throws(StorageError) -> Void) throws(StorageError) {
        let statement = try prepare("PRAGMA \(text)", persistent: false)
        while try statement.step() { try body(Row(statement: statement)) }
    }

    /// Runs a pragma and returns its number.
    func pragma(_ text: String) throws(StorageError) -> Int64 {
        var number: Int64 = 0
        try pragma(text) { row throws(StorageError) in number = row.int64(0) }
        return number
    }

    /// The number of rows that the last statement inserted, changed or deleted.
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

    /// Allows `count` attached databases while `body` runs. None are allowed before and after (`StoreOpening`).
    func allowingAttached(_ count: Int32, _ body: () throws(StorageError) -> Void) throws(StorageError) {
        let before = sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, count)
        defer { sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, before) }
        try body()
    }

    // MARK: Limits and functions

    /// The longest time that a transaction may compute. `nil` means no limit.
    var timeLimit: Duration? {
        get { watchdog.limit }
        set { watchdog.limit = newValue }
    }

    /// Restarts the time limit, unless a transaction is open. Call before every statement.
    private func restartWatchdog() { if sqlite3_get_autocommit(handle) != 0 { watchdog.restart() } }

    /// Restarts the time limit of the open transaction. Call before each piece of a read whose caller takes time
    /// between two pieces.
    func restartTimeLimit() { watchdog.restart() }

    /// Defines a deterministic SQL function on this connection.
    func define(
        _ name: String, arguments: Int32,
        _ function: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void
    ) throws(StorageError) {
        // DIRECTONLY: the schema cannot call the function (https://www.sqlite.org/c3ref/c_deterministic.html).
        let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY
        let code = sqlite3_create_function_v2(handle, name, arguments, flags, nil, function, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, doing: "defining a function for") }
    }

    // MARK: Plumbing

    private func prepared(_ sql: SQL) throws(StorageError) -> Statement {
        restartWatchdog()
        if sql.number < statements.count, let statement = statements[sql.number] { return statement }
        let made = try prepare(sql.text, persistent: true)
        while statements.count <= sql.number { statements.append(nil) }
        statements[sql.number] = made
        return made
    }

    private func prepare(_ text: String, persistent: Bool) throws(StorageError) -> Statement {
        restartWatchdog()
        var statement: OpaquePointer?
        let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sqlite3_prepare_v3(handle, text, -1, flags, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code, doing: "preparing a statement for") }
        return Statement(statement, connection: handle, path: path)
    }

    func failure(_ code: Int32, doing what: String) -> StorageError {
        .sqlite(code, doing: what, path: path, handle: handle)
    }

    /// Makes a URI of a path and escapes every byte that is not a plain character (https://www.sqlite.org/uri.html).
    private static func immutableURI(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var uri = "file:"
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                uri.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                uri += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return uri + "?immutable=1"
    }
}
