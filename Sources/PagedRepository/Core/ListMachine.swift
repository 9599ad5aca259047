import PageModel

/// The state machine of a list: the work under way, and the effect of each call (R34–R38).
///
/// One piece of work runs at a time, identified by its ticket. A call starts work, joins or awaits the work under way,
/// or returns at once. The result of superseded work is ignored.
///
/// ```
/// idle ──refresh──▶ refreshing ◀──refresh── loadingNext ◀──next── idle
///   ▲                   │  (supersedes it)       │
///   └───── ended ───────┴────────────────────────┘
/// ```
struct ListMachine: Equatable {
    enum Work: Hashable {
        /// Fetch page one.
        case refresh
        /// Fetch the page after the head segment.
        case next
        /// Fetch everything, beginning with page one.
        case all
    }

    enum Decision: Equatable {
        /// Start this work, and cancel the work whose ticket is `superseding`, if there is one.
        case start(Work, ticket: Int, superseding: Int?)
        case join(ticket: Int)
        /// Wait for the end of a refresh that supersedes the call.
        case wait(ticket: Int)
        case finished(LoadOutcome)
    }

    /// Whether the appearance of an item retries a failed load.
    enum Gate: Equatable {
        case never
        case perLedger
    }

    /// The facts about the list that decide what a call does.
    struct Content: Equatable {
        /// Whether page one was ever fetched (R11).
        var isLoaded = false
        /// Whether the head segment reaches the known end of the list.
        var isAtEnd = false
    }

    private struct Running: Equatable {
        var work: Work
        var ticket: Int
        var isAutomatic: Bool
        /// Whether page one had never been fetched when the work began.
        var isFirst: Bool
        /// Whether the list was removed after the work began. The result may then belong to the removed list.
        var isOutdated = false
    }

    let gate: Gate
    private let longestPause: Duration
    private(set) var content = Content()
    /// The failure of page one, until its retry starts (R37). The loading of a next page is not a retry of page one.
    private var headFailure: ListFailure?
    /// The failure of the next page, until its retry starts.
    private var nextFailure: ListFailure?
    /// The failure of a prefetch. It is shown only when another item close to the end appears.
    private var silentFailure: ListFailure?
    /// A failure that another writer has recorded for this list.
    private var failureElsewhere: ListFailure?
    private var running: Running?
    private var tickets = 0
    private var hasAnnouncedEnd = false

    /// - Parameter longestPause: the longest pause before a retry.
    init(gate: Gate, longestPause: Duration = .seconds(3_600)) {
        self.gate = gate
        self.longestPause = longestPause
    }

    /// The failure of this list's own work, until its retry starts (R37). A prefetch that failed is not included.
    var failure: ListFailure? { nextFailure ?? headFailure }

    /// The failure to show: that of this list's own work, or that of another writer while no work is under way.
    var shownFailure: ListFailure? { failure ?? (running == nil ? failureElsewhere : nil) }

    /// Whether a retry requests the next page. Otherwise it requests page one.
    var retriesNextPage: Bool {
        if failure == nil, silentFailure == nil { return failureElsewhere?.kind == .next }
        return nextFailure != nil || headFailure == nil
    }

    /// The work under way.
    var work: Work? { running?.work }

    /// Whether the work under way began before page one was ever fetched.
    var isFirst: Bool { running?.isFirst ?? false }

    func isRunning(_ ticket: Int) -> Bool { running?.ticket == ticket }

    /// The work under way that a call can join. `nil` if there is none, or if the list was removed after the work
    /// began.
    private var current: Work? { running.flatMap { $0.isOutdated ? nil : $0.work } }

    // MARK: Calls

    /// A refresh supersedes the loading of a next page. Two refreshes are joined into one (R36).
    mutating func refresh() -> Decision {
        switch current {
        case .refresh, .all: join()
        case .next, nil: start(.refresh, isAutomatic: false)
        }
    }

    /// Loads the next page. If page one was never fetched, the next page is page one (R34).
    mutating func next() -> Decision { next(isAutomatic: false) }

    /// Handles an automatic trigger: an item close to the end has appeared. The trigger retries the last failure only
    /// if `gate` allows it and the retry is due. Otherwise the failure is shown.
    mutating func nextAutomatically(now: Timestamp) -> Decision {
        let head = headFailure?.kind == .first ? headFailure : nil
        if running == nil, let known = nextFailure ?? silentFailure ?? head {
            // A time that no back-off could have chosen counts as now (R29).
            let isDue = known.nextAttemptAt.map { $0 <= now || $0 - now > longestPause } ?? false
            guard gate == .perLedger, isDue else {
                if known.kind != .first { nextFailure = known }
                return .finished(.notDue)
            }
        }
        return next(isAutomatic: true)
    }

