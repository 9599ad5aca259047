import PageModel

/// The metrics of the package, each with a name, a unit and at most one dimension.
///
/// Names, units and dimensions are stable. Documentation/Observability.md contains the same list, and a test compares
/// the two. No dimension names a list, an origin or a credential (R45). Each dimension has a few fixed values.
enum Metric: String, CaseIterable, Sendable {
    /// Calls of `PagedList.load` and `ListRepository.page`, by how much of the requested items was cached.
    case reads = "pagecache_reads_total"
    /// Completed requests to a source, by their result.
    case requests = "pagecache_requests_total"
    /// Requests that repeat a failed one.
    case retries = "pagecache_retries_total"
    /// The bytes of received payloads, whether they are new or not.
    case payload = "pagecache_payload_received_bytes_total"
    /// The time from a request to its result.
    case fetches = "pagecache_fetch_duration_seconds"
    /// Pages that a run did not fetch, because other owners have them in flight or have stored them (R30).
    case leasedElsewhere = "pagecache_pages_leased_elsewhere_total"
    /// The time that the storage needs for a commit of a run.
    case commits = "pagecache_commit_duration_seconds"
    /// Pages that applied commits have written.
    case pages = "pagecache_pages_committed_total"
    /// Failures of pages, by whether the ledger schedules a retry (R28).
    case failures = "pagecache_ledger_failures_total"
    /// Runs of a `SyncEngine`, by their outcome.
    case backgroundRuns = "pagecache_background_runs_total"
    /// Circuits of a `SyncEngine` that opened or closed (R32).
    case circuits = "pagecache_circuit_changes_total"

    /// The dead rows of a storage on a server, read once a minute by an engine. Exists for such a storage only.
    case deadRows = "pagecache_store_dead_rows"

    enum Kind: String { case counter, timer, gauge }

    var kind: Kind {
        switch self {
        case .fetches, .commits: .timer
        case .deadRows: .gauge
        case .reads, .requests, .retries, .payload, .leasedElsewhere, .pages, .failures, .backgroundRuns, .circuits:
            .counter
        }
    }

    var unit: String {
        switch self {
        case .reads: "calls"
        case .requests, .retries: "requests"
        case .payload: "bytes"
        case .fetches, .commits: "seconds"
        case .leasedElsewhere, .pages: "pages"
        case .failures: "failures"
        case .backgroundRuns: "runs"
        case .circuits: "changes"
        case .deadRows: "rows"
        }
    }

    /// The name of the dimension, and its values. `nil` means that the metric has no dimension.
    var dimension: (name: String, values: [String])? {
        switch self {
        case .reads: ("cached", Cached.allCases.map(\.rawValue))
        case .requests: ("outcome", Request.allCases.map(\.rawValue))
        case .fetches: ("outcome", Fetch.allCases.map(\.rawValue))
        case .commits: ("outcome", Commit.allCases.map(\.rawValue))
        case .failures: ("retry", Retry.allCases.map(\.rawValue))
        case .backgroundRuns: ("outcome", Metric.runOutcomes.map(\.rawValue))
        case .circuits: ("to", CircuitState.allCases.map(\.rawValue))
        case .retries, .payload, .leasedElsewhere, .pages, .deadRows: nil
        }
    }

    // MARK: Values of dimensions

    /// How much of the requested items the cache held.
    enum Cached: String, CaseIterable {
        /// All requested items were cached. The value is the freshness of the list (R15).
        case fresh, stale, expired
        /// Some items of the requested window were cached.
        case partial
        /// A miss: no requested item was cached.
        case none
    }

    /// The result of a request.
    enum Request: String, CaseIterable {
        case page
        case notModified = "not_modified"
        case pastEnd = "past_end"
        case transport, timeout, throttled, server, forbidden, rejected, undecodable, unconfirmed, loop
        case limitExceeded = "limit_exceeded"
        /// A class that a source has defined itself. All such classes share one series.
        case other
        /// The request was cancelled before its answer.
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
    /// The value for a whole list.
    init(_ freshness: Freshness?) {
        switch freshness {
        case .fresh: self = .fresh
        case .stale: self = .stale
        case .expired: self = .expired
        case nil: self = .none
        }
    }

    /// The value for a window of positions.
    init<Value>(_ window: ItemWindow<Value>?) {
        guard let window else { self = .none; return }
        let isWhole = !window.isPartial
        if isWhole { self.init(window.freshness) } else { self = window.segments.isEmpty ? .none : .partial }
    }
}

extension Metric.Request {
    init(_ answer: PageAnswer) {
        switch answer {
        case .page: self = .page
        case .notModified: self = .notModified
        case .pastEnd, .notFound: self = .pastEnd
        }
    }

    /// The word for a failure class in metrics and in the log. Classes that a source has defined itself share one word.
    init(_ failureClass: FetchFailure.Class) {
        switch failureClass {
        case .transport: self = .transport
        case .timeout: self = .timeout
        case .throttled: self = .throttled
        case .server: self = .server
        case .forbidden: self = .forbidden
        case .rejected: self = .rejected
        case .undecodable: self = .undecodable
        case .limitExceeded: self = .limitExceeded
        case .unconfirmed: self = .unconfirmed
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
