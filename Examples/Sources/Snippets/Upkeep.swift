import PagedRepository

enum Upkeep {
    static func evict(_ store: SQLitePageStore, _ say: (String) -> Void) async throws {
        // snippet: evict
        if let query = try await store.query("events") { try await store.setPinned(true, query.id) }
        let budget = EvictionBudget(bytes: 256 << 20, age: .seconds(30 * 86_400))
        let report = try await store.evict(to: budget, exempt: [])
        say("\(report.pages) pages are gone, \(report.bytesLeft) bytes are left")
        // end
    }

    static func verify(_ path: String, _ say: (String) -> Void) async throws {
        // snippet: verify
        let store = try await SQLitePageStore.open(at: path, mode: .mustExist)
        let report = try await store.verify()
        for finding in report.findings { say(finding.message) }
        if !report.isSound {
            let repair = try await store.repair()
            say("\(repair.pagesDropped) pages were dropped, and are fetched again")
        }
        // end
        await store.close()
    }
}
