import PageModel

/// What a list is doing, and what each call does to that (R34–R38).
///
/// One work at a time, known by its ticket. A call starts work, joins the one under way, or is answered at once; work
/// that was superseded ends unheard.
///
/// ```
/// idle ──refresh──▶ refreshing ◀──refresh── loadingNext ◀──next── idle
///   ▲                   │  (supersedes it)       │
///   └───── ended ───────┴────────────────────────┘
/// ```
struct ListMachine: Equatable {
    enum Work: Hashable {
        /// Page one.
        case refresh
        /// The page behind the head run.
        case next
        /// Everything, beginning with page one.
        case all
    }

    enum Answer: Equatable {
        /// Begin, and end what is under way with `superseding`.
        case start(Work, ticket: Int, superseding: Int?)
        case join(ticket: Int)
        case finished(LoadOutcome)
    }

    /// How automatic triggers go on after a failure (C25).
    enum Gate: Equatable {
        case never
        case perLedger
    }

    /// What of the list itself matters here.
    struct Content: Equatable {
        /// Whether page one was ever had (R11).
        var isLoaded = false
        /// Whether the head run reaches the list's known end.
        var isAtEnd = false
    }

    private struct Running: Equatable {
        var work: Work
        var ticket: Int
        var isAutomatic: Bool
        /// Whether nothing was there when it began.
        var isFirst: Bool
    }

    let gate: Gate
    private let longestPause: Duration
    private(set) var content = Content()
    /// The last failure that is shown, until a retry starts (R37).
    private(set) var failure: ListFailure?
    /// A prefetch that failed: not shown before somebody gets to the end (X13).
    private var silentFailure: ListFailure?
    private var running: Running?
    private var tickets = 0
    private var hasAnnouncedEnd = false

    /// - Parameter longestPause: no retry waits longer than this.
    init(gate: Gate, longestPause: Duration = .seconds(3_600)) {
        self.gate = gate
        self.longestPause = longestPause
    }

    /// What is under way.
    var work: Work? { running?.work }

    /// Whether what is under way began with nothing loaded.
    var isFirst: Bool { running?.isFirst ?? false }

    func isRunning(_ ticket: Int) -> Bool { running?.ticket == ticket }

    // MARK: Calls

    /// R36: a refresh wins over a next page; two refreshes are one.
    mutating func refresh() -> Answer {
        switch running?.work {
        case .refresh, .all: join()
        case .next, nil: start(.refresh, isAutomatic: false)
        }
    }

    /// R34: with nothing loaded, the next page is page one.
    mutating func next() -> Answer { next(isAutomatic: false) }

    /// An automatic trigger. What failed last is tried again only if the gate lets it.
    /// - Parameter isLastItem: whether somebody has got to the last item, and would see that nothing comes.
    mutating func nextByItself(isLastItem: Bool, now: Timestamp) -> Answer {
        if running == nil, let known = failure ?? silentFailure, known.kind != .refresh {
            // R29: a moment that no back-off could have chosen is now.
            let isDue = known.nextAttemptAt.map { $0 <= now || $0 - now > longestPause } ?? false
            guard gate == .perLedger, isDue else {
                if isLastItem { failure = known }
                return .finished(.notNow)
            }
        }
        return next(isAutomatic: true)
    }

    private mutating func next(isAutomatic: Bool) -> Answer {
        guard content.isLoaded else { return refresh() }
        switch running?.work {
        case .refresh: return .finished(.superseded)
        case .next, .all: return join()
        case nil: return content.isAtEnd ? .finished(.endReached) : start(.next, isAutomatic: isAutomatic)
        }
    }

    mutating func all() -> Answer {
        switch running?.work {
        case .all: join()
        case .refresh, .next, nil: start(.all, isAutomatic: false)
        }
    }

    /// Everything is forgotten. Returns the work that is to be ended.
    mutating func reset() -> Int? {
        let ticket = running?.ticket
        running = nil
        failure = nil
        silentFailure = nil
        hasAnnouncedEnd = false
        content = Content()
        return ticket
    }

    // MARK: What happened

    /// Work has come to its end. False when it was superseded: then what it brought is nobody's.
    mutating func ended(_ ticket: Int, failure now: ListFailure?) -> Bool {
        guard let known = running, known.ticket == ticket else { return false }
        running = nil
        if known.isAutomatic { silentFailure = now } else { failure = now }
        return true
    }

    /// The list is this now. True when it has come to its end, and nobody was told (R38).
    mutating func saw(_ now: Content) -> Bool {
        content = now
        if !now.isAtEnd { hasAnnouncedEnd = false }
        // While something is under way, its pages are told first.
        guard now.isAtEnd, running == nil, !hasAnnouncedEnd else { return false }
        hasAnnouncedEnd = true
        return true
    }

    private mutating func start(_ work: Work, isAutomatic: Bool) -> Answer {
        let before = running?.ticket
        tickets += 1
        running = Running(work: work, ticket: tickets, isAutomatic: isAutomatic, isFirst: !content.isLoaded)
        failure = nil
        silentFailure = nil
        return .start(work, ticket: tickets, superseding: before)
    }

    private func join() -> Answer {
        running.map { .join(ticket: $0.ticket) } ?? .finished(.superseded)
    }
}
