import PageModel
import StorageSupport

/// A storage as a process sees it whose leases are over as soon as they are granted, as those of an owner who stands still for
/// too long: whoever comes next asks as well, and only the revision keeps two from applying one change twice (R4).
struct BriefLeases: RelayedStorage {
    let storage: any PageStorage

    func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        offsets
    }

    func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        // It stands still where it hurts: between what it has read and what it makes of it.
        for _ in 0..<3 { await Task.yield() }
        return try await storage.commit(plan)
    }
}
