import PageModel
import Synchronization

/// A storage that looks at itself after every commit: what it finds wrong is kept.
///
/// State: the findings, under a mutex. Everything else is the storage's own.
final class WatchedStorage: PageStorage {
    private let storage: any PageStorage
    private let inspect: @Sendable (any PageStorage, QueryID) async throws -> [String]
    private let trace: (@Sendable (String) -> Void)?
    private let found = Mutex<[String]>([])

    init(
        _ storage: any PageStorage, trace: (@Sendable (String) -> Void)?,
        inspect: @escaping @Sendable (any PageStorage, QueryID) async throws -> [String]
    ) {
        self.storage = storage
        self.trace = trace
        self.inspect = inspect
    }

    var findings: [String] { found.withLock { $0 } }

    func commit(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        let outcome = try await storage.commit(plan)
        trace?("commit \(plan.edits.map(\.brief)) \(outcome)")
        guard case .committed = outcome, findings.isEmpty else { return outcome }
        do {
            let wrong = try await inspect(storage, plan.query)
            if !wrong.isEmpty { found.withLock { $0 += wrong.map { "\($0); after \(plan.edits.map(\.brief))" } } }
        } catch {
            found.withLock { $0.append("cannot be inspected: \(error)") }
        }
        return outcome
    }

    func register(_ key: QueryKey, at now: Timestamp) async throws(StorageError) -> QueryRecord {
        try await storage.register(key, at: now)
    }
    func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? { try await storage.query(key) }
    func summaries() async throws(StorageError) -> [QuerySummary] { try await storage.summaries() }
    func outline(of query: QueryID) async throws(StorageError) -> ListOutline? { try await storage.outline(of: query) }
    func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        try await storage.excerpt(of: query, range)
    }
    func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        try await storage.window(of: query, range)
    }
    func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        try await storage.locate(keys, in: query)
    }
    func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> [Int] {
        try await storage.claim(offsets, of: query, until: expiry, at: now)
    }
    func record(_ edits: [LedgerEdit], for query: QueryID, at now: Timestamp) async throws(StorageError) {
        try await storage.record(edits, for: query, at: now)
    }
    func due(before moment: Timestamp, limit: Int) async throws(StorageError) -> [DueFetch] {
        try await storage.due(before: moment, limit: limit)
    }
    func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport { try await storage.purge(queries) }
    func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try await storage.setPinned(isPinned, query)
    }
    func evict(to budget: EvictionBudget, exempt: Set<QueryID>, at now: Timestamp) async throws(StorageError) -> EvictionReport {
        try await storage.evict(to: budget, exempt: exempt, at: now)
    }
    func records() async throws(StorageError) -> [QueryRecord] { try await storage.records() }
    var observedQueries: Set<QueryID> { storage.observedQueries }
    func notices(of query: QueryID?) -> AsyncStream<StorageNotice> { storage.notices(of: query) }
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
