import PageModel

extension PageStorage {
    /// Returns the fetches that are due within a duration, earliest first. Reads more of them until the result has
    /// ready work for `lists` lists, or all due fetches are read.
    /// - Parameters:
    ///   - within: the duration from now.
    ///   - lists: the number of lists to find work for.
    ///   - isReady: whether pages of the list can be fetched now.
    func due(
        within: Duration, lists: Int, isReady: (QueryID) -> Bool
    ) async throws(StorageError) -> DueReading {
        var search = DueSelector(lists: lists)
        while true {
            let due = try await due(within: within, limit: search.limit)
            let ready = Set(due.fetches.map(\.query).filter(isReady))
            guard search.goesOn(found: due.fetches.count, ready: ready.count) else { return due }
        }
    }
}
