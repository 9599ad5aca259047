import PageModel
import StorageSupport
import Synchronization

/// A storage that checks leases (R30, G7). The ledger is compared before and after every change.
///
/// Changes run one at a time. State: the findings, the tokens so far and two counts, under a mutex, and a lock that
/// serializes the changes.
final class LeaseWitness: RelayedStorage {
    let storage: any PageStorage
    private let lock = SerialLock()
    private struct State {
        var findings: [String] = []
        var tokens: Set<LeaseToken> = []
        var lost = 0
        var takenOver = 0
    }

    private let state = Mutex(State())

    init(_ storage: any PageStorage) { self.storage = storage }

    var findings: [String] { state.withLock { $0.findings } }

    /// How often an owner learned of a lost lease, and how often a lease was taken over.
    var hits: [String: Int] { state.withLock { ["R30 lease lost": $0.lost, "R30 lease taken over": $0.takenOver] } }

    private func find(_ text: String) { state.withLock { $0.findings.append("G7: \(text)") } }

    // MARK: Calls

    func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        try await lock.run { () async throws(StorageError) in
            let before = try await rows(query)
            let grant = try await storage.claim(request, of: query)
            granted(grant, before, ended: [], movesRows: false)
            return grant
        }
    }

    func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        try await lock.run { () async throws(StorageError) in
            let before = try await rows(query)
            let lost = try await storage.record(edits, for: query)
            guard let before else { return lost }
            let named = Set(edits.compactMap(\.lease))
            check(lost, named, before)
            let after = try await rows(query)
            let isAllLost = edits.allSatisfy { $0.lease.map(lost.contains) ?? false }
            if isAllLost, after?.ledger != before.ledger {
                find("edits under lost leases changed the ledger: \(edits)")
            }
            spared(before, after, ended: named)
            return lost
        }
    }

    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt {
        try await lock.run { () async throws(StorageError) in
            let before = try await rows(plan.query)
            let receipt = try await storage.commit(plan, claiming: request)
            guard let before, case .committed = receipt.outcome else { return receipt }
            for precondition in plan.preconditions where !before.fulfils(precondition) {
                state.withLock {
                    $0.findings.append("R4: a commit rests on a page at \(precondition.offset) that has changed")
                }
            }
            let named = Set(plan.ledger.compactMap(\.lease))
            check(receipt.lostLeases, named, before)
            if let grant = receipt.grant { granted(grant, before, ended: named, movesRows: plan.movesLedgerRows) }
            if !plan.movesLedgerRows {
                let taken = Set(
                    before.leases.filter { token, row in
                        receipt.grant?.offsets.contains(row.offset) ?? false
                            && before.isOver(token, at: receipt.grant?.grantedAt)
                    }.keys)
                spared(before, try await rows(plan.query), ended: named.union(taken))
            }
            return receipt
        }
    }

    func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try await lock.run { () async throws(StorageError) in try await storage.heartbeat(owner, for: duration) }
    }

    func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        try await lock.run { () async throws(StorageError) in try await storage.purge(queries) }
    }

    func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport {
        try await lock.run { () async throws(StorageError) in try await storage.evict(to: budget, exempt: exempt) }
    }

    // MARK: Checks

    private struct Rows {
        var ledger: [LedgerEntry]
        var leases: [LeaseToken: LedgerEntry]
        var readAt: Timestamp
        private var pages: [PageSummary]

        init(_ list: ListOutline) {
            ledger = list.ledger
            leases = Dictionary(
                list.ledger.compactMap { row in row.leaseToken.map { ($0, row) } },
                uniquingKeysWith: { first, _ in first })
            readAt = list.readAt
            pages = list.heldPages
        }

        /// Whether the stored page is the one that a plan was made for. The numbers are compared directly, without the
        /// library's own method.
        func fulfils(_ precondition: PagePrecondition) -> Bool {
            pages.contains { $0.offset == precondition.offset && $0.fingerprint == precondition.fingerprint }
        }

        /// - Parameter moment: The moment of the check. `nil` means the moment at which the rows were read.
        func isOver(_ token: LeaseToken, at moment: Timestamp? = nil) -> Bool {
            leases[token]?.leaseExpiresAt.map { $0 <= max(readAt, moment ?? readAt) } ?? true
        }
    }

    private func rows(_ query: QueryID) async throws(StorageError) -> Rows? {
        try await storage.outline(of: query).map(Rows.init)
    }

    /// Checks that each token is new, and that no other owner holds the page.
    private func granted(_ grant: LeaseGrant, _ before: Rows?, ended: Set<LeaseToken>, movesRows: Bool) {
        for lease in grant.leases {
            if !state.withLock({ $0.tokens.insert(lease.token).inserted }) {
                find("the token \(lease.token.rawValue) was issued twice")
            }
            guard !movesRows, let row = before?.ledger.first(where: { $0.offset == lease.offset }),
                let token = row.leaseToken,
                !ended.contains(token)
            else { continue }
            state.withLock { $0.takenOver += 1 }
            // The clock may have advanced since the rows were read. The storage decides by the moment of the grant.
            if before?.isOver(token, at: grant.grantedAt) == false {
                find(
                    "the lease of page \(lease.offset) was granted while \(row.leaseOwner ?? "another owner") holds it")
            }
        }
    }

    /// Checks that the caller learns of exactly the leases that it has lost.
    private func check(_ lost: Set<LeaseToken>, _ named: Set<LeaseToken>, _ before: Rows) {
        state.withLock { $0.lost += lost.count }
        let expected = named.filter { before.leases[$0] == nil }
        if lost != expected { find("\(lost.count) lost leases were reported instead of \(expected.count)") }
    }

    /// Checks that a valid lease is ended only by its holder.
    private func spared(_ before: Rows, _ after: Rows?, ended: Set<LeaseToken>) {
        guard let after else { return }
        for (token, row) in before.leases
        where !ended.contains(token) && after.leases[token] == nil && !before.isOver(token, at: after.readAt) {
            find("another owner ended the lease of \(row.leaseOwner ?? "an owner") on page \(row.offset)")
        }
    }
}
