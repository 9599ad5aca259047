import PageModel

extension PageStorage {
    /// What is due before `moment`, the soonest first: all of it, or as much as leads to work for so many lists.
    /// - Parameter isReady: whether pages of the list can be fetched now.
    func due(
        before moment: Timestamp, lists: Int, isReady: (QueryID) -> Bool
    ) async throws(StorageError) -> [DueFetch] {
        var search = DueSearch(lists: lists)
        while true {
            let due = try await due(before: moment, limit: search.limit)
            let ready = Set(due.map(\.query).filter(isReady))
            guard search.goesOn(found: due.count, ready: ready.count) else { return due }
        }
    }
}
