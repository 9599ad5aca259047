import CSQLite
import PageModel

/// Observes, merges and restarts the write-ahead log. `LogMerger` has the rules.
extension Connection {
    /// Calls `observer` after each commit with the number of pages in the log. Replaces SQLite's automatic merges
    /// (https://www.sqlite.org/c3ref/wal_hook.html).
    func observeLog(_ observer: @escaping (Int) -> Void) {
        logObserver = observer
        sqlite3_wal_hook(
            handle,
            { connection, _, _, pages in
                // The handle is closed before the connection object is freed.
                if let connection {
                    Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue().logObserver?(Int(pages))
                }
                // The commit has succeeded, whatever the observer did.
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Merges the log into the file, as far as no reader still needs the older pages of the file. Call only while the
    /// write lock is held: see `LogMerger`.
    /// - Returns: whether all pages of the log are in the file.
    /// - Throws: `busy` when another connection merges; errors of reading, writing and syncing.
    func mergeLog() throws(StorageError) -> Bool {
        var (size, merged): (Int32, Int32) = (0, 0)
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &size, &merged)
        guard code == SQLITE_OK else { throw failure(code, doing: "merging the log into") }
        return merged == size
    }

    /// Merges the log and truncates it. Call only on a connection that excludes all others: see `LogMerger` for the
    /// reason.
    /// - Returns: whether the log is empty.
    func truncateLog() throws(StorageError) -> Bool {
        var isBlocked = false
        try pragma("wal_checkpoint(TRUNCATE)") { row throws(StorageError) in isBlocked = row.bool(0) }
        return !isBlocked
    }

    /// Commits the first page of the database, unchanged.
    /// - Parameter cuttingLog: whether the log file is cut off after that page, if this commit restarts the log
    ///   (https://www.sqlite.org/pragma.html#pragma_journal_size_limit).
    /// - Returns: whether the earlier contents of the log file are gone, provided that this commit restarted the log.
    ///   The size of the log file shows that: the size changed, or it was no larger than one page before the commit.
    ///   SQLite does not report a failed truncation, which leaves the size unchanged.
    @discardableResult
    func rewriteFirstPage(cuttingLog: Bool) throws(StorageError) -> Bool {
        var size = 0
        let limit = cuttingLog ? try pragma("journal_size_limit") : 0
        if cuttingLog { try execute("PRAGMA journal_size_limit = 0") }
        defer { if cuttingLog { try? execute("PRAGMA journal_size_limit = \(limit)") } }
        try transaction(.write) { () throws(StorageError) in
            size = StoreFile.size(path + "-wal")
            // A pragma takes no parameters. The number comes from the store.
            try execute("PRAGMA user_version = \(try pragma("user_version"))")
        }
        // The header of the log, and one page with its own header.
        let least = try 32 + 24 + Int(pragma("page_size"))
        return size <= least || StoreFile.size(path + "-wal") != size
    }

    /// Holds the write lock while `body` runs, and then rolls back.
    /// - Throws: `busy` when another connection holds the lock for longer than the busy budget.
    func holdingWriteLock<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try takeWriteLock()
        defer { try? execute("ROLLBACK") }
        return try body()
    }

    /// Keeps the log when this connection is closed, even if it is the last one.
    func keepLogWhenClosing() { try? configure(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) }
}
