public import PageModel

// The size of the store, and the costs of its queries.
extension SQLitePageStore {
    /// Returns the contents and sizes of the store, and the summed costs of its queries.
    /// - Throws: `StorageError`, as every read does.
    public func statistics() async throws(StorageError) -> StoreStatistics {
        try await read { reading throws(StorageError) in try reading.statistics() }
    }

    /// Returns the summed costs of one query. Returns nil where no run was counted.
    /// - Throws: `StorageError`, as every read does.
    public func tally(of query: QueryID) async throws(StorageError) -> RunTally? {
        try await read { reading throws(StorageError) in try TallyTable.tally(of: query, in: reading.connection) }
    }

    /// Adds the figures of a run to the tally of its query. The call is ignored for a query that has been purged.
    ///
    /// No decision depends on tallies, and observers of the query are not notified.
    /// - Parameters:
    ///   - tally: the figures of the run. `beganAt` counts only for the first tally of the query.
    ///   - query: the list that the run updated.
    /// - Throws: `invalidPlan` for numbers below 0 or above 2^53; otherwise `StorageError`, as every write does.
    public func add(_ tally: RunTally, to query: QueryID) async throws(StorageError) {
        try await withWriter { session throws(StorageError) in
            try session.write { moment throws(StorageError) in
                try TallyTable.add(tally, to: query, at: moment.now, in: session.connection)
            }
        }
    }
}
