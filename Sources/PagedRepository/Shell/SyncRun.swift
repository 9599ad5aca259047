import Logging
import PageModel
import Synchronization

/// One run of a `ListSync`: carries out what `FetchQueue`, `HeadVerdict`, `Reconciler`, `Walk` and `LoadPlan` decide.
///
/// Belongs to one task. Child tasks only fetch; everything else, the store included, is done here in order of arrival.
final class SyncRun {
    let storage: any PageStorage
    let source: any PageSource
    let key: QueryKey
    let options: SyncOptions
    let clock: any SyncClock
    let chance: @Sendable () -> Double
    let logger: Logger
    let meters = Meters.Run()
    let progress: @Sendable (SyncEvent) -> Void

    var queue: FetchQueue
    /// Nil until an unknown query is registered.
    var query: QueryID?
    /// How many items a full page of this origin has: see `fullPage`.
    var pageSize = 1
    /// Whether a page of fewer items is a short one. Not, where all that is known of the size is a page that others
    /// were joined to.
    var isPageSizeSure = true
    var pass = Pass()
    var sweeping = SweepState()
    /// What came last of what is asked for by position.
    var recent = RecentPages()
    /// What is known of the places that are asked for, as of this run's last commit or lease.
    var vicinity: Vicinity?
    /// Pages that are in flight as far as the queue goes, and whose leases were asked for with a commit: they are
    /// fetched next, where they were granted, as soon as others have come.
    var reserved: (targets: [FetchTarget], granted: Set<Int>) = ([], [])
    /// What this run last knew of the origin's page one.
    var pageOne = (count: 0, next: PageCursor?.none, total: Total.unknown)
    var reconciliation: SyncReport.Reconciliation = .none
    var headFailure: FetchFailure?
    /// Kept along for progress only; the store is the truth.
    var heldItems = 0
    var knownLength: Int?
    var pagesFetched = 0
    var pagesUnchanged = 0
    /// Answers that the origin forbids to keep.
    var pagesNotStored = 0
    var warnings: [String] = []
    /// Failed attempts in this run, by position.
    var attempts: [Int: Int] = [:]
    /// Positions that had failed when this run began, as the ledger tells, and have not been had since.
    var failing: Set<Int> = []
    /// Positions this run will not ask for again: they failed for good.
    var givenUp: Set<Int> = []
    /// Somebody else has a page in flight that this run wanted (R30).
    var isElsewhere = false
    /// How often this run has waited for pages that others have in flight.
    var waitsForOthers = 0
    /// When, and under what, the answer that is being handled was asked for.
    var asked: Asked
    /// Whether the answer that is being handled has ended its lease by what it stored.
    var hasEndedLease = false
    /// What page one means is being found out: until then nobody else asks for it (R30).
    var keepsHeadLease = false
    /// The leases that were granted to this run, and have not been seen to end, by position.
    var leases: [Int: LeaseToken] = [:]
    /// Who this run is in its leases: what it does not renew ends, whatever else its process does.
    let owner: LeaseOwner
    private static let runs = Atomic(0)
    /// How far the storage's clock is ahead of this run's, as its last grant showed.
    var skew = Duration.zero
    /// The storage's time when this run began; nil where the list was not known then.
    var storedSince: Timestamp?
    var restarts = 0
    var passCount = 0
    var driftsSeen = 0
    /// Whether the origin answered anything, be it a refusal.
    var wasHeard = false
    /// Behind this position the next page begins (`Work.next`).
    var goal = 0
    /// Whether the part of the list that was asked for is held.
    var isPartDone = false
    /// The list never stood still for as long as it takes to read it: it is not called complete.
    var keptChanging = false
    /// So many answers without an item that is new, for one place, prove that the origin ignores places (R24).
    static let sameAnswers = 3
    /// How often an item that is stored at one place was received at another, by the two places.
    var collisions: [Collision: Int] = [:]
    /// Keys that page one repeated in its last answer (R25).
    var repeatedInHead: Set<UInt64> = []
    /// The repeats of the last walk from page one to the end of the chain (R25).
    var lastRepeats: Set<Repeat> = []
    /// The last such walk in which no answer contradicted another; nil once page one has changed.
    var wholeWalk: WholeWalk?
    /// How many walks to the end of the chain met items again in disorder.
    var disorderedWalks = 0
    /// So many of them in one run show that the list has no order.
    static let disorderedWalks = 3
    /// The origin repeats itself: nothing proves where its list ends.
    var isUnproven = false
    /// The exact totals of this run's answers.
    var totals = TotalSeries()
    var pagesWithoutNews = 0
    /// Where the last pass found nothing, although the origin counts more. One question tells whether it still does.
    var suspectedEnd: Int?
    /// What the pass before found where it ended; see `settle`.
    var overcount: Overcount?
    /// How a chain is walked through what is held (R22, R23); nil when it is only gone on with.
    var tailWalk: TailWalk?
    /// Page one changed, and what it means is being found out.
    var reconciliationUnderWay: Reconciliation?
    /// Answers of one reconciliation that contradicted each other, in this run (R18).
    var contradictions = 0
    /// How often others brought pages while it was being found out what page one means.
    var secondLooks = 0
    /// Something has shown that the list is not as it is held, whatever page one says.
    var isSuspicious = false
    /// Answers that showed that the list had moved: they tell the `Reconciler` where (R21).
    var evidence: [Clue] = []
    /// No more answers than this are kept as evidence.
    static let mostEvidence = 16
    /// Page one makes the list shrink a lot, and has said so before (R20).
    var isShrinkConfirmed = false
    /// Page one is asked for without its validator: a "not modified" would not answer the question (R16).
    var asksUnconditionally = false
    /// What is known of the list without its pages, until page one is answered.
    var glance: Glance?
    /// The last thing that this run stored is that page one is as it was, by the list's state alone.
    var isConfirmedAtAGlance = false
    /// The list as it is at the end, where its pages were not read.
    var settledState: ListState?
    let startedAt: Timestamp

