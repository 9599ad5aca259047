import PageModel

/// Rows of `tally`: the costs of runs, summed by query.
enum TallyTable {
    private static let columns =
        "began_at, runs, requests, pages_fetched, pages_unchanged, pages_kept, bytes_received, since_counter, since_stamp"
    private static let all = SQL("SELECT query, \(columns) FROM tally")
    private static let one = SQL("SELECT query, \(columns) FROM tally WHERE query = ?")
    // The sums are capped at the largest number that a row may hold.
    private static let add = SQL(
        """
        INSERT INTO tally (query, \(columns)) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?10, ?11
        WHERE EXISTS (SELECT 1 FROM query WHERE id = ?1)
        ON CONFLICT DO UPDATE SET
            runs = min(runs + ?3, ?9), requests = min(requests + ?4, ?9), pages_fetched = min(pages_fetched + ?5, ?9),
            pages_unchanged = min(pages_unchanged + ?6, ?9), pages_kept = min(pages_kept + ?7, ?9),
            bytes_received = min(bytes_received + ?8, ?9),
            since_counter = iif(?10 > 0, ?10, since_counter), since_stamp = iif(?10 > 0, ?11, since_stamp)
        """)

    /// Returns the tallies by query. Rows with numbers out of bounds are left out (R46).
    static func all(in connection: Connection) throws(StorageError) -> [QueryID: RunTally] {
        var tallies: [QueryID: RunTally] = [:]
        try connection.each(all) { row throws(StorageError) in
            if let tally = read(row) { tallies[QueryID(rawValue: row.int64(0))] = tally }
        }
        return tallies
    }

    /// Returns the tally of a query. Returns nil where no run was counted, or a number is out of bounds (R46).
    static func tally(of query: QueryID, in connection: Connection) throws(StorageError) -> RunTally? {
        try connection.first(one, query.rawValue) { row throws(StorageError) in read(row) } ?? nil
    }

    private static func read(_ row: borrowing Row) -> RunTally? {
        let since = ContentVersion(counter: row.int(8), stamp: row.hash(9))
        let tally = RunTally(
            beganAt: row.time(1), runs: row.int(2), requests: row.int(3), pagesFetched: row.int(4),
            pagesUnchanged: row.int(5), pagesKept: row.int(6), bytesReceived: row.int(7),
            changedSince: since.counter > 0 ? since : nil)
        let isPossible = tally.numbers.allSatisfy(StoredBounds.sizes.contains) && StoredBounds.contains(tally.beganAt)
        return isPossible ? tally : nil
    }

    static func add(
        _ tally: RunTally, to query: QueryID, at now: Timestamp, in connection: Connection
    ) throws(StorageError) {
        guard tally.numbers.allSatisfy(StoredBounds.sizes.contains) else {
            throw StorageError(.invalidPlan, "tally: a number is out of range")
        }
        try connection.run(
            add, .int(query.rawValue), .time((tally.beganAt ?? now).stored), .int(tally.runs), .int(tally.requests),
            .int(tally.pagesFetched), .int(tally.pagesUnchanged), .int(tally.pagesKept), .int(tally.bytesReceived),
            .int(ListTotal.largest), .int(tally.changedSince?.counter ?? 0),
            .hash(tally.changedSince?.stamp ?? 0))
    }
}
