import Metrics
import PageModel

/// Counts and times the events that `Metric` lists. Each repository, run and engine has its own group of handlers.
///
/// The lookup of a handler costs a lock and a search by name in the back end. Counting with a handler costs an atomic
/// addition, or next to nothing without a back end. So a repository, a run or an engine looks up its handlers once,
/// when it begins. An event then only counts.
///
/// The process has no global group. The metrics factory that is set when an object begins counts the events of this
/// object, even if the factory was set late or for one task only. Tests that run concurrently use `withMetricsFactory`
/// in this way. swift-metrics passes the factory on by itself, so no initialiser has a parameter for it.
///
/// Every counter exists from the beginning with the value 0, so that an alert sees the first failure as an increase.
enum Meters {
    /// The metrics of a repository and its lists.
    struct Reads: Sendable {
        private let reads = Counters(.reads, Metric.Cached.allCases)

        /// Counts a read, by how much of the requested items was cached.
        func countRead(_ cached: Metric.Cached) { reads.increment(cached) }
    }

    /// The metrics of one run.
    struct Run: Sendable {
        private let requests = Counters(.requests, Metric.Request.allCases)
        private let retries = Counter(.retries)
        private let payload = Counter(.payload)
        private let fetches = Timers(.fetches, Metric.Fetch.allCases)
        private let others = Counter(.leasedElsewhere)
        private let commits = Timers(.commits, Metric.Commit.allCases)
        private let pages = Counter(.pages)
        private let failures = Counters(.failures, Metric.Retry.allCases)

        /// Counts a request that repeats a failed one.
        func retried() { retries.increment() }

        /// Counts and times a request, in the task that sent the request. The duration of a cancelled request is not
        /// recorded, because it says nothing about the origin.
        func fetched(_ result: Result<PageAnswer, any Error>, took duration: Duration) {
            switch result {
            case .success(let answer):
                requests.increment(Metric.Request(answer))
                fetches.record(.answered, duration)
                if case .page(let page) = answer { payload.increment(by: page.content.bytes.count) }
            case .failure(let error) where error is CancellationError || Task.isCancelled:
                requests.increment(.cancelled)
            case .failure(let error):
                let failure = FetchFailure(thrownBySource: error, keepsWords: false)
                requests.increment(Metric.Request(failure.failureClass))
                fetches.record(.failed, duration)
            }
        }

        func leasedElsewhere() { others.increment() }

        /// Counts a page that could not be fetched. `nil` means that no retry is scheduled.
        func failed(nextAttemptAt: Timestamp?) { failures.increment(nextAttemptAt == nil ? .none : .scheduled) }

        func committed(_ plan: CommitPlan, _ outcome: CommitOutcome, took duration: Duration) {
            commits.record(Metric.Commit(outcome), duration)
            guard case .committed = outcome else { return }
            let written = plan.edits.reduce(0) { $0 + $1.pagesWritten }
            if written > 0 { pages.increment(by: written) }
            for case .failed(_, _, let pause, _) in plan.ledger {
                failures.increment(pause == nil ? .none : .scheduled)
            }
        }
    }

    /// The metrics of a storage on a server.
    struct Storage: Sendable {
        private let rows = Gauge(label: Metric.deadRows.rawValue)

        func hasDeadRows(_ count: Int) { rows.record(count) }
    }

    /// The metrics of one run of an engine.
    struct Engine: Sendable {
        private let runs = Counters(.backgroundRuns, Metric.runOutcomes)
        private let circuits = Counters(.circuits, Metric.CircuitState.allCases)

        func ended(_ outcome: SyncReport.Outcome) { runs.increment(outcome) }
        func circuitChanged(to state: Metric.CircuitState) { circuits.increment(state) }
    }
}

/// The counters of one metric, by the value of its dimension.
private struct Counters<Value: Hashable & Sendable & RawRepresentable<String>>: Sendable {
    private let counters: [Value: Counter]

    init(_ metric: Metric, _ values: [Value]) {
        counters = Dictionary(
            uniqueKeysWithValues: values.map {
                ($0, Counter(label: metric.rawValue, dimensions: metric.labels($0.rawValue)))
            })
    }

    func increment(_ value: Value) {
        assert(counters[value] != nil, "\(value) is not in the list")
        counters[value]?.increment()
    }
}

/// The timers of one metric, by the value of its dimension.
private struct Timers<Value: Hashable & Sendable & RawRepresentable<String>>: Sendable {
    private let timers: [Value: Timer]

    init(_ metric: Metric, _ values: [Value]) {
        timers = Dictionary(
            uniqueKeysWithValues: values.map {
                ($0, Timer(label: metric.rawValue, dimensions: metric.labels($0.rawValue)))
            })
    }

    func record(_ value: Value, _ duration: Duration) { timers[value]?.record(duration: duration) }
}

extension Counter {
    fileprivate convenience init(_ metric: Metric) { self.init(label: metric.rawValue) }
}

extension Metric {
    fileprivate func labels(_ value: String) -> [(String, String)] { dimension.map { [($0.name, value)] } ?? [] }
}

extension ListEdit {
    /// The number of pages that the edit passes to the storage.
    fileprivate var pagesWritten: Int {
        switch self {
        case .insertPage:
            1
        case .rearrange(let rearrangement):
            rearrangement.pieces.count { if case .written = $0 { true } else { false } }
        case .markContiguous, .touchPage, .startGeneration, .markStale, .truncate, .dropOlderGenerations, .setTotal,
            .setEnd,
            .setResultWindow,
            .validated,
            .invalidated, .setFreshFor, .setAllowsDuplicates, .setSweep, .audited, .setUnproven, .describe:
            0
        }
    }
}
