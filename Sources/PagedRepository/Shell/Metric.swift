import PageModel

/// Every metric there is: its name, what it counts in, and by what it is told apart.
///
/// Names, units and dimensions are promised. Documentation/Observability.md shows the same list, and a test holds the
/// two together. No dimension names a list, an origin or a credential (R45): each has a handful of values that are
/// known here.
enum Metric: String, CaseIterable, Sendable {
    /// Calls of `PagedList.load` and `PagedRepository.page`, by what the cache held when they came.
    case reads = "pagecache_reads_total"
    /// Questions to a source that have come back, by what came of them.
    case requests = "pagecache_requests_total"
    /// Those of them that were asked because the same had failed before.
    case retries = "pagecache_retries_total"
    /// Payloads of items that were received, whether they were news or not.
    case payload = "pagecache_payload_received_bytes_total"
    /// From a question to what came of it.
    case fetches = "pagecache_fetch_duration_seconds"
    /// Pages that a run wanted, and found in somebody else's hands (R30).
    case leftToOthers = "pagecache_pages_left_to_others_total"
    /// What the storage took for the commits of runs.
    case commits = "pagecache_commit_duration_seconds"
    /// Pages in commits that were applied.
    case pages = "pagecache_pages_committed_total"
    /// Failures of pages, by whether the ledger says when to try again (R28).
    case failures = "pagecache_ledger_failures_total"
    /// Runs of a `SyncEngine`, by how they ended.
    case backgroundRuns = "pagecache_background_runs_total"
    /// Circuits of a `SyncEngine` that opened or closed (R32).
    case circuits = "pagecache_circuit_changes_total"

    /// A timer, or a counter.
    var isTimer: Bool { unit == "seconds" }

    var unit: String {
        switch self {
        case .reads: "calls"
        case .requests, .retries: "requests"
        case .payload: "bytes"
        case .fetches, .commits: "seconds"
        case .leftToOthers, .pages: "pages"
        case .failures: "failures"
        case .backgroundRuns: "runs"
        case .circuits: "changes"
        }
    }

    /// The name of its dimension, and the values that it takes; nil when it has none.
    var dimension: (name: String, values: [String])? {
        switch self {
        case .reads: ("cached", Cached.allCases.map(\.rawValue))
        case .requests: ("outcome", Request.allCases.map(\.rawValue))
        case .fetches: ("outcome", Fetch.allCases.map(\.rawValue))
        case .commits: ("outcome", Commit.allCases.map(\.rawValue))
        case .failures: ("retry", Retry.allCases.map(\.rawValue))
        case .backgroundRuns: ("outcome", Metric.runOutcomes.map(\.rawValue))
        case .circuits: ("to", CircuitState.allCases.map(\.rawValue))
        case .retries, .payload, .leftToOthers, .pages: nil
        }
    }

    // MARK: Values of dimensions

    /// What the cache held of what a caller asked for.
    enum Cached: String, CaseIterable {
        /// All of it, and this is the age of the list (R15).
        case fresh, stale, expired
        /// Some of the positions that a window was asked for.
        case partial
        /// A miss: nothing of it.
        case none
    }

    /// What came of a question.
    enum Request: String, CaseIterable {
        case page
        case notModified = "not_modified"
        case pastEnd = "past_end"
        case transport, timeout, throttled, server, forbidden, refused, undecodable, hostile, doubtful, loop
        /// A class that a source has made for itself: any number of them are one series.
        case other
        /// Nobody waited for the answer any more.
        case cancelled
    }

    enum Fetch: String, CaseIterable { case answered, failed }
    enum Commit: String, CaseIterable { case committed, superseded, duplicates }
    enum Retry: String, CaseIterable { case scheduled, none }
    enum CircuitState: String, CaseIterable { case open, closed }

    static let runOutcomes: [SyncReport.Outcome] = [
        .complete, .limited, .incomplete, .unproven, .offline, .failed, .damaged, .purged,
    ]
}

extension Metric.Cached {
    /// Of a list as a whole.
    init(_ freshness: Freshness?) {
        switch freshness {
        case .fresh: self = .fresh
        case .stale: self = .stale
        case .expired: self = .expired
        case nil: self = .none
        }
    }

    /// Of some positions.
    init<Value>(_ window: ItemWindow<Value>?) {
        guard let window else { self = .none; return }
        let isWhole = window.missing.isEmpty && window.unusable.isEmpty
        if isWhole { self.init(window.freshness) } else { self = window.runs.isEmpty ? .none : .partial }
    }
}

extension Metric.Request {
    init(_ answer: PageAnswer) {
        switch answer {
        case .page: self = .page
        case .notModified: self = .notModified
        case .pastEnd: self = .pastEnd
        }
    }

    /// The one word for a failure in metrics and in the log: what a source may say beyond the words we know is its own.
    init(_ failureClass: FetchFailure.Class) {
        switch failureClass {
        case .transport: self = .transport
        case .timeout: self = .timeout
        case .throttled: self = .throttled
        case .server: self = .server
        case .forbidden: self = .forbidden
        case .refused: self = .refused
        case .undecodable: self = .undecodable
        case .hostile: self = .hostile
        case .doubtful: self = .doubtful
        case .loop: self = .loop
        default: self = .other
        }
    }
}

extension Metric.Commit {
    init(_ outcome: CommitOutcome) {
        switch outcome {
        case .committed: self = .committed
        case .superseded: self = .superseded
        case .duplicates: self = .duplicates
        }
    }
}
