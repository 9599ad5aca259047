import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization

/// A storage that inspects itself after every commit and records its findings. A life that calls the storage endlessly
/// is stopped, because such a life would never report itself.
///
/// State: the findings, under a mutex, and atomic counts.
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

    /// - Parameter mostSteps: The number of calls after which a life counts as endless. No known life that ends takes a
    ///   tenth of the default. For other kinds the number applies to each run.
    init(
        _ storage: any PageStorage, in life: Simulation, mostSteps: Int = 20_000,
        inspect: @escaping @Sendable (any PageStorage, QueryID) async throws -> [String]
    ) {
        self.storage = storage
        self.life = life
        self.mostSteps = mostSteps
        self.inspect = inspect
    }

    /// Whether every commit is inspected.
    var isWatching: Bool {
        get { watching.load(ordering: .relaxed) }
        set { watching.store(newValue, ordering: .relaxed) }
    }

    var findings: [String] { found.withLock { $0 } }

    /// The number of plans whose list had changed before their commit (R4).
    var superseded: Int { refused.load(ordering: .relaxed) }

    /// The number of transactions that stored several answers, and of such transactions that were refused.
    var storedTogether: Int { together.load(ordering: .relaxed) }
    var refusedTogether: Int { togetherRefused.load(ordering: .relaxed) }

    /// The number of leases granted with commits.
    var leasedWithCommits: Int { leasesWithCommits.load(ordering: .relaxed) }

    private func note(_ plan: CommitPlan, _ receipt: CommitReceipt) {
        leasesWithCommits.add(receipt.grant?.offsets.count ?? 0, ordering: .relaxed)
        guard plan.edits.count(where: { if case .markContiguous = $0 { true } else { false } }) > 1 else { return }
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
            fatalError("seed \(life.seed), \(life.subject), \(life.mode): an endless loop (R31)")
        }
        if count == mostSteps {
            found.withLock { $0.append("R31: an endless loop: \(mostSteps) calls of the storage") }
        }
        throw StorageError(.internal, "an endless loop")
    }

    /// Restarts the count of calls.
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
        let early = edits.compactMap(\.earlyRetry)
        if !early.isEmpty { found.withLock { $0 += early } }
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
        // Versions only grow, so a plan applied now was made under the version read just before. The numbers are
        // compared directly, without the library's own equality.
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
            found.withLock { $0.append("the storage cannot be inspected: \(error)") }
        }
        return receipt
    }
}

extension LedgerEdit {
    /// A violation, if a failed page is retried before the time that the origin named (R28).
    fileprivate var earlyRetry: String? {
        guard case .failed(let offset, let failure, let pause?, _) = self, let asked = failure.retryAfter else {
            return nil
        }
        let least = min(asked, RetrySchedule().longestRetryAfter)
        // The time of the failure and the pause are rounded to milliseconds.
        guard pause + .milliseconds(2) < least else { return nil }
        return "R28: page \(offset) is retried after \(pause), and the origin asked for \(asked)"
    }
}

extension ListEdit {
    /// A short description without payloads.
    var brief: String {
        switch self {
        case .insertPage(let page): "put(\(page.range))"
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
