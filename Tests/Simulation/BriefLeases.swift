import PageModel
import StorageSupport

/// A storage whose leases expire as soon as they are granted, as for an owner that stalls for too long. The next
/// process fetches as well, and only the revision prevents two processes from applying one change twice (R4).
struct BriefLeases: RelayedStorage {
    let storage: any PageStorage

    func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        var request = request
        request.duration = .zero
        return try await storage.claim(request, of: query)
    }

    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt {
        // The yields delay the commit between the read behind the plan and its application.
        for _ in 0..<3 { await Task.yield() }
        // Another process may also act between the commit and the claim.
        var receipt = try await storage.commit(plan, claiming: nil)
        if case .committed = receipt.outcome, let request { receipt.grant = try await claim(request, of: plan.query) }
        return receipt
    }

    func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try await storage.heartbeat(owner, for: .zero)
    }
}
