import PageModel

extension PageStorage {
    /// What is due within a time, the soonest first: all of it, or as much as leads to work for so many lists.
    /// - Parameter isReady: whether pages of the list can be fetched now.
    func due(
        within: Duration, lists: Int, isReady: (QueryID) -> Bool
    ) async throws(StorageError) -> DueReading {
        var search = DueSearch(lists: lists)
        while true {
            let due = try await due(within: within, limit: search.limit)
            let ready = Set(due.fetches.map(\.query).filter(isReady))
            guard search.goesOn(found: due.fetches.count, ready: ready.count) else { return due }
        }
    }
}
