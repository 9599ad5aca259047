import PageModel
import StorageSupport

/// A storage as a process sees it whose leases are over as soon as they are granted, as those of an owner who stands
/// still for too long: whoever comes next asks as well, and only the revision keeps two from applying one change twice
/// (R4).
struct BriefLeases: RelayedStorage {
    let storage: any PageStorage

    func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        var request = request
        request.duration = .zero
        return try await storage.claim(request, of: query)
    }

    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt {
        // It stands still where it hurts: between what it has read and what it makes of it.
        for _ in 0..<3 { await Task.yield() }
        // Somebody else may come between the two, too.
        var receipt = try await storage.commit(plan, claiming: nil)
        if case .committed = receipt.outcome, let request { receipt.grant = try await claim(request, of: plan.query) }
        return receipt
    }

    func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try await storage.heartbeat(owner, for: .zero)
    }
}
