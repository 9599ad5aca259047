import PageModel

/// Removing queries for good.
enum Purge {
    static func remove(_ queries: [QueryID], in connection: Connection) throws(StorageError) -> PurgeReport {
        var report = PurgeReport()
        // What is purged shall not be readable in the file afterwards.
        try connection.execute("PRAGMA secure_delete = ON")
        defer { try? connection.execute("PRAGMA secure_delete = FAST") }
        for query in queries {
            guard try QueryTable.find(query, in: connection) != nil else { continue }
            let pages = try connection.first("SELECT count(*) FROM page WHERE query = ?", .int(query.rawValue)) {
                row throws(StorageError) in row.int(0)
            }
            report.queries += 1
            report.pages += pages ?? 0
            report.bytes += try PageTable.bytes(of: query, in: connection)
            try PageTable.deleteAll(where: "offset >= ?2", 0, query: query, in: connection)
            try connection.run("DELETE FROM ledger WHERE query = ?", .int(query.rawValue))
            try connection.run("DELETE FROM query WHERE id = ?", .int(query.rawValue))
        }
        return report
    }

    /// Gives freed pages back to the file system, and empties the log, which may still hold what was purged. Readers
    /// that are in the way keep it from happening now, not from happening.
    static func returnSpace(_ connection: Connection) throws(StorageError) {
        try connection.each("PRAGMA incremental_vacuum") { _ throws(StorageError) in }
        do throws(StorageError) {
            try connection.each("PRAGMA wal_checkpoint(TRUNCATE)") { _ throws(StorageError) in }
        } catch {
            guard error.code == .busy else { throw error }
        }
    }
}
