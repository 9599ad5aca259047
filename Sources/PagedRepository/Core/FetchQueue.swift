import PageModel

/// Decides which target is fetched next, how many are in flight, and when to stop. It applies the limit on concurrency,
/// retries, pauses that the origin requested, the detection of an unavailable origin, and the page budget.
///
/// ```
/// add ──▶ ready ──▶ in flight ──▶ gone (completed, or failed for good)
///           ▲            │
///           └─ waiting ◀─┘ (failed, to be tried again)
/// ```
struct FetchQueue: Equatable {
    struct Limits: Equatable {
        /// The maximum number of fetches in flight.
        var concurrency: Int
        /// The number of transport failures in a row after which the origin counts as unavailable (R32). If the origin
        /// has not answered in this run at all, the run ends. Otherwise the run sends one request at a time. After
        /// twice as many failures no new page is started. Failed pages are fetched again when they are due, within
        /// `retryWaitBudget`.
        var transportFailures: Int
        /// How long to wait in total while only scheduled retries are left.
        var retryWaitBudget: Duration
        /// The number of pages that may be fetched. `nil` means no limit.
        var budget: Int?
    }

    enum Action: Equatable {
        case fetch(FetchTarget)
        /// The queue has nothing to do before this time.
        case sleep(until: Timestamp)
        /// The queue has nothing to do before a fetch in flight ends.
        case wait
        case finish(Ending)
    }

    enum Ending: Equatable {
        /// Every target was fetched, or failed permanently.
        case drained
        /// The budget is used up, and targets are left.
        case limited
        /// Targets are left, but `retryWaitBudget` is used up. The next retry is due at this time.
        case retryLater(Timestamp)
        /// The origin is unavailable.
        case offline
        /// The caller asked to stop.
        case stopped
    }

    private struct Waiting: Equatable {
        var target: FetchTarget
        var due: Timestamp
        /// The failure of the last request. `nil` if the target was not requested yet.
        var failure: FetchFailure?
    }

    private let limits: Limits
    /// In reverse order: the next target is last.
    private var ready: [FetchTarget] = []
    private var waiting: [Waiting] = []
    private(set) var inFlight: Set<FetchTarget> = []
    private var completions = 0
    private var waited = Duration.zero
    /// When the last probe of an unavailable origin was sent. The duration of the probe counts as waiting.
    private var probedAt: Timestamp?
    private var transportFailuresInRow = 0
    private var originAnswered = false
    /// The time until which the origin wants no request for any page.
    private var quietUntil: Timestamp?
    /// The last failure that requested this pause.
    private var quietFailure: FetchFailure?
    private var isStopping = false

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// Adds targets after those already in the queue.
    mutating func add(_ targets: [FetchTarget]) {
        ready.insert(contentsOf: targets.reversed(), at: 0)
    }

    /// Adds a target before all others.
    mutating func addFirst(_ target: FetchTarget) {
        ready.append(target)
    }

    /// Adds a target that is not fetched before `due`.
    mutating func add(_ target: FetchTarget, at due: Timestamp) {
        waiting.append(Waiting(target: target, due: due))
    }

    /// Removes all targets that are not in flight.
    mutating func clear() {
        ready.removeAll()
        waiting.removeAll()
    }

    /// Removes all targets at or after this position that are not in flight.
    mutating func clear(from position: Int) {
        ready.removeAll { $0.offset >= position }
        waiting.removeAll { $0.target.offset >= position }
    }

    /// Starts no more fetches. The run still waits for those in flight.
    mutating func stop() {
        isStopping = true
    }

    mutating func completed(_ target: FetchTarget) {
        inFlight.remove(target)
        if target.isPage { completions += 1 }
        transportFailuresInRow = 0
        originAnswered = true
    }

    /// Removes a target that another owner is fetching or has stored. No answer will arrive for it.
    mutating func skippedHeldElsewhere(_ target: FetchTarget) {
        inFlight.remove(target)
    }

    /// Records a failed request.
    /// - Parameters:
    ///   - target: the target of the request.
    ///   - failure: the failure.
    ///   - nextAttemptAt: when the target is retried. `nil` means that it failed permanently.
    ///   - quiet: the end of the pause that the origin requested for all requests, if it requested one (R28). Defaults
    ///     to nil, which means `nextAttemptAt`.
    mutating func failed(
        _ target: FetchTarget, _ failure: FetchFailure, nextAttemptAt: Timestamp?, quiet: Timestamp? = nil
    ) {
        inFlight.remove(target)
        transportFailuresInRow = failure.isTransport ? transportFailuresInRow + 1 : 0
        originAnswered = originAnswered || !failure.isTransport
        if failure.retryAfter != nil, let moment = quiet ?? nextAttemptAt {
            quietUntil = max(quietUntil ?? moment, moment)
            quietFailure = failure
        }
        guard let nextAttemptAt else { return }
        waiting.append(Waiting(target: target, due: nextAttemptAt, failure: failure))
    }

    /// The failed probe or sweep request whose retry is due first. `nil` when none waits for a retry. A run that ends
    /// before that retry never receives an answer to the request.
    var failedProbeOrSweep: (target: FetchTarget, failure: FetchFailure, due: Timestamp)? {
        let requests = waiting.filter { !$0.target.isPage }
        guard let first = requests.min(by: { ($0.due, $0.target.offset) < ($1.due, $1.target.offset) }),
            let failure = first.failure
        else { return nil }
        return (first.target, failure, first.due)
    }

    /// The failed probes that wait for a retry.
    var failedProbes: [(target: FetchTarget, failure: FetchFailure)] {
        waiting.compactMap { entry in
            guard case .probe = entry.target, let failure = entry.failure else { return nil }
            return (target: entry.target, failure: failure)
        }
    }