    init(
        storage: any PageStorage, source: any PageSource, key: QueryKey, options: SyncOptions, clock: any SyncClock,
        chance: @escaping @Sendable () -> Double, logger: Logger,
        progress: @escaping @Sendable (SyncEvent) -> Void
    ) {
        self.storage = storage
        self.source = source
        self.key = key
        self.options = options
        self.clock = clock
        self.chance = chance
        self.logger = logger.about(key)
        self.progress = progress
        startedAt = clock.now()
        asked = Asked(at: startedAt)
        owner = LeaseOwner(String(SyncRun.runs.add(1, ordering: .relaxed).newValue))
        // A sweep begins with page one itself.
        asksUnconditionally = options.work == .sweep
        queue = FetchQueue(
            FetchQueue.Limits(
                concurrency: max(1, options.concurrency), transportFailures: options.transportFailuresUntilOffline,
                patience: options.patience, budget: options.maxPages))
    }

    func run() async throws(StorageError) -> SyncReport {
        tellBegun()
        if let state = try await storage.state(of: key) {
            let record = state.record
            guard isOurs(record) else { return try await ended(.drained) }
            query = record.id
            if sufficesToBegin(state) {
                begin(with: state)
                return try await ended(try await passes())
            }
            try await giveUpDamaged(record)
            if let list = try await storage.outline(of: record.id) {
                storedSince = list.readAt
                skew = list.readAt - clock.now()
                progress(.opened(held: list.coverage.count, length: list.record.validatedAt == nil ? nil : list.length))
                if list.record.validatedAt != nil, !list.isComplete { reconciliation = .resumed }
                failing = Set(list.failures.map(\.offset))
            }
        }
        if query == nil, options.registersFirst { query = try await storage.register(key).id }
        return try await ended(try await passes())
    }

    /// Pages whose items cannot be read no longer count as held, and are fetched again.
    private func giveUpDamaged(_ record: QueryRecord) async throws(StorageError) {
        let damage = try await storage.damage(of: record.id, thoroughly: options.checksStoredBytes)
        guard !damage.pages.isEmpty else { return }
        let count = damage.pages.reduce(0) { $0 + $1.count }
        warn("\(count) \(count == 1 ? "item is" : "items are") damaged in the store")
        // Another process has changed the list meanwhile. The next run finds what is still damaged.
        _ = try await storage.commit(
            CommitPlan(query: record.id, version: record.version, edits: damage.pages.map { .demote($0) }))
    }

    private func ended(_ ending: FetchQueue.Ending) async throws(StorageError) -> SyncReport {
        let report = try await report(ending)
        tellEnded(report)
        return report
    }

