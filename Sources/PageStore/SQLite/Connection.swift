import CSQLite
import PageModel

/// One SQLite connection, used from one queue at a time (the actor that owns it sees to that).
///
/// Mutable state: the C handle and the cache of prepared statements. Both belong to the owning queue. Statements are
/// finalised before the handle is closed; SQLite requires that order (https://www.sqlite.org/c3ref/close.html).
final class Connection {
    let path: String
    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// Opens an existing file; never creates one. `path` must be resolved: symbolic links in it are refused.
    init(path: String, readOnly: Bool = false) throws(StorageError) {
        var handle: OpaquePointer?
        let access = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        // NOMUTEX: one queue per connection, so SQLite need not lock again. EXRESCODE: the codes say what failed.
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (path == ":memory:" ? 0 : SQLITE_OPEN_NOFOLLOW)
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let error = StorageError.sqlite(code, doing: "opening", path: path, handle: handle)
            sqlite3_close_v2(handle)
            throw error
        }
        self.path = path
        self.handle = handle
    }

    deinit {
        statements.removeAll()
        sqlite3_close_v2(handle)
    }

    /// Runs a script of statements without parameters.
    func execute(_ script: String) throws(StorageError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, doing: "running a statement") }
    }

    /// Runs one statement that returns nothing.
    func run(_ sql: String, _ values: SQLValue...) throws(StorageError) {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() {}
    }

    /// Calls `body` with each row.
    func each(
        _ sql: String, _ values: SQLValue..., body: (borrowing Row) throws(StorageError) -> Void
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
        _ sql: String, _ values: SQLValue..., map: (borrowing Row) throws(StorageError) -> Value
    ) throws(StorageError) -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        return try statement.step() ? try map(Row(statement: statement)) : nil
    }

    /// How many rows the last statement inserted, changed or deleted.
    var changes: Int { Int(sqlite3_changes64(handle)) }

    /// The rowid of the last insert.
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Sets a Boolean option of the connection.
    func configure(_ option: Int32, _ value: Bool) throws(StorageError) {
        let code = pagecache_db_config(handle, option, value ? 1 : 0)
        guard code == SQLITE_OK else { throw failure(code, doing: "configuring the connection") }
    }

    /// Sets a limit of the connection (https://www.sqlite.org/c3ref/limit.html).
    func limit(_ category: Int32, _ value: Int32) {
        sqlite3_limit(handle, category, value)
    }

    func setBusyBudget(_ duration: Duration) {
        sqlite3_busy_timeout(handle, Int32(clamping: duration.wholeMilliseconds))
    }

    private func prepared(_ sql: String) throws(StorageError) -> Statement {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code, doing: "preparing a statement") }
        let made = Statement(statement, connection: handle, path: path)
        statements[sql] = made
        return made
    }

    private func failure(_ code: Int32, doing what: String) -> StorageError {
        .sqlite(code, doing: what, path: path, handle: handle)
    }
}
