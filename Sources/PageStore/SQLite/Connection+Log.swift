import CSQLite
import PageModel

/// The write-ahead log: observing it, merging it, beginning it anew. `LogMerger` has the rules.
extension Connection {
    /// Calls `observer` after each commit with the number of pages in the log. Takes the place of SQLite's automatic
    /// merges (https://www.sqlite.org/c3ref/wal_hook.html).
    func observeLog(_ observer: @escaping (Int) -> Void) {
        logObserver = observer
        sqlite3_wal_hook(
            handle,
            { connection, _, _, pages in
                // The handle is closed before the connection is gone.
                if let connection {
                    Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue().logObserver?(Int(pages))
                }
                // The commit is made, whatever the observer did.
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Merges what no reader still needs from the log into the file. Call it only while the write lock is held: see
    /// `LogMerger`.
    /// - Returns: whether all pages of the log are in the file.
    /// - Throws: `busy` when another connection merges; errors of reading, writing and syncing.
    func mergeLog() throws(StorageError) -> Bool {
        var (size, merged): (Int32, Int32) = (0, 0)
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &size, &merged)
        guard code == SQLITE_OK else { throw failure(code, doing: "merging the log into") }
        return merged == size
    }

    /// Merges the log and makes it empty. Only for a connection that keeps all others away: see `LogMerger` for why.
    /// - Returns: whether it is empty.
    func truncateLog() throws(StorageError) -> Bool {
        var isBlocked = false
        try pragma("wal_checkpoint(TRUNCATE)") { row throws(StorageError) in isBlocked = row.bool(0) }
        return !isBlocked
    }

    /// Commits one page, the first of the database, as it is.
    /// - Parameter cuttingLog: whether the log file ends behind that page, if this commit begins the log anew
    ///   (https://www.sqlite.org/pragma.html#pragma_journal_size_limit).
    func rewriteFirstPage(cuttingLog: Bool) throws(StorageError) {
        let limit = cuttingLog ? try pragma("journal_size_limit") : 0
        if cuttingLog { try execute("PRAGMA journal_size_limit = 0") }
        defer { if cuttingLog { try? execute("PRAGMA journal_size_limit = \(limit)") } }
        try transaction(.write) { () throws(StorageError) in
            // A pragma takes no parameters; the number is the store's own.
            try execute("PRAGMA user_version = \(try pragma("user_version"))")
        }
    }

    /// Holds the write lock while `body` runs; writes nothing.
    /// - Throws: `busy` when another connection holds the lock for longer than the busy budget.
    func holdingWriteLock<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        restartWatchdog()
        try takeWriteLock()
        defer { try? execute("ROLLBACK") }
        return try body()
    }

    /// Leaves the log as it is when this connection is closed, even if it is the last one.
    func keepLogWhenClosing() { try? configure(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) }
}
