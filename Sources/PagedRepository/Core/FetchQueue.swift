import PageModel

/// Something to ask the origin.
enum FetchTarget: Hashable, Sendable {
    /// Page one.
    case head
    /// The items at these positions, asked for together with so many before them, which should be those that are held
    /// there (R21).
    case span(Range<Int>, overlap: Int)
    /// What the page before `offset` handed over.
    case follow(PageCursor, offset: Int)
    /// What lies at these positions, to understand what changed (R18). No page is made of it, so it needs no lease.
    case probe(Range<Int>)
    /// The items at these positions, in the course of a sweep (R23).
    case sweep(Range<Int>)

    /// Whether what is asked for becomes a page.
    var isPage: Bool {
        switch self {
        case .head, .span, .follow: true
        case .probe, .sweep: false
        }
    }

    /// Whether the answer goes to a place in the list as it is when it is asked for (R4).
    var hasPlace: Bool {
        switch self {
        case .span, .follow: true
        case .head, .probe, .sweep: false
        }
    }

    /// The position that the ledger knows it by.
    var offset: Int {
        switch self {
        case .head: 0
        case .span(let range, _), .probe(let range), .sweep(let range): range.lowerBound
        case .follow(_, let offset): offset
        }
    }
}

/// Decides what is fetched next, how many at a time, and when to stop: concurrency, retries, pauses the origin asked
/// for, an origin that is away, a budget of pages.
///
/// ```
/// add ──▶ ready ──▶ in flight ──▶ gone (landed, or failed for good)
///           ▲            │
///           └─ waiting ◀─┘ (failed, to be tried again)
/// ```
struct FetchQueue: Equatable {
    struct Limits: Equatable {
        /// Fetches at a time.
        var concurrency: Int
        /// Consecutive transport failures after which the origin counts as away (R32): an origin that has not been
        /// heard at all ends the work; one that has been is probed, one request at a time. After twice as many nothing
        /// new is begun: what failed is asked for again when it is due, while patience lasts.
        var transportFailures: Int
        /// How long to wait, in all, while nothing but scheduled retries is left.
        var patience: Duration
        /// Fetches that may succeed in all; nil means no limit.
        var budget: Int?
    }

    enum Action: Equatable {
        case fetch(FetchTarget)
        /// Nothing to do before this moment.
        case sleep(until: Timestamp)
        /// Nothing to do before one of those in flight comes back.
        case wait
        case finish(Ending)
    }

    enum Ending: Equatable {
        /// Everything was fetched, or failed for good.
        case drained
        /// The budget is used up, and something is left.
        case limited
        /// Something is left, but patience is not; the next retry is due at this moment.
        case retryLater(Timestamp)
        /// The origin cannot be reached.
        case offline
        /// The caller asked to stop.
        case stopped
    }

    private struct Waiting: Equatable {
        var target: FetchTarget
        var due: Timestamp
    }

    private let limits: Limits
    /// In reverse order: the next one is last.
    private var ready: [FetchTarget] = []
    private var waiting: [Waiting] = []
    private(set) var inFlight: Set<FetchTarget> = []
    private var landings = 0
    private var waited = Duration.zero
    /// When the last question to an origin that stays away was asked: what it takes to fail is waiting, too.
    private var probedAt: Timestamp?
    private var transportFailuresInRow = 0
    private var wasHeard = false
    /// The origin asked to be left alone until then: it asked as a whole, not for one page.
    private var quietUntil: Timestamp?
    private var isStopping = false

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// Targets to fetch, after those already there.
    mutating func add(_ targets: [FetchTarget]) {
        ready.insert(contentsOf: targets.reversed(), at: 0)
    }

    /// A target to fetch before all others.
    mutating func addFirst(_ target: FetchTarget) {
        ready.append(target)
    }

    /// A target to fetch at this moment, and not before.
    mutating func add(_ target: FetchTarget, at due: Timestamp) {
        waiting.append(Waiting(target: target, due: due))
    }

    /// Forgets what is not in flight yet.
    mutating func clear() {
        ready.removeAll()
        waiting.removeAll()
    }

    /// Forgets what is not in flight yet and lies at or behind this position.
    mutating func clear(from position: Int) {
        ready.removeAll { $0.offset >= position }
        waiting.removeAll { $0.target.offset >= position }
    }

    /// No more fetches are started; those in flight are waited for.
    mutating func stop() {
        isStopping = true
    }

    mutating func landed(_ target: FetchTarget) {
        inFlight.remove(target)
        if target.isPage { landings += 1 }
        transportFailuresInRow = 0
        wasHeard = true
    }

    /// Somebody else is fetching it: no answer will come to us, and none is missing.
    mutating func leftToOthers(_ target: FetchTarget) {
        inFlight.remove(target)
    }

