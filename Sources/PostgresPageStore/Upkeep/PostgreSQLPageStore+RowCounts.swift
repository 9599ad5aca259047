#if PostgreSQL
public import PageModel

extension PostgreSQLPageStore: RowCounting {
    private static let counts = SQL(
        """
        SELECT relname, coalesce(n_live_tup, 0), coalesce(n_dead_tup, 0) FROM pg_stat_user_tables
        WHERE schemaname = $1 ORDER BY relname
        """)

    /// Returns the numbers of live and dead rows of each table, from the statistics of the server
    /// (https://www.postgresql.org/docs/15/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW).
    /// - Throws: `StorageError`, as every read does.
    public func rowCounts() async throws(StorageError) -> [RowCount] {
        try await server.read((PostgreSQLPageStore.counts, [.text(options.schema)])).all.map {
            RowCount(table: $0.word(0) ?? "", live: max(0, $0.int(1)), dead: max(0, $0.int(2)))
        }
    }
}
#endif
