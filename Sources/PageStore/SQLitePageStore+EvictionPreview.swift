public import PageModel

// The dry run of an eviction (R40).
extension SQLitePageStore {
    /// Returns what `evict` would remove now, without removing anything.
    ///
    /// Works for a store that is open for reading only, too. The preview does not consider read times of this process
    /// that are not stored yet (R40).
    /// - Parameters:
    ///   - budget: the bounds to keep.
    ///   - exempt: queries that stay, besides those that are pinned or observed in this process.
    /// - Throws: `StorageError`, as every read does.
    public func evictionPreview(
        to budget: EvictionBudget, exempt: Set<QueryID>
    ) async throws(StorageError) -> EvictionReport {
        let exempt = exempt.union(announcer.hub.observedQueries)
        return try await read { reading throws(StorageError) in
            var eviction = try Eviction(budget, exempt: exempt, at: reading.moment.now, in: reading.connection)
            while let portion = eviction.next() { eviction.removed(portion) }
            return eviction.report
        }
    }
}
