import PageModel

/// Rows of `upkeep`: unfinished work. Any process that has the store open can finish it.
enum UpkeepTable {
    /// The name of a task to empty the log, which may still hold purged bytes. Each purge adds a task of its own, with
    /// a random number after this name. A process that finishes one purge then leaves the task of a later purge in
    /// place.
    private static let emptyLog = "empty_log"

    private static let note = SQL("INSERT OR IGNORE INTO upkeep (task) VALUES (?)")
    private static let find = SQL("SELECT task FROM upkeep WHERE task GLOB '\(emptyLog)*'")
    private static let clear = SQL("DELETE FROM upkeep WHERE task = ?")

    /// Adds a task. Call inside the transaction that purges. If the process ends before the log is empty, the next
    /// process finds the task.
    static func noteLog(in connection: Connection) throws(StorageError) {
        let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        try connection.run(note, .text("\(emptyLog).\(number)"))
    }

    /// Returns the tasks to empty the log.
    static func logTasks(in connection: Connection) throws(StorageError) -> [String] {
        var tasks: [String] = []
        try connection.each(find) { row throws(StorageError) in tasks.append(row.text(0)) }
        return tasks
    }

    static func hasLog(in connection: Connection) throws(StorageError) -> Bool {
        try !logTasks(in: connection).isEmpty
    }

    /// Deletes tasks. Call inside a write transaction.
    static func clear(_ tasks: [String], in connection: Connection) throws(StorageError) {
        for task in tasks { try connection.run(clear, .text(task)) }
    }
}
