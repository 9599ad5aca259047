import PageModel

/// Rows of `tally`: the costs of runs, summed by query.
enum TallyTable {
    private static let columns = "began_at, runs, requests, pages_fetched, pages_unchanged, pages_kept, bytes_received"
    private static let all = SQL("SELECT query, \(columns) FROM tally")
    // The sums are capped at the largest number that a row may hold.
    private static let add = SQL(
        """
        INSERT INTO tally (query, \(columns)) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
        WHERE EXISTS (SELECT 1 FROM query WHERE id = ?1)
        ON CONFLICT DO UPDATE SET
            runs = min(runs + ?3, ?9), requests = min(requests + ?4, ?9), pages_fetched = min(pages_fetched + ?5, ?9),
            pages_unchanged = min(pages_unchanged + ?6, ?9), pages_kept = min(pages_kept + ?7, ?9),
            bytes_received = min(bytes_received + ?8, ?9)
        """)

    /// Returns the tallies by query. Rows with numbers out of bounds are left out (R46).
    static func all(in connection: Connection) throws(StorageError) -> [QueryID: RunTally] {
        var tallies: [QueryID: RunTally] = [:]
        try connection.each(all) { row throws(StorageError) in
            let tally = RunTally(
                beganAt: row.time(1), runs: row.int(2), requests: row.int(3), pagesFetched: row.int(4),
                pagesUnchanged: row.int(5), pagesKept: row.int(6), bytesReceived: row.int(7))
            guard tally.numbers.allSatisfy(StoredBounds.sizes.contains), StoredBounds.contains(tally.beganAt) else {
                return
            }
            tallies[QueryID(rawValue: row.int64(0))] = tally
        }
        return tallies
    }

    static func add(
        _ tally: RunTally, to query: QueryID, at now: Timestamp, in connection: Connection
    ) throws(StorageError) {
        guard tally.numbers.allSatisfy(StoredBounds.sizes.contains) else {
            throw StorageError(.invalidPlan, "a number of the tally is out of range")
        }
        try connection.run(
            add, .int(query.rawValue), .time((tally.beganAt ?? now).stored), .int(tally.runs), .int(tally.requests),
            .int(tally.pagesFetched), .int(tally.pagesUnchanged), .int(tally.pagesKept), .int(tally.bytesReceived),
            .int(Total.largest))
    }
}

extension RunTally {
    fileprivate var numbers: [Int] { [runs, requests, pagesFetched, pagesUnchanged, pagesKept, bytesReceived] }
}
