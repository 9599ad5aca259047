public import PageModel

// R40, for those who look first.
extension PageStore {
    /// What `evict` would remove now; nothing is removed, and a store that is open for reading only can tell, too. What
    /// this process has read and not yet noted is not in it.
    /// - Parameters:
    ///   - budget: what may be kept.
    ///   - exempt: queries that stay, besides those that are pinned or observed in this process.
    /// - Throws: `StorageError`, as every reading does.
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
