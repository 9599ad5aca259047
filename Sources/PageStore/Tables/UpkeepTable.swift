import PageModel

/// Rows of `upkeep`: work that a process could not finish.
enum UpkeepTable {
    /// The log may still hold bytes of what was purged.
    private static let emptyLog = "empty_log"

    private static let note = SQL("INSERT OR IGNORE INTO upkeep (task) VALUES (?)")
    private static let find = SQL("SELECT 1 FROM upkeep WHERE task = ?")
    private static let clear = SQL("DELETE FROM upkeep WHERE task = ?")

    /// Call inside the transaction that purges: a process that dies before the log is empty leaves the task to the next
    /// one.
    static func noteLog(in connection: Connection) throws(StorageError) { try connection.run(note, .text(emptyLog)) }

    static func hasLog(in connection: Connection) throws(StorageError) -> Bool {
        try connection.number(find, .text(emptyLog)) != nil
    }

    static func clearLog(in connection: Connection) throws(StorageError) { try connection.run(clear, .text(emptyLog)) }
}
