import PageModel
import StorageSupport
import Synchronization

/// A storage that looks at itself after every commit: what it finds wrong is kept.
///
/// State: the findings, under a mutex. Everything else is the storage's own.
final class WatchedStorage: RelayedStorage {
    let storage: any PageStorage
    private let inspect: @Sendable (any PageStorage, QueryID) async throws -> [String]
    private let trace: (@Sendable (String) -> Void)?
    private let found = Mutex<[String]>([])
    private let watching = Atomic(true)
    private let refused = Atomic(0)

    init(
        _ storage: any PageStorage, trace: (@Sendable (String) -> Void)?,
        inspect: @escaping @Sendable (any PageStorage, QueryID) async throws -> [String]
    ) {
        self.storage = storage
        self.trace = trace
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

    func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        let granted = try await storage.claim(offsets, of: query, until: expiry, at: now)
        trace?("claim \(offsets) until \(expiry.milliseconds % 10_000_000), granted \(granted)")
        return granted
    }

    func record(_ edits: [LedgerEdit], for query: QueryID, at now: Timestamp) async throws(StorageError) {
        trace?("record \(edits)")
        try await storage.record(edits, for: query, at: now)
    }

    func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        let before = try await storage.excerpt(of: plan.query, 0..<0)?.record.version
        let outcome = try await storage.commit(plan)
        trace?("commit \(plan.edits.map(\.brief)) \(plan.ledger) \(outcome)")
        if case .superseded = outcome { refused.add(1, ordering: .relaxed) }
        // Versions only grow: what is applied now was made under the one of a moment ago. Compared number by number, not with
        // the library's own notion of equal.
        if case .committed = outcome, let before,
            (before.generation, before.revision) != (plan.version.generation, plan.version.revision)
        {
            found.withLock { $0.append("R4: planned under \(plan.version), applied to \(before): \(plan.edits.map(\.brief))") }
        }
        guard case .committed = outcome, isWatching, findings.isEmpty else { return outcome }
        do {
            let wrong = try await inspect(storage, plan.query)
            if !wrong.isEmpty { found.withLock { $0 += wrong.map { "\($0); after \(plan.edits.map(\.brief))" } } }
        } catch {
            found.withLock { $0.append("cannot be inspected: \(error)") }
        }
        return outcome
    }
}

extension ListEdit {
    /// Without payloads.
    var brief: String {
        switch self {
        case .put(let page): "put(\(page.range))"
        case .rearrange(let rearrangement):
            "rearrange(" + rearrangement.pieces.map { piece in
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