    /// Fetches page one, then what is missing, and starts again with page one when the list moved meanwhile. A pass that
    /// stores new items is progress; of other passes there are `options.restarts` in a row at most.
    private func passes() async throws(StorageError) -> FetchQueue.Ending {
        while true {
            pass = Pass()
            if tailWalk == .untilExplained { tailWalk = nil }
            var ending = FetchQueue.Ending.drained
            if try await !adoptsHead() { ending = try await refreshHead() }
            guard ending == .drained, headFailure == nil, let query else { return ending }
            // What a repair has moved is not the next page.
            if passCount > 0 { goal = try await storage.excerpt(of: query, 0..<Int.max)?.coverage.headEnd ?? 0 }
            if options.work == .refresh { return ending }
            if try await hasNothingLeft() { return ending }
            while !pass.mustRestart, var list = try await storage.outline(of: query) {
                if pass.rechecksEnd { list.record.end = nil }
                guard list.heldPages.count < options.pagesPerQuery else {
                    warn("the list has more than \(options.pagesPerQuery) pages; the rest is left out")
                    return ending
                }
                if isDone(list) { return try await partlyDone(list, ending) }
                // While the witness is not heard, the place in doubt is not asked for again.
                var targets: [FetchTarget] = pass.awaitsWitness == nil ? [] : [.head]
                if targets.isEmpty, options.work.refreshesHead || tailWalk == .whole { targets = rewalk(of: list) }
                if targets.isEmpty {
                    targets = wanted(missingTargets(of: list).filter { !givenUp.contains($0.offset) }, list)
                }
                if targets.isEmpty { targets = tail(of: list) }
                if targets.isEmpty {
                    if !options.work.refreshesHead, !pass.mustRestart { return try await partlyDone(list, ending) }
                    break
                }
                queue.add(targets)
                ending = try await drive()
                if tailWalk == .whole, !pass.mustRestart { tailWalk = nil }
                if ending != .drained || headFailure != nil { return ending }
                // The origin repeats itself: another pass would not prove more.
                if isUnproven { return ending }
                if isElsewhere { await waitForOthers() }
            }
            if !pass.mustRestart, try await settle() {
                guard options.work == .sweep, sweepOutstanding else { return ending }
                ending = try await sweep()
                if ending != .drained || !pass.mustRestart { return ending }
            }
            passCount += 1
            lastRepeats = pass.repeats
            suspectedEnd = pass.emptyFrom
            // Progress is items: a list that moves faster than one pass still comes in.
            restarts = pass.newItems > 0 && !pass.hasReplaced ? 0 : restarts + 1
            guard restarts <= options.restarts else {
                keptChanging = true
                warn("the list kept changing while it was read; it may have holes")
                return ending
            }
        }
    }

    /// A chain whose end is open, and whose last page hands over to nothing, is gone on with from the last one that
    /// does: what is held behind it is walked through, and stays held if nothing comes of it (R14).
    private func tail(of list: ListOutline) -> [FetchTarget] {
        guard source.access == .chain, !list.isComplete, givenUp.isEmpty, pass.reopenings < 2,
            let target = LoadPlan.tailWithoutCursor(of: list)
        else { return [] }
        pass.reopenings += 1
        if tailWalk == nil { tailWalk = .untilExplained }
        return [target]
    }

    /// What to ask for now: what is missing, less what was asked for in vain.
    func missingTargets(of list: ListOutline) -> [FetchTarget] {
        let longest = max(options.retry.cap, options.retry.longestRetryAfter)
        let barred =
            options.honorsLedger
            ? LoadPlan.barred(list.ledger, now: list.readAt, pause: options.retry.cap, longest: longest) : []
        let overlap = min(options.overlap, source.largestOverlap ?? .max)
        return LoadPlan.targets(for: list, access: source.access, size: pageSize, overlap: overlap).filter {
            !pass.fruitless.contains($0.offset) && $0.offset < pass.emptyFrom ?? .max && !barred.contains($0.offset)
                && $0.offset <= suspectedEnd ?? .max
        }
    }

    /// Asks for page one; or, when somebody else is asking, takes what they bring (R30).
    private func refreshHead() async throws(StorageError) -> FetchQueue.Ending {
        while true {
            queue.add([.head])
            let ending = try await drive()
            guard isElsewhere, ending == .drained else { return ending }
            await waitForOthers()
            if Task.isCancelled { return .stopped }
            guard let query, let list = try await storage.outline(of: query) else { return ending }
            // Their answer serves, where the total tells the end; where only a short page does, its length has to be
            // known. Not, where they asked before somebody knew better.
            if let validatedAt = list.record.validatedAt, validatedAt >= storedSince ?? validatedAt,
                !list.record.isInvalidated, options.work != .sweep,
                list.record.total.exactCount != nil || source.access == .chain
            {
                if let head = list.heldPages.first(where: { $0.offset == 0 }) { adopt(head, list) }
                reconciled(.unchanged, list)
                return ending
            }
        }
    }

    /// R45: whether the list is not somebody else's. What is stored with it, the source takes up.
    func isOurs(_ record: QueryRecord) -> Bool {
        do {
            try source.takeUp(record)
            return true
        } catch {
            headFailure = error
            return false
        }
    }

    /// A pause before looking again. Leases end with their owner, or after a while: nobody waits for ever.
    func waitForOthers() async {
        isElsewhere = false
        waitsForOthers += 1
        // From 50 ms on, doubling, up to 5 s: a lease may last for hours.
        let pause = min(Duration.milliseconds(50) * (1 << min(waitsForOthers / 8, 10)), .seconds(5))
        try? await clock.sleep(until: clock.now() + pause)
    }

    // MARK: Words

    func warn(_ text: String) {
        guard !warnings.contains(text) else { return }
        warnings.append(text)
        progress(.warning(text))
    }

    /// Tells whoever watches that a page was stored, which brought so many new items.
    func announce(_ range: Range<Int>, news: Int) {
        heldItems += news
        pass.newItems += news
        progress(.stored(range, held: heldItems, length: knownLength))
    }
}
