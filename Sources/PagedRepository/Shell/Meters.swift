import Metrics
import PageModel

/// What counts and times the events that `Metric` lists: a group for each thing that lives for a while.
///
/// To look up a handler costs the back end a lock and a search by name; to count with it costs an atomic addition, and
/// nothing where there is no back end. So a group is looked up when its repository, run or engine begins, and an event
/// only counts: a cached read looks nothing up. Nor is it looked up once for the process: the factory that holds when
/// something begins is the one that counts it, be it set up late or for one task alone (`withMetricsFactory`, as in
/// tests that run beside each other). swift-metrics hands its factory down in this way by itself, which is why no
/// initialiser of ours takes one.
///
/// Every series is there from the beginning, with nothing in it: an alert sees the first failure as an increase.
enum Meters {
    /// Of a repository and its lists.
    struct Reads: Sendable {
        private let reads = Counters(.reads, Metric.Cached.allCases)

        /// A caller asked for what this much of was cached.
        func asked(_ cached: Metric.Cached) { reads.increment(cached) }
    }

    /// Of one run.
    struct Run: Sendable {
        private let requests = Counters(.requests, Metric.Request.allCases)
        private let retries = Counter(.retries)
        private let payload = Counter(.payload)
        private let fetches = Timers(.fetches, Metric.Fetch.allCases)
        private let others = Counter(.leftToOthers)
        private let commits = Timers(.commits, Metric.Commit.allCases)
        private let pages = Counter(.pages)
        private let failures = Counters(.failures, Metric.Retry.allCases)

        /// What failed before is asked for again.
        func retried() { retries.increment() }

        /// Called in the task that asked. How long something took that was cut off says nothing of the origin.
        func fetched(_ result: Result<PageAnswer, any Error>, took duration: Duration) {
            switch result {
            case .success(let answer):
                requests.increment(Metric.Request(answer))
                fetches.record(.answered, duration)
                if case .page(let page) = answer { payload.increment(by: page.content.bytes.count) }
            case .failure(let error) where error is CancellationError || Task.isCancelled:
                requests.increment(.cancelled)
            case .failure(let error):
                // What is no `FetchFailure` counts as one in transport, see `PageSource`.
                requests.increment(Metric.Request((error as? FetchFailure)?.failureClass ?? .transport))
                fetches.record(.failed, duration)
            }
        }

        func leftToOthers() { others.increment() }

        /// A page could not be had; nil: no automatic trigger will try again.
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

    /// Of one life of an engine.
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
    /// Pages that are handed to the storage.
    fileprivate var pagesWritten: Int {
        switch self {
        case .put:
            1
        case .rearrange(let rearrangement):
            rearrangement.pieces.count { if case .written = $0 { true } else { false } }
        case .verify, .confirm, .beginGeneration, .demote, .truncate, .dropOlderGenerations, .setTotal, .setEnd,
            .setWindow,
            .validated,
            .invalidated, .setFreshFor, .setAllowsDuplicates, .setSweep, .describe:
            0
        }
    }
}
