import Logging
import PageModel
import Synchronization

/// One run of a `ListSync`. Carries out the decisions of `FetchQueue`, `FirstPageDiff`, `Reconciler`, `CursorMerge` and
/// `LoadPlan`.
///
/// Owned by one task. Child tasks only fetch. All other work, including writes to the storage, is done here in order of
/// arrival.
final class SyncRun {
    let storage: any PageStorage
    let source: any PageSource
    let key: QueryKey
    var options: SyncOptions
    let clock: any SyncClock
    let chance: @Sendable () -> Double
    let logger: Logger
    let meters = Meters.Run()
    let progress: @Sendable (SyncEvent) -> Void

    var queue: FetchQueue
    /// The query in the storage. `nil` until an unknown query is registered.
    var query: QueryID?
    /// The number of items of a full page of this origin; see `fullPage`.
    var pageSize = 1
    /// Whether `pageSize` is certain, so that a page with fewer items counts as short. False if it comes from a stored
    /// page that may have been joined with others.
    var isPageSizeSure = true
    var pass = Pass()
    var sweeping = SweepState()
    /// The recently arrived pages that were requested by position.
    var recent = RecentPages()
    /// The last known page one of the origin.
    var pageOne = (count: 0, next: PageCursor?.none, total: ListTotal.unknown)
    var counts = RunCounts()
    var failures = RunFailures()
    var leases: RunLeases
    var start: RunStart
    /// The state at the time of the request whose answer is being handled.
    var asked: Asked
    private static let runs = Atomic(0)
    /// Whether this run has checked the pages that were due (R54).
    var hasRechecked = false
    /// The page that is checked. `nil` outside of such a check.
    var rechecked: Recheck?
    var restarts = 0
    var passCount = 0
    /// The position behind which the next page begins (`Work.next`).
    var goal = 0
    /// Whether the requested part of the list is held.
    var isPartDone = false
    /// Whether the list kept changing while it was read. The list is then not reported as complete.
    var keptChanging = false
    /// The number of consecutive answers without a new item that prove that the origin ignores positions (R24).
    static let sameAnswers = 3
    var collisions: [Collision: Collisions] = [:]
    /// Keys that page one repeated in its last answer (R25).
    var repeatedInHead: Set<UInt64> = []
    /// The items that the last walk from page one to the end of the chain received again at the head of answers.
    var lastPushes = Pushes()
    /// Whether the list is walked again because that walk alone does not explain them.
    var walksForPushes = false
    /// Whether a second walk has confirmed that more items follow one another than the total counts.
    var hasConfirmedExcess = false
    /// The repeats of the last walk from page one to the end of the chain (R25).
    var lastRepeats: Set<Repeat> = []
    /// The last such walk in which no answer contradicted another. `nil` once page one has changed.
    var wholeWalk: WholeWalk?
    /// The number of walks to the end of the chain in which items arrived again in disorder.
    var disorderedWalks = 0
    /// The number of such walks in one run that prove that the list has no order.
    static let disorderedWalks = 3
    /// Whether the origin repeats itself, so that the end of its list cannot be proven.
    var isUnproven = false
    /// Positions that the exact total counts, and that the origin refused (R24).
    var refusedPlaces: Set<Int> = []
    /// The positions that the origin did not find in earlier runs, with the time of the first such answer (R24).
    var notFoundSince: [Int: Timestamp] = [:]
    /// The positions at which an earlier run has found a loop (R24).
    var loops: Set<Int> = []
    /// The items of page one as it was received last, by key.
    var pageOneKeys: [UInt64] = []
    /// The items of page one before the walk that has just ended. Empty when no such walk needs a confirmation.
    var walkedFrom: [UInt64] = []
    /// The number of walks that were repeated because page one had lost an item meanwhile.
    var walksAgain = 0
    /// The exact totals of this run's answers.
    var totals = TotalSeries()
    var pagesWithoutNews = 0
    /// The number of consecutive pages by position that repeat received items, in a list with repeated ids.
    var repetitions = 0
    /// The position at which the last pass found no items, although the total is larger. One request checks whether
    /// this is still so.
    var suspectedEnd: Int?
    /// The mismatch at the end of the pass before; see `settle`.
    var overcount: Overcount?
    /// How a walk of a chain passes through held items (R22, R23). `nil` means that the chain is only continued.
    var tailWalk: TailWalk?
    /// The reconciliation in progress, after page one has changed.
    var reconciliationUnderWay: Reconciliation?
    /// How often answers of one reconciliation contradicted each other, in this run (R18).
    var contradictions = 0
    /// How often other writers stored pages during a reconciliation.
    var secondLooks = 0
    /// Whether evidence other than page one shows that the cached list is wrong.
    var isSuspicious = false
    /// Answers that showed that the list had moved. They show the `Reconciler` where (R21).
    var evidence: [DriftEvidence] = []
    /// The maximum number of answers that are kept as evidence.
    static let mostEvidence = 16
    /// Whether page one makes the list shrink a lot, and a second answer has confirmed it (R20).
    var isShrinkConfirmed = false
    /// Whether page one is requested without its validator, because a "not modified" would not be sufficient (R16).
    var asksUnconditionally = false
    /// The facts about the list without its pages, until page one is answered.
    var glance: Glance?
    /// Whether the last commit of this run confirmed page one from the list's state alone.
    var isConfirmedAtAGlance = false
    /// The final state of the list, if its pages were not read.
    var settledState: ListState?
    /// Whether the origin leaves items out of its pages, so that they are requested one after the other (R53).
    var hidesItems = false
    /// The requests one after the other to an origin that hides items.
    var positionWalk = PositionWalk()
    /// The position behind the last item that was returned in this run.
    var furthest = 0
    /// The end of the list that an empty page behind it has proven in this run.
    var provenEnd: Int?
    /// The largest number of items held at the end of a pass, since the list was last replaced.
    var mostHeld = 0
    /// The largest number of items that an answer to a request for a whole page had, page one excepted.
    var longest = 0
    /// The position behind the last held item, as of the last plan.
    var heldEnd = 0
    /// The positions of answers that had fewer items than page one, although the list continues behind them.
    var shortPlaces: Set<Int> = []
    /// The items of these answers, by position, until they are requested again (R53).
    var shortAnswers: [Int: [ItemIdentity]] = [:]
    /// The requests of short answers behind which nothing had arrived yet, by the position behind the answer.
    var undecided: [Int: FetchTarget] = [:]
    /// How often answers did not fit the held items, while page one stayed as it was.
    var misplaced = 0
    /// The items of page one in its last answer.
    var lastHead: [ItemIdentity] = []

