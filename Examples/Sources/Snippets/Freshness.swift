import PagedRepository

enum FreshnessSnippets {
    static func policy(_ store: SQLitePageStore, _ source: ItemSource<Item>) -> ListRepository<Item> {
        // snippet: policy
        var options = PagedListOptions()
        options.freshness = FreshnessPolicy(
            staleAfter: .seconds(300), expiredAfter: .seconds(86_400), originLifetime: .ignored)
        let repository = ListRepository(storage: store, source: source, options: options)
        // end
        return repository
    }

    static func invalidate(_ list: PagedList<Item>) async throws {
        // snippet: invalidate
        try await list.invalidate()  // this program has just changed something at the origin
        try await list.load()  // the list is stale for every process until page one is fetched
        // end
    }

    static func sweep(_ store: SQLitePageStore, _ source: ItemSource<Item>) async throws -> Bool {
        // snippet: sweep
        var options = SyncOptions()
        options.work = .sweep
        let report = try await ListSync(storage: store, source: source, key: "events", options: options).run()
        let isProven = report.outcome == .complete
        // end
        return isProven
    }
}
