#if PostgreSQL
public import PageModel

// The size of the store, and the costs of its queries.
extension PostgreSQLPageStore {
    private static let tallyColumns =
        "began_at, runs, requests, pages_fetched, pages_unchanged, pages_kept, bytes_received, since_counter, since_stamp"
    private static let tallies = SQL("SELECT query, \(tallyColumns) FROM @tally")
    static let tally = SQL("SELECT query, \(tallyColumns) FROM @tally WHERE query = $1")
    private static let size = SQL(
        """
        SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'
        """)
    // The sums are capped at the largest number that a row may hold.
    private static let adding = SQL(
        """
        INSERT INTO @tally (query, \(tallyColumns)) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $10, $11
        WHERE EXISTS (SELECT 1 FROM @query WHERE id = $1)
        ON CONFLICT (query) DO UPDATE SET
            runs = least(least(tally.runs, $9) + $3, $9), requests = least(least(tally.requests, $9) + $4, $9),
            pages_fetched = least(least(tally.pages_fetched, $9) + $5, $9),
            pages_unchanged = least(least(tally.pages_unchanged, $9) + $6, $9),
            pages_kept = least(least(tally.pages_kept, $9) + $7, $9),
            bytes_received = least(least(tally.bytes_received, $9) + $8, $9),
            since_counter = CASE WHEN $10 > 0 THEN $10 ELSE tally.since_counter END,
            since_stamp = CASE WHEN $10 > 0 THEN $11 ELSE tally.since_stamp END
        """)

    /// Returns the contents and sizes of the store, and the summed costs of its queries. `fileBytes` is the size of the
    /// tables with their indexes. `logBytes` and `freeBytes` are 0.
    /// - Throws: `StorageError`, as every read does.
    public func statistics() async throws(StorageError) -> StoreStatistics {
        let found = try await server.read(
            PostgreSQLPageStore.overview + [
                (PostgreSQLPageStore.tallies, []), (PostgreSQLPageStore.size, [.text(options.schema)]),
            ], .long)
        var tallies: [QueryID: RunTally] = [:]
        for row in found[4].all { tallies[QueryID(rawValue: row.int64(0))] = PostgreSQLPageStore.tally(row) }
        let queries = summaries(found).map {
            StoreStatistics.Query(summary: $0, tally: tallies[$0.outline.record.id] ?? RunTally())
        }
        return StoreStatistics(
            queries: queries, fileBytes: found[5].first?.int(0) ?? 0, logBytes: 0, freeBytes: 0,
            schema: Migration.newest)
    }

    /// Returns the summed costs of one query. Returns nil when no run was counted, or when the tally is damaged.
    /// - Throws: `StorageError`, as every read does.
    public func tally(of query: QueryID) async throws(StorageError) -> RunTally? {
        try await server.read((PostgreSQLPageStore.tally, [.integer(query.rawValue)])).first.flatMap {
            PostgreSQLPageStore.tally($0)
        }
    }

    static func tally(_ row: Row) -> RunTally? {
        let since = ContentVersion(counter: row.int(8), stamp: row.hash(9))
        let tally = RunTally(
            beganAt: row.time(1), runs: row.int(2), requests: row.int(3), pagesFetched: row.int(4),
            pagesUnchanged: row.int(5), pagesKept: row.int(6), bytesReceived: row.int(7),
            changedSince: since.counter > 0 ? since : nil)
        let isPossible =
            (tally.numbers + [since.counter]).allSatisfy(StoredBounds.sizes.contains)
            && StoredBounds.contains(tally.beganAt)
        return isPossible ? tally : nil
    }

    /// Adds the figures of a run to the tally of its query. Does nothing if the query is not stored.
    ///
    /// No decision depends on tallies, and observers of the query are not notified.
    /// - Parameters:
    ///   - tally: the figures of the run. `beganAt` counts only for the first tally of the query.
    ///   - query: the list that the run updated.
    /// - Throws: `invalidPlan` for numbers below 0 or above 2^53; otherwise `StorageError`, as every write does.
    public func add(_ tally: RunTally, to query: QueryID) async throws(StorageError) {
        try checkWritable()
        guard tally.numbers.allSatisfy(StoredBounds.sizes.contains) else {
            throw StorageError(.invalidPlan, "tally: a number is out of range")
        }
        var beganAt = tally.beganAt ?? server.moment?.now
        if beganAt == nil { beganAt = server.moment(try await server.read(Server.readTime)).now }
        _ = try await server.write([
            (ListRow.byIDLocked, [.integer(query.rawValue)]),
            (
                PostgreSQLPageStore.adding,
                [
                    .integer(query.rawValue), .time(beganAt?.stored), .int(tally.runs), .int(tally.requests),
                    .int(tally.pagesFetched), .int(tally.pagesUnchanged), .int(tally.pagesKept),
                    .int(tally.bytesReceived), .int(ListTotal.largest), .int(tally.changedSince?.counter ?? 0),
                    .hash(tally.changedSince?.stamp ?? 0),
                ]
            ),
        ])
    }
}
#endif
