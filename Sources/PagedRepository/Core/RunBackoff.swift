import PageModel

/// Decides how soon the next work for a list may begin, by the result of the last run. A pure decision (R29).
///
/// `SyncScheduler` decides which work is due, and `RunBackoff` delays it. It delays overdue work at the engine's start,
/// lists that are incomplete after a run, and jobs that are still due after two runs.
struct RunBackoff {
    /// The result of a run.
    enum Yield: Equatable {
        case complete
        /// The run fetched something, but not everything.
        case some
        case nothing
    }

    /// The pause between two runs of an incomplete list. It doubles with each run that fetches nothing.
    let base: Duration
    /// The longest pause. The spread at the start may be longer.
    let longest: Duration
    /// The time over which overdue work is spread at the start.
    let spread: Duration
    /// The time before which a list is left alone.
    private var notBefore: [QueryID: Timestamp] = [:]
    private var lastDone: [QueryID: SyncScheduler.Job] = [:]
    /// A job that was done twice with the same due time. It is skipped until the time `until`, so that other jobs get
    /// their turn.
    private var suspended: [QueryID: (job: SyncScheduler.Job, until: Timestamp)] = [:]
    /// The number of consecutive runs that fetched nothing.
    private var unproductive: [QueryID: Int] = [:]

    init(base: Duration, longest: Duration, spread: Duration) {
        self.base = base
        self.longest = max(longest, base)
        self.spread = spread
    }

    /// Returns the time from which the job may begin. A pause that is longer than any chosen here comes from a clock
    /// that was set back, and is ignored (R29).
    func start(of job: SyncScheduler.Job, now: Timestamp) -> Timestamp {
        guard let moment = notBefore[job.query], moment - now <= max(spread, longest) else { return job.dueAt }
        return max(job.dueAt, moment)
    }

    /// Returns the time until which the job is skipped. Returns nil when it is not skipped.
    func suspension(of job: SyncScheduler.Job, now: Timestamp) -> Timestamp? {
        guard let known = suspended[job.query], known.job == job, known.until > now, known.until - now <= longest else {
            return nil
        }
        return known.until
    }

    /// Delays overdue work, so that it does not begin all at once (R29).
    /// - Parameter jitter: the share of `spread` by which the work is delayed, in 0..<1.
    mutating func delay(_ query: QueryID, now: Timestamp, jitter: Double) { notBefore[query] = now + spread * jitter }

    mutating func ended(_ job: SyncScheduler.Job, _ yield: Yield, now: Timestamp) {
        unproductive[job.query] = yield == .nothing ? unproductive[job.query, default: 0] + 1 : nil
        let pause = base * (1 << min(unproductive[job.query] ?? 0, 20))
        notBefore[job.query] = yield == .complete ? nil : now + min(pause, longest)
        if lastDone[job.query] == job { suspended[job.query] = (job, now + longest) }
        lastDone[job.query] = job
    }

    /// Records that the storage failed during the run.
    mutating func failed(_ job: SyncScheduler.Job, now: Timestamp) { notBefore[job.query] = now + longest }

    /// Ends all pauses, because an origin has answered again (R32).
    mutating func endPauses() { notBefore = [:] }

    /// Forgets lists that were removed. The storage never reuses an id.
    mutating func keep(_ isThere: (QueryID) -> Bool, of count: Int) {
        guard max(lastDone.count, notBefore.count, unproductive.count) > count else { return }
        notBefore = notBefore.filter { isThere($0.key) }
        lastDone = lastDone.filter { isThere($0.key) }
        suspended = suspended.filter { isThere($0.key) }
        unproductive = unproductive.filter { isThere($0.key) }
    }
}
