public import PageModel

// What the store takes up, and what it spares.
extension PageStore {
    /// What the store holds and takes up, and what its queries have cost so far.
    /// - Throws: `StorageError`, as every reading does.
    public func statistics() async throws(StorageError) -> StoreStatistics {
        try await read { reading throws(StorageError) in try reading.statistics() }
    }

    /// Adds what a run did to what is counted for its query; ignored for queries that are gone. Nothing is decided by
    /// it, and nobody who observes the query is told.
    /// - Parameters:
    ///   - tally: the figures of the run; `beganAt` counts only where nothing was counted before.
    ///   - query: the list that it was run for.
    /// - Throws: `invalidPlan` for numbers below 0 or above 2^53; else as every commit does.
    public func add(_ tally: RunTally, to query: QueryID) async throws(StorageError) {
        try await withWriter { session throws(StorageError) in
            try session.write { moment throws(StorageError) in
                try TallyTable.add(tally, to: query, at: moment.now, in: session.connection)
            }
        }
    }
}
