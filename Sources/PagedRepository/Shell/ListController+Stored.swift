import PageModel

// Marks the stored list as stale, and reads its journal.
extension ListController {
    /// Marks the stored list as stale for all processes, until page one is fetched. A list that is not stored, or that
    /// belongs to another credential (R45), needs no mark.
    func invalidate() async throws(StorageError) {
        // Another writer may move the list between the read and the commit. The loop then reads the list again (R4).
        for _ in 0..<8 {
            guard let record = try await context.storage.query(key), source.mayServe(record) else { return }
            let plan = CommitPlan(query: record.id, version: record.version, edits: [.invalidated])
            if case .committed = try await context.storage.commit(plan) { return try await rebuild() }
        }
        throw StorageError(.busy, "other processes keep changing this list; try again")
    }

    /// Returns the changes since a version. For nil, returns no changes and the present version. Returns nil for a list
    /// that is not stored, or that belongs to another credential (R45).
    func changes(since version: ContentVersion?, limit: Int) async throws(StorageError) -> ListChanges? {
        guard let record = try await context.storage.query(key), source.mayServe(record) else { return nil }
        guard let version else { return .entries([], reached: record.contentVersion, hasMore: false) }
        return try await context.storage.changes(of: record.id, since: version, limit: max(1, limit))
    }
}
