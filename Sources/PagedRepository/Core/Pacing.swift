import PageModel

/// How soon the next work for a list may begin, from what came of the last: pure (R29).
///
/// The agenda says what is due. This says who has to wait all the same: work that is spread when the engine starts,
/// lists that do not stand still, lists of which nothing comes, and jobs that came to nothing twice.
struct Pacing {
    /// What came of a run, as far as it matters here.
    enum Yield: Equatable {
        case complete
        /// Something came, and not all.
        case some
        case nothing
    }

    /// Between two runs of a list that does not come to its end; it doubles with each that brings nothing.
    let base: Duration
    /// No pause is longer, but for what is spread.
    let longest: Duration
    /// Over what time overdue work is spread at the start.
    let spread: Duration
    /// Before this moment a list is left alone.
    private var notBefore: [QueryID: Timestamp] = [:]
    private var lastDone: [QueryID: Agenda.Job] = [:]
    /// The same job, due since the same moment, done twice: it is left for a while, and keeps nothing else from its
    /// turn.
    private var fruitless: [QueryID: (job: Agenda.Job, until: Timestamp)] = [:]
    /// How many runs in a row have brought nothing.
    private var barren: [QueryID: Int] = [:]

    init(base: Duration, longest: Duration, spread: Duration) {
        self.base = base
        self.longest = max(longest, base)
        self.spread = spread
    }

    /// From when on the job may begin. A pause that nothing here could have chosen is one of a clock that was set back
    /// (R29).
    func start(of job: Agenda.Job, now: Timestamp) -> Timestamp {
        guard let moment = notBefore[job.query], moment - now <= max(spread, longest) else { return job.dueAt }
        return max(job.dueAt, moment)
    }

    /// Until when the job is off the agenda; nil when it is on it.
    func isLeft(_ job: Agenda.Job, now: Timestamp) -> Timestamp? {
        guard let known = fruitless[job.query], known.job == job, known.until > now, known.until - now <= longest else {
            return nil
        }
        return known.until
    }

    /// Overdue work does not begin all at once (R29).
    /// - Parameter chance: a share of the time over which it is spread, in 0..<1.
    mutating func delay(_ query: QueryID, now: Timestamp, chance: Double) { notBefore[query] = now + spread * chance }

    mutating func ended(_ job: Agenda.Job, _ yield: Yield, now: Timestamp) {
        barren[job.query] = yield == .nothing ? barren[job.query, default: 0] + 1 : nil
        let pause = base * (1 << min(barren[job.query] ?? 0, 20))
        notBefore[job.query] = yield == .complete ? nil : now + min(pause, longest)
        if lastDone[job.query] == job { fruitless[job.query] = (job, now + longest) }
        lastDone[job.query] = job
    }

    /// The storage did not let it.
    mutating func failed(_ job: Agenda.Job, now: Timestamp) { notBefore[job.query] = now + longest }

    /// R32: an origin is back: what waited goes now.
    mutating func endPauses() { notBefore = [:] }

    /// Lists that are gone for good are forgotten: ids are never used again.
    mutating func keep(_ isThere: (QueryID) -> Bool, of count: Int) {
        guard max(lastDone.count, notBefore.count, barren.count) > count else { return }
        notBefore = notBefore.filter { isThere($0.key) }
        lastDone = lastDone.filter { isThere($0.key) }
        fruitless = fruitless.filter { isThere($0.key) }
        barren = barren.filter { isThere($0.key) }
    }
}
