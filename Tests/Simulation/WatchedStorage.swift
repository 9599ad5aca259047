import PageModel
import PagedRepositoryTesting
import StorageSupport
import Synchronization

/// A storage that looks at itself after every commit: what it finds wrong is kept. It ends everything where a life goes
/// round in circles, since nothing behind it would ever say so.
///
/// State: the findings, under a mutex; numbers. Everything else is the storage's own.
final class WatchedStorage: RelayedStorage {
    let storage: any PageStorage
    private let inspect: @Sendable (any PageStorage, QueryID) async throws -> [String]
    private let life: Simulation
    private var trace: (@Sendable (String) -> Void)? { life.trace }
    private let found = Mutex<[String]>([])
    private let watching = Atomic(true)
    private let refused = Atomic(0)
    private let together = Atomic(0)
    private let togetherRefused = Atomic(0)
    private let leasesWithCommits = Atomic(0)
    private let steps = Atomic(0)
    private let mostSteps: Int

    /// - Parameter mostSteps: no ordinary life that comes to an end is known to take a tenth as many. Of other kinds, no
    ///   run is.
    init(
        _ storage: any PageStorage, in life: Simulation, mostSteps: Int = 20_000,
        inspect: @escaping @Sendable (any PageStorage, QueryID) async throws -> [String]
    ) {
        self.storage = storage
        self.life = life
        self.mostSteps = mostSteps
        self.inspect = inspect
    }

    /// Whether every commit is looked at.
    var isWatching: Bool {
        get { watching.load(ordering: .relaxed) }
        set { watching.store(newValue, ordering: .relaxed) }
    }

    var findings: [String] { found.withLock { $0 } }

    /// How many plans were made for a list that had changed when they came (R4).
    var superseded: Int { refused.load(ordering: .relaxed) }

    /// How often several answers were stored in one transaction, and how often they could not be.
    var storedTogether: Int { together.load(ordering: .relaxed) }
    var refusedTogether: Int { togetherRefused.load(ordering: .relaxed) }

    /// How many leases came with commits.
    var leasedWithCommits: Int { leasesWithCommits.load(ordering: .relaxed) }

    private func note(_ plan: CommitPlan, _ receipt: CommitReceipt) {
        leasesWithCommits.add(receipt.grant?.offsets.count ?? 0, ordering: .relaxed)
        guard plan.edits.count(where: { if case .verify = $0 { true } else { false } }) > 1 else { return }
        if case .committed = receipt.outcome {
            together.add(1, ordering: .relaxed)
        } else {
            togetherRefused.add(1, ordering: .relaxed)
        }
    }

    private func step() throws(StorageError) {
        let count = steps.add(1, ordering: .relaxed).newValue
        guard count >= mostSteps else { return }
        guard life.plan.kind != .ordinary else {
            fatalError("seed \(life.seed), \(life.subject), \(life.mode): it goes round in circles (R31)")
        }
        if count == mostSteps {
            found.withLock { $0.append("R31: it goes round in circles: \(mostSteps) calls of the storage") }
        }
        throw StorageError(.internal, "it goes round in circles")
    }

    /// From here on, calls are counted anew.
    func restart() { steps.store(0, ordering: .relaxed) }

    func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        try step()
        let grant = try await storage.claim(request, of: query)
        trace?(
            "claim \(request.offsets) by \(request.owner.name), granted \(grant.leases.map { "\($0.offset): \($0.token.rawValue)" })"
        )
        return grant
    }

    func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        try step()
        let lost = try await storage.record(edits, for: query)
        trace?("record \(edits)" + (lost.isEmpty ? "" : ", lost \(lost.map(\.rawValue))"))
        return lost
    }

    func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try step()
        let held = try await storage.heartbeat(owner, for: duration)
        trace?("heartbeat of \(owner.name), held \(held.map(\.rawValue).sorted())")
        return held
    }

    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt {
        let before = try await storage.excerpt(of: plan.query, 0..<0)?.record.version
        let receipt = try await storage.commit(plan, claiming: request)
        let outcome = receipt.outcome
        note(plan, receipt)
        trace?(
            "commit \(plan.edits.map(\.brief)) \(plan.ledger) \(outcome)"
                + (request.map { ", claim \($0.offsets), granted \(receipt.grant?.offsets ?? [])" } ?? ""))
        if case .superseded = outcome { refused.add(1, ordering: .relaxed) }
        // Versions only grow: what is applied now was made under the one of a moment ago. Compared number by number,
        // not with the library's own notion of equal.
        if case .committed = outcome, let before,
            (before.generation, before.revision) != (plan.version.generation, plan.version.revision)
        {
            found.withLock {
                $0.append("R4: planned under \(plan.version), applied to \(before): \(plan.edits.map(\.brief))")
            }
        }
        guard case .committed = outcome, isWatching, findings.isEmpty else { return receipt }
        do {
            let wrong = try await inspect(storage, plan.query)
            if !wrong.isEmpty { found.withLock { $0 += wrong.map { "\($0); after \(plan.edits.map(\.brief))" } } }
        } catch {
            found.withLock { $0.append("cannot be inspected: \(error)") }
        }
        return receipt
    }
}

extension ListEdit {
    /// Without payloads.
    var brief: String {
        switch self {
        case .put(let page): "put(\(page.range))"
        case .rearrange(let rearrangement):
            "rearrange("
                + rearrangement.pieces.map { piece in
                    switch piece {
                    case .kept(let range): range.upperBound == .max ? "kept \(range.lowerBound)…" : "kept \(range)"
                    case .written(let page, _): "written \(page.range)"
                    case .gap(let count): "gap \(count)"
                    }
                }.joined(separator: ", ") + ")"
        default: "\(self)"
        }
    }
}
