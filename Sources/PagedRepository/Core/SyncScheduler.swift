import PageModel

/// Decides which background work is due for a list, and when (R15, R29, R33). Pure logic, without I/O.
struct SyncScheduler {
    /// Rules of background work.
    struct Rules: Equatable {
        var freshness: FreshnessPolicy
        /// The longest pause before a retry. A later retry time was set under another clock setting (R29).
        var longestPause: Duration
        /// The longest pause before a retry when the origin itself named no time.
        var longestBackOff: Duration = .seconds(300)
        /// The pause after which page one is retried although it has used up its attempts, counted from the last
        /// attempt. The same pause applies to the page at which a sweep stopped. Permanent failures are not retried.
        /// Without this rule, a wanted list could stay stale forever.
        var abandonedPause: Duration = .seconds(300)
        /// The minimum age of page one before it is fetched again, however soon it goes stale. Without this minimum, an
        /// origin that calls its lists fresh for 0 seconds would be fetched without end.
        var shortestAge: Duration = .seconds(1)
    }

    /// The facts about a wanted list that decide its work. A wanted list is pinned, observed in this process, or in the
    /// middle of a sweep.
    struct List: Equatable {
        var query: QueryID
        /// Whether all pages of the list are kept complete and fresh, and not only page one.
        var isPinned: Bool
        var validatedAt: Timestamp?
        /// How long the list is fresh according to the origin. `nil` means that the origin does not say.
        var freshFor: Duration?
        /// Whether a caller has marked the list as stale.
        var isInvalidated = false
        var isComplete: Bool
        var isSweeping: Bool
        /// The ledger entry of page one, if its last fetch failed.
        var headFailure: LedgerEntry?
        /// The ledger entry of the page at which the sweep stopped, if its last fetch failed.
        var sweepFailure: LedgerEntry?
    }

    struct Job: Equatable {
        var query: QueryID
        var work: SyncOptions.Work
        var dueAt: Timestamp
    }

    let rules: Rules

    /// Returns the jobs for a wanted list. They fetch its missing pages, keep it fresh, and continue a sweep that waits
    /// for a retry.
    func jobs(for list: List, now: Timestamp) -> [Job] {
        [completion(of: list), job(for: list, now: now), postponedSweep(of: list, now: now)].compactMap { $0 }
    }

    /// Returns the job that refreshes a wanted list or continues its sweep, with its due time. Returns nil when page
    /// one has failed permanently, so that only an explicit call may fetch it.
    func job(for list: List, now: Timestamp) -> Job? {
        var dueAt = now
        // A time in the future comes from another clock setting, and does not count (R29).
        if let validatedAt = list.validatedAt, !list.isInvalidated, validatedAt <= now {
            let isFresh =
                rules.freshness.freshness(validatedAt: validatedAt, freshFor: list.freshFor, now: now) == .fresh
            let age = isFresh ? rules.freshness.staleAfter(originSays: list.freshFor) : .zero
            dueAt = max(now, validatedAt + max(age, rules.shortestAge))
        }
        if let failure = list.headFailure {
            guard let next = nextAttempt(after: failure, now) else { return nil }
            dueAt = max(dueAt, next)
        }
        if continuesSweep(list, now: now) { return Job(query: list.query, work: .sweep, dueAt: dueAt) }
        return Job(query: list.query, work: list.isPinned ? .everything : .refresh, dueAt: dueAt)
    }

    /// Whether the interrupted sweep of a list may continue. While the page at which it stopped waits for its retry,
    /// the list is treated like one without a sweep (R33).
    func continuesSweep(_ list: List, now: Timestamp) -> Bool {
        guard list.isSweeping, let failure = list.sweepFailure else { return list.isSweeping }
        return nextAttempt(after: failure, now).map { $0 <= now } ?? false
    }

    private func postponedSweep(of list: List, now: Timestamp) -> Job? {
        guard let failure = list.sweepFailure, !continuesSweep(list, now: now) else { return nil }
        return nextAttempt(after: failure, now).map { Job(query: list.query, work: .sweep, dueAt: $0) }
    }

    /// Returns the time of the next automatic attempt. Returns nil after a permanent failure, which only an explicit
    /// call retries (R33).
    private func nextAttempt(after failure: LedgerEntry, _ now: Timestamp) -> Timestamp? {
        let abandoned =
            failure.state == .failedRetryable ? (failure.lastAttemptAt ?? now) + rules.abandonedPause : nil
        return (failure.nextAttemptAt ?? abandoned).map { sanitized($0, of: failure, now) }
    }

    /// Returns the job that fetches the missing pages of a pinned list, however fresh page one is. Pages that failed
    /// have due times of their own. Returns nil if no page is missing, page one was never fetched or fails, or the list
    /// is being swept.
    func completion(of list: List) -> Job? {
        guard list.isPinned, !list.isComplete, !list.isSweeping, list.headFailure == nil,
            let validatedAt = list.validatedAt
        else { return nil }
        return Job(query: list.query, work: .positions(0..<Int.max), dueAt: validatedAt)
    }

    /// Returns the job for a page whose retry is scheduled. Returns nil if no retry is scheduled.
    func job(for due: DueFetch, now: Timestamp) -> Job? {
        guard let next = due.entry.nextAttemptAt else { return nil }
        let offset = due.entry.offset
        return Job(
            query: due.query, work: offset == 0 ? .refresh : .positions(offset..<offset + 1),
            dueAt: sanitized(next, of: due.entry, now))
    }

    /// Returns the given time, or `now` for a time that no back-off could have chosen (R29).
    private func sanitized(_ moment: Timestamp, of entry: LedgerEntry, _ now: Timestamp) -> Timestamp {
        let longest = entry.retryAfterUntil == nil ? min(rules.longestBackOff, rules.longestPause) : rules.longestPause
        return moment - now > longest ? now : moment
    }

    /// Returns the earliest job of each list, in the order in which they are due.
    static func soonest(_ jobs: [Job]) -> [Job] {
        var first: [QueryID: Job] = [:]
        for job in jobs where first[job.query].map({ job.dueAt < $0.dueAt }) ?? true { first[job.query] = job }
        return first.values.sorted { ($0.dueAt, $0.query.rawValue) < ($1.dueAt, $1.query.rawValue) }
    }
}

extension SyncScheduler {
    /// - Parameters:
    ///   - freshness: decides when page one is fetched again.
    ///   - retry: limits the pause before a retry (R28, R29).
    ///   - shortestAge: see `Rules`. Zero suits a program that runs once and exits. Defaults to 1 second.
    init(freshness: FreshnessPolicy, retry: RetrySchedule, shortestAge: Duration = .seconds(1)) {
        rules = Rules(
            freshness: freshness, longestPause: max(retry.cap, retry.longestRetryAfter), longestBackOff: retry.cap,
            abandonedPause: retry.cap, shortestAge: shortestAge)
    }
}

extension SyncScheduler.List {
    /// The facts about a stored list.
    init(_ list: ListOutline) {
        let record = list.record
        self.init(
            query: record.id, isPinned: record.isPinned, validatedAt: record.validatedAt, freshFor: record.freshFor,
            isInvalidated: record.isInvalidated, isComplete: list.isComplete || list.isAtResultWindow,
            isSweeping: record.sweep != nil,
            headFailure: list.ledger.first { $0.offset == 0 && $0.state.isFailure },
            sweepFailure: list.ledger.first { $0.offset == record.sweep?.position && $0.state.isFailure })
    }
}
