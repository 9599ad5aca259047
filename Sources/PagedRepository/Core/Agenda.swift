import PageModel

/// What is to be done for lists in the background, and when: pure (R15, R29, R33).
struct Agenda {
    /// How background work goes.
    struct Rules: Equatable {
        var freshness: FreshnessPolicy
        /// No retry waits longer than this; a later moment is a clock that was set back (R29).
        var longestPause: Duration
        /// Nor longer than this, where the origin itself named no moment.
        var longestBackOff: Duration = .seconds(300)
        /// After that much time, a page one that was given up though it could be tried again is tried again: what
        /// somebody wants to have does not stay behind for good.
        var givenUpPause: Duration = .seconds(300)
        /// However soon page one goes stale, it is not asked for again before it is so old: an origin that calls
        /// nothing fresh would be asked without end.
        var shortestAge: Duration = .seconds(1)
    }

    /// A list that somebody wants to have, as far as it matters here.
    struct List: Equatable {
        var query: QueryID
        /// Kept whole, not only fresh.
        var isPinned: Bool
        var validatedAt: Timestamp?
        /// For how long the origin calls it fresh; nil where it does not say.
        var freshFor: Duration?
        /// Somebody knows that it is not right any more.
        var isInvalidated = false
        var isComplete: Bool
        var isSweeping: Bool
        /// The record of page one, when it is failing.
        var headFailure: LedgerEntry?
    }

    struct Job: Equatable {
        var query: QueryID
        var work: SyncOptions.Work
        var dueAt: Timestamp
    }

    let rules: Rules

    /// What is to be done for a list that is wanted: what it lacks, and what keeps it fresh.
    func jobs(for list: List, now: Timestamp) -> [Job] {
        [completion(of: list), job(for: list, now: now)].compactMap { $0 }
    }

    /// What is to be done for a list that is wanted, and from when on. Nil when only an explicit call may.
    func job(for list: List, now: Timestamp) -> Job? {
        var dueAt = now
        // Data from the future is as good as none (R29).
        if let validatedAt = list.validatedAt, !list.isInvalidated, validatedAt <= now {
            let isFresh =
                rules.freshness.freshness(validatedAt: validatedAt, freshFor: list.freshFor, now: now) == .fresh
            let age = isFresh ? rules.freshness.staleAfter(originSays: list.freshFor) : .zero
            dueAt = max(now, validatedAt + max(age, rules.shortestAge))
        }
        if let failure = list.headFailure {
            // R33: what failed for good is left to people.
            let givenUp = failure.state == .failedRetryable ? (failure.lastAttemptAt ?? now) + rules.givenUpPause : nil
            guard let next = failure.nextAttemptAt ?? givenUp else { return nil }
            dueAt = max(dueAt, honest(next, of: failure, now))
        }
        if list.isSweeping { return Job(query: list.query, work: .sweep, dueAt: dueAt) }
        return Job(query: list.query, work: list.isPinned ? .everything : .refresh, dueAt: dueAt)
    }

    /// What is missing of a list that is to be whole does not wait for its age; failures have moments of their own.
    func completion(of list: List) -> Job? {
        guard list.isPinned, !list.isComplete, !list.isSweeping, list.headFailure == nil,
            let validatedAt = list.validatedAt
        else { return nil }
        return Job(query: list.query, work: .positions(0..<Int.max), dueAt: validatedAt)
    }

    /// A page whose retry is scheduled.
    func job(for due: DueFetch, now: Timestamp) -> Job? {
        guard let next = due.entry.nextAttemptAt else { return nil }
        let offset = due.entry.offset
        return Job(
            query: due.query, work: offset == 0 ? .refresh : .positions(offset..<offset + 1),
            dueAt: honest(next, of: due.entry, now))
    }

    /// R29: a moment that no back-off could have chosen is now.
    private func honest(_ moment: Timestamp, of entry: LedgerEntry, _ now: Timestamp) -> Timestamp {
        let longest = entry.retryAfterUntil == nil ? min(rules.longestBackOff, rules.longestPause) : rules.longestPause
        return moment - now > longest ? now : moment
    }

    /// One job a list, the soonest; in the order in which they are due.
    static func soonest(_ jobs: [Job]) -> [Job] {
        var first: [QueryID: Job] = [:]
        for job in jobs where first[job.query].map({ job.dueAt < $0.dueAt }) ?? true { first[job.query] = job }
        return first.values.sorted { ($0.dueAt, $0.query.rawValue) < ($1.dueAt, $1.query.rawValue) }
    }
}

extension Agenda {
    /// - Parameters:
    ///   - freshness: when page one is had again.
    ///   - retry: how long pauses are at most (R28, R29).
    ///   - shortestAge: see `Rules`; zero for who looks once and leaves. Default: 1 second.
    init(freshness: FreshnessPolicy, retry: RetrySchedule, shortestAge: Duration = .seconds(1)) {
        rules = Rules(
            freshness: freshness, longestPause: max(retry.cap, retry.longestRetryAfter), longestBackOff: retry.cap,
            givenUpPause: retry.cap, shortestAge: shortestAge)
    }
}

extension Agenda.List {
    /// What matters here of a list as it is stored.
    init(_ list: ListOutline) {
        let record = list.record
        self.init(
            query: record.id, isPinned: record.isPinned, validatedAt: record.validatedAt, freshFor: record.freshFor,
            isInvalidated: record.isInvalidated, isComplete: list.isComplete || list.isAtWindow,
            isSweeping: record.sweep != nil,
            headFailure: list.ledger.first { $0.offset == 0 && $0.state.isFailure })
    }
}