    /// - Parameters:
    ///   - nextAttemptAt: nil when it failed for good.
    ///   - quiet: until when the origin asked to be left alone (R28), where that is not the moment of the next attempt.
    mutating func failed(
        _ target: FetchTarget, _ failure: FetchFailure, nextAttemptAt: Timestamp?, quiet: Timestamp? = nil
    ) {
        inFlight.remove(target)
        transportFailuresInRow = failure.isTransport ? transportFailuresInRow + 1 : 0
        wasHeard = wasHeard || !failure.isTransport
        if failure.retryAfter != nil, let moment = quiet ?? nextAttemptAt {
            quietUntil = max(quietUntil ?? moment, moment)
        }
        guard let nextAttemptAt else { return }
        waiting.append(Waiting(target: target, due: nextAttemptAt))
    }

    /// The pages by position that `next` would have fetched now, one call after the other, and as many again; all count
    /// as in flight after it. For who takes their leases with what he is about to store: those behind are ready to be
    /// asked for as soon as others have come, and before these are stored. Whatever is less plain is left to `next`.
    mutating func nextSpans(now: Timestamp) -> [FetchTarget] {
        guard !isStopping, transportFailuresInRow == 0, waiting.allSatisfy({ $0.due > now }) else { return [] }
        if let quietUntil, quietUntil > now { return [] }
        var spans: [FetchTarget] = []
        while inFlight.count < 2 * limits.concurrency, let target = ready.last, case .span = target,
            !isOverBudget(target),
            spans.last.map({ $0.offset < target.offset }) ?? true
        {
            ready.removeLast()
            inFlight.insert(target)
            spans.append(target)
        }
        return spans
    }

    /// How many of those that came of `nextSpans`, and have not been asked for, may be asked for now. Nil when none
    /// may, and they are to be given back: somebody has asked for an end, or a pause, since, the origin is away, or
    /// something before them has come into doubt and is asked for first.
    /// - Parameters:
    ///   - spans: those that have not been asked for, in the order in which they came.
    ///   - come: how many have come, and are still counted as in flight.
    func startable(of spans: [FetchTarget], besides come: Int = 0, now: Timestamp) -> Int? {
        guard !isStopping, !isAway, quietUntil.map({ $0 <= now }) ?? true, urgent(before: spans).isEmpty else {
            return nil
        }
        return min(spans.count, max(0, limits.concurrency - (inFlight.count - spans.count - come)))
    }

    /// What has become ready since `spans` came of `nextSpans`, and goes before them.
    private func urgent(before spans: [FetchTarget]) -> ArraySlice<FetchTarget> {
        guard let first = spans.first else { return [] }
        let start = ready.lastIndex { $0.offset >= first.offset }.map { $0 + 1 } ?? ready.startIndex
        return ready[start...]
    }

    /// Those that came of `nextSpans` are not fetched now after all: they are next again, but for what has become
    /// urgent since.
    mutating func putBack(_ spans: [FetchTarget]) {
        inFlight.subtract(spans)
        ready.insert(contentsOf: spans.reversed(), at: urgent(before: spans).startIndex)
    }

    /// What to do now. Each call that returns `fetch` has put the target in flight.
    mutating func next(now: Timestamp) -> Action {
        if let began = probedAt, inFlight.isEmpty {
            waited += max(.zero, now - began)
            probedAt = nil
        }
        if isStopping || (isAway && !wasHeard) {
            guard inFlight.isEmpty else { return .wait }
            return .finish(isStopping ? .stopped : .offline)
        }
        guard inFlight.count < (isAway ? 1 : limits.concurrency) else { return .wait }
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
        return landings + inFlight.count(where: \.isPage) >= budget
    }

    /// Nothing has come back from the origin yet, and it was asked.
    private var isSilent: Bool { !wasHeard && transportFailuresInRow > 0 }

    private var isAway: Bool { transportFailuresInRow >= limits.transportFailures }

    private var staysAway: Bool { transportFailuresInRow >= 2 * limits.transportFailures }

    /// R32: one of those that failed, when it is due; or nothing any more.
    private mutating func probe(_ now: Timestamp) -> Action {
        guard let next = waiting.indices.min(by: { waiting[$0].due < waiting[$1].due }) else {
            return .finish(ready.isEmpty ? .drained : .offline)
        }
        let due = max(waiting[next].due, quietUntil ?? waiting[next].due)
        guard due <= now else { return rest(until: due, now: now) }
        guard waited <= limits.patience else { return .finish(.offline) }
        let target = waiting.remove(at: next).target
        inFlight.insert(target)
        probedAt = now
        return .fetch(target)
    }

    private mutating func wakeDue(_ now: Timestamp) {
        let due = waiting.filter { $0.due <= now }
        guard !due.isEmpty else { return }
        waiting.removeAll { $0.due <= now }
        // Retries go first: the positions they stand for are the oldest gaps.
        ready.append(contentsOf: due.sorted { ($0.due, $0.target.offset) > ($1.due, $1.target.offset) }.map(\.target))
    }

    private mutating func rest(until moment: Timestamp, now: Timestamp) -> Action {
        let pause = moment - now
        guard waited + pause <= limits.patience else {
            return .finish(isAway || isSilent ? .offline : .retryLater(moment))
        }
        waited += pause
        return .sleep(until: moment)
    }
}
