import PageModel

/// Rows of `upkeep`: unfinished work that another process must finish.
enum UpkeepTable {
    /// The task to empty the log, which may still hold purged bytes.
    private static let emptyLog = "empty_log"

    private static let note = SQL("INSERT OR IGNORE INTO upkeep (task) VALUES (?)")
    private static let find = SQL("SELECT 1 FROM upkeep WHERE task = ?")
    private static let clear = SQL("DELETE FROM upkeep WHERE task = ?")

    /// Adds the task. Call inside the transaction that purges. If the process ends before the log is empty, the next
    /// process finds the task.
    static func noteLog(in connection: Connection) throws(StorageError) { try connection.run(note, .text(emptyLog)) }

    static func hasLog(in connection: Connection) throws(StorageError) -> Bool {
        try connection.number(find, .text(emptyLog)) != nil
    }

    static func clearLog(in connection: Connection) throws(StorageError) { try connection.run(clear, .text(emptyLog)) }
}