    init(
        storage: any PageStorage, source: any PageSource, key: QueryKey, options: SyncOptions, clock: any SyncClock,
        chance: @escaping @Sendable () -> Double, logger: Logger,
        progress: @escaping @Sendable (SyncEvent) -> Void
    ) {
        self.storage = storage
        self.source = source
        self.key = key
        self.options = options.bounded
        self.clock = clock
        self.chance = chance
        self.logger = logger.about(key)
        self.progress = progress
        start = RunStart(at: clock.now())
        asked = Asked(at: start.at)
        leases = RunLeases(owner: LeaseOwner(String(SyncRun.runs.add(1, ordering: .relaxed).newValue)))
        // A sweep requests page one itself.
        asksUnconditionally = options.work == .sweep
        queue = FetchQueue(
            FetchQueue.Limits(
                concurrency: self.options.concurrency, transportFailures: options.transportFailuresUntilOffline,
                patience: options.patience, budget: self.options.maxPages))
    }

    func run() async throws(StorageError) -> SyncReport {
        tellBegun()
        if let state = try await storage.state(of: key) {
            let record = state.record
            guard isOurs(record) else { return try await ended(.drained) }
            query = record.id
            start.earlier = record.validatedAt.map { RunStart.Earlier(registered: record.createdAt, confirmed: $0) }
            if sufficesToBegin(state) {
                begin(with: state)
                return try await ended(try await passes())
            }
            try await giveUpDamaged(record)
            if let list = try await storage.outline(of: record.id) {
                start.storedSince = list.readAt
                leases.synchronize(list.readAt, at: clock.now())
                restoreHiding(list.pages)
                progress(.opened(held: list.coverage.count, length: list.record.validatedAt == nil ? nil : list.length))
                if list.record.validatedAt != nil, !list.isComplete { counts.reconciliation = .resumed }
                failures.restore(list.failures)
                restoreRefusals(list.failures)
            }
        }
        // The list was removed since the run was planned, or the run was cancelled meanwhile.
        if query == nil, options.updatesOnly || Task.isCancelled { return try await ended(.stopped) }
        if query == nil, options.registersFirst { query = try await storage.register(key).id }
        return try await ended(try await passes())
    }

    /// Marks pages with unreadable items as not held, so that they are fetched again.
    private func giveUpDamaged(_ record: QueryRecord) async throws(StorageError) {
        let damage = try await storage.damage(of: record.id, thoroughly: options.checksStoredBytes)
        guard !damage.pages.isEmpty else { return }
        let count = damage.pages.reduce(0) { $0 + $1.count }
        warn("\(count) \(count == 1 ? "item is" : "items are") damaged in the store")
        // The commit is refused if another process has changed the list. The next run finds the remaining damage.
        _ = try await storage.commit(
            CommitPlan(query: record.id, version: record.version, edits: damage.pages.map { .demote($0) }))
    }

    private func ended(_ ending: FetchQueue.Ending) async throws(StorageError) -> SyncReport {
        var report = try await report(ending)
        report.lostOrigin = ending == .offline
        tellEnded(report)
        return report
    }

    /// Whether the record does not belong to another owner (R45). The source restores its state from the record.
    func isOurs(_ record: QueryRecord) -> Bool {
        do {
            try source.takeUp(record)
            return true
        } catch {
            failures.head = error
            return false
        }
    }

    /// Waits before the next look. Leases end with their owner or after their duration, so no run waits forever.
    func waitForOthers() async {
        let pause = leases.pauseForOthers()
        try? await clock.sleep(until: clock.now() + pause)
    }

    // MARK: Progress

    func warn(_ text: String) {
        if counts.warn(text) { progress(.warning(text)) }
    }

    /// Reports a stored page with `news` new items.
    func announce(_ range: Range<Int>, news: Int) {
        counts.heldItems += news
        pass.newItems += news
        progress(.stored(range, held: counts.heldItems, length: counts.knownLength))
    }
}
