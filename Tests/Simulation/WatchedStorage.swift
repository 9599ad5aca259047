import PageModel
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

    func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        let outcome = try await storage.commit(plan)
        trace?("commit \(plan.edits.map(\.brief)) \(outcome)")
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
