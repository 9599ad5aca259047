import PageModel

/// Decides how soon the next work for a list may begin, by the result of the last run (R29). Pure logic, without I/O.
///
/// `SyncScheduler` decides which work is due. `RunBackoff` delays overdue work at the engine's start, and work for
/// lists that are incomplete after a run. It also delays jobs that are still due after two runs.
struct RunBackoff {
    /// The result of a run.
    enum Yield: Equatable {
        case complete
        /// The run fetched something, but not everything.
        case some
        case nothing
    }

    /// The pause between two runs of an incomplete list. The pause doubles with each run in a row that fetches nothing.
    let base: Duration
    /// The longest pause. The spread at the start may be longer.
    let longest: Duration
    /// The time over which overdue work is spread at the start.
    let spread: Duration
    /// The time before which no work begins for a list.
    private var notBefore: [QueryID: Timestamp] = [:]
    private var lastDone: [QueryID: SyncScheduler.Job] = [:]
    /// A job that was done twice in a row with the same due time. The job is skipped until the time `until`, so that
    /// other jobs can run.
    private var suspended: [QueryID: (job: SyncScheduler.Job, until: Timestamp)] = [:]
    /// The number of consecutive runs that fetched nothing.
    private var unproductive: [QueryID: Int] = [:]

    init(base: Duration, longest: Duration, spread: Duration) {
        self.base = base
        self.longest = max(longest, base)
        self.spread = spread
    }

    /// Returns the time from which the job may begin. A pause longer than both `longest` and `spread` comes from a
    /// clock that was set back, and is ignored (R29).
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

    /// Records that the storage failed during the run. The next work for the list waits for `longest`.
    mutating func failed(_ job: SyncScheduler.Job, now: Timestamp) { notBefore[job.query] = now + longest }

    /// Ends all pauses, because an origin has answered again (R32).
    mutating func endPauses() { notBefore = [:] }

    /// Forgets lists that were removed, once there are more entries than lists. The storage never reuses an id.
    mutating func keep(_ isThere: (QueryID) -> Bool, of count: Int) {
        guard max(lastDone.count, notBefore.count, unproductive.count) > count else { return }
        notBefore = notBefore.filter { isThere($0.key) }
        lastDone = lastDone.filter { isThere($0.key) }
        suspended = suspended.filter { isThere($0.key) }
        unproductive = unproductive.filter { isThere($0.key) }
    }
}