    /// The pause that keeps page one from being requested: the failure that requested it, and its end. `nil` unless
    /// page one is in the queue and the origin has requested a pause.
    var postponedPageOne: (failure: FetchFailure, due: Timestamp)? {
        guard ready.contains(.firstPage), let quietUntil, let quietFailure else { return nil }
        return (quietFailure, quietUntil)
    }

    /// Returns the spans that `next` would start now, and as many again. All of them count as in flight afterwards.
    ///
    /// The caller takes their leases in the commit of the pages that have just arrived. The second half can then be
    /// requested as soon as other answers arrive, before these are stored. `next` returns all targets other than spans.
    mutating func nextSpans(now: Timestamp) -> [FetchTarget] {
        guard !isStopping, transportFailuresInRow == 0, waiting.allSatisfy({ $0.due > now }) else { return [] }
        if let quietUntil, quietUntil > now { return [] }
        var spans: [FetchTarget] = []
        while inFlight.count < 2 * limits.concurrency, let target = ready.last, case .range = target,
            !isOverBudget(target),
            spans.last.map({ $0.offset < target.offset }) ?? true
        {
            ready.removeLast()
            inFlight.insert(target)
            spans.append(target)
        }
        return spans
    }

    /// Returns how many of the unstarted `spans` may be started now.
    ///
    /// Returns nil when none may start, and the caller must requeue them. Reasons are a stop, a requested pause, an
    /// unavailable origin, or a target at an earlier position that has become due.
    /// - Parameters:
    ///   - spans: spans from `nextSpans` that have not been started, in their order.
    ///   - come: the number of answers that have arrived and still count as in flight. Defaults to 0.
    func startable(of spans: [FetchTarget], besides come: Int = 0, now: Timestamp) -> Int? {
        guard !isStopping, !isUnavailable, quietUntil.map({ $0 <= now }) ?? true, urgent(before: spans).isEmpty else {
            return nil
        }
        return min(spans.count, max(0, limits.concurrency - (inFlight.count - spans.count - come)))
    }

    /// The targets that became ready after `spans` were taken, and that must be fetched before them.
    private func urgent(before spans: [FetchTarget]) -> ArraySlice<FetchTarget> {
        guard let first = spans.first else { return [] }
        let start = ready.lastIndex { $0.offset >= first.offset }.map { $0 + 1 } ?? ready.startIndex
        return ready[start...]
    }

    /// Returns unstarted spans from `nextSpans` to the queue. They are next again, after targets that have become
    /// urgent since.
    mutating func requeue(_ spans: [FetchTarget]) {
        inFlight.subtract(spans)
        ready.insert(contentsOf: spans.reversed(), at: urgent(before: spans).startIndex)
    }

    /// Returns the next action. The target of a `fetch` action is in flight from then on.
    mutating func next(now: Timestamp) -> Action {
        if let began = probedAt, inFlight.isEmpty {
            waited += max(.zero, now - began)
            probedAt = nil
        }
        if isStopping || (isUnavailable && !originAnswered) {
            guard inFlight.isEmpty else { return .wait }
            return .finish(isStopping ? .stopped : .offline)
        }
        guard inFlight.count < (isUnavailable ? 1 : limits.concurrency) else { return .wait }
        if staysAway { return probe(now) }
        wakeDue(now)

        if let quietUntil, quietUntil > now, !ready.isEmpty || !waiting.isEmpty {
            return inFlight.isEmpty ? rest(until: quietUntil, now: now) : .wait
        }
        if let target = ready.last {
            if isOverBudget(target) { return inFlight.isEmpty ? .finish(.limited) : .wait }
            ready.removeLast()
            inFlight.insert(target)
            return .fetch(target)
        }
        guard inFlight.isEmpty else { return .wait }
        guard let due = waiting.map(\.due).min() else { return .finish(.drained) }
        return rest(until: due, now: now)
    }

    private func isOverBudget(_ target: FetchTarget) -> Bool {
        guard let budget = limits.budget, target.isPage else { return false }
        return completions + inFlight.count(where: \.isPage) >= budget
    }

    /// Whether all requests of this run so far have failed in transport.
    private var isSilent: Bool { !originAnswered && transportFailuresInRow > 0 }

    private var isUnavailable: Bool { transportFailuresInRow >= limits.transportFailures }

    private var staysAway: Bool { transportFailuresInRow >= 2 * limits.transportFailures }

    /// Returns the failed target that is due first, one at a time. Otherwise waits for it, or ends the run (R32).
    private mutating func probe(_ now: Timestamp) -> Action {
        guard let next = waiting.indices.min(by: { waiting[$0].due < waiting[$1].due }) else {
            return .finish(ready.isEmpty ? .drained : .offline)
        }
        let due = max(waiting[next].due, quietUntil ?? waiting[next].due)
        guard due <= now else { return rest(until: due, now: now) }
        guard waited <= limits.retryWaitBudget else { return .finish(.offline) }
        let target = waiting.remove(at: next).target
        inFlight.insert(target)
        probedAt = now
        return .fetch(target)
    }

    private mutating func wakeDue(_ now: Timestamp) {
        let due = waiting.filter { $0.due <= now }
        guard !due.isEmpty else { return }
        waiting.removeAll { $0.due <= now }
        // Retries go first, because their positions are the oldest gaps.
        ready.append(contentsOf: due.sorted { ($0.due, $0.target.offset) > ($1.due, $1.target.offset) }.map(\.target))
    }

    private mutating func rest(until moment: Timestamp, now: Timestamp) -> Action {
        let pause = moment - now
        guard waited + pause <= limits.retryWaitBudget else {
            return .finish(isUnavailable || isSilent ? .offline : .retryLater(moment))
        }
        waited += pause
        return .sleep(until: moment)
    }
}