    private mutating func next(isAutomatic: Bool) -> Decision {
        guard content.isLoaded else { return refresh() }
        switch current {
        case .refresh:
            // An automatic trigger is repeated after the refresh. A caller would repeat the call at once, and therefore
            // waits.
            guard !isAutomatic, let ticket = running?.ticket else { return .finished(.superseded) }
            return .wait(ticket: ticket)
        case .next, .all:
            // The failure of a load that a caller waits for is shown.
            if !isAutomatic { running?.isAutomatic = false }
            return join()
        case nil: return content.isAtEnd ? .finished(.endReached) : start(.next, isAutomatic: isAutomatic)
        }
    }

    mutating func all() -> Decision {
        switch current {
        case .all: join()
        case .refresh, .next, nil: start(.all, isAutomatic: false)
        }
    }

    /// Forgets everything. Returns the ticket of the work to cancel, or nil if no work is under way.
    mutating func reset() -> Int? {
        let ticket = running?.ticket
        running = nil
        (headFailure, nextFailure, silentFailure, failureElsewhere) = (nil, nil, nil, nil)
        hasAnnouncedEnd = false
        content = Content()
        return ticket
    }

    /// Records that the list was removed. Work that is under way continues, and the next call that starts work
    /// supersedes it.
    mutating func removed() { running?.isOutdated = true }

    // MARK: Results

    /// Ends the work with this ticket. Returns false when the work was superseded; its result is then dropped.
    /// - Parameters:
    ///   - ticket: the ticket of the work.
    ///   - now: the failure of the work. `nil` means success.
    ///   - isLastItemVisible: whether the last item is visible, so that the failure of a prefetch is shown at once.
    mutating func ended(_ ticket: Int, failure now: ListFailure?, isLastItemVisible: Bool = false) -> Bool {
        guard let known = running, known.ticket == ticket else { return false }
        running = nil
        if known.isAutomatic, !isLastItemVisible {
            silentFailure = now
        } else if let now {
            let isOfNext = now.kind == .next || now.kind == .storage && known.work == .next
            if isOfNext { nextFailure = now } else { headFailure = now }
        }
        return true
    }

    /// Records that the storage failed before any work began.
    mutating func storageFailed(_ now: ListFailure) { headFailure = now }

    /// Records that the storage was read successfully. An earlier failure of the storage is removed, unless it ended
    /// the load of a next page.
    mutating func storageWasRead() { if headFailure?.kind == .storage { headFailure = nil } }

    /// Records that another writer has failed to fetch a page of this list. `nil` means that the ledger no longer has
    /// such a failure. A failure that equals one of this list's own work is not kept, because this list shows its own
    /// failures itself.
    mutating func failedElsewhere(_ now: ListFailure?) {
        // The ledger keeps the class and the message of a failure, and not all its details.
        let isOwn = [headFailure, nextFailure, silentFailure].contains { own in
            own?.failure.failureClass == now?.failure.failureClass && own?.failure.message == now?.failure.message
        }
        failureElsewhere = isOwn ? nil : now
    }

    /// Records the new content. Returns true when the end of the list must be announced (R38). This is so when the list
    /// has reached its end, no work is under way, and this end was not announced before.
    mutating func setContent(_ now: Content) -> Bool {
        content = now
        if !now.isAtEnd { hasAnnouncedEnd = false }
        // The end is announced after the pages of the work under way.
        guard now.isAtEnd, running == nil, !hasAnnouncedEnd else { return false }
        hasAnnouncedEnd = true
        return true
    }

    private mutating func start(_ work: Work, isAutomatic: Bool) -> Decision {
        let before = running?.ticket
        tickets += 1
        running = Running(work: work, ticket: tickets, isAutomatic: isAutomatic, isFirst: !content.isLoaded)
        // The failure of page one is shown until page one is requested again.
        if work != .next || failureElsewhere?.kind == .next { failureElsewhere = nil }
        if work != .next { headFailure = nil }
        (nextFailure, silentFailure) = (nil, nil)
        return .start(work, ticket: tickets, superseding: before)
    }

    private func join() -> Decision {
        running.map { .join(ticket: $0.ticket) } ?? .finished(.superseded)
    }
}
