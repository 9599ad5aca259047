import Logging
import PageModel
import Synchronization

/// One run of a `ListSync`. Carries out the decisions of `FetchQueue`, `HeadVerdict`, `Reconciler`, `Walk` and
/// `LoadPlan`.
///
/// Owned by one task. Child tasks only fetch. All other work, including writes to the storage, is done here in order of
/// arrival.
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
    /// The outline around the requested positions, as of this run's last commit or lease.
    var vicinity: Vicinity?
    /// Spans that count as in flight, and whose leases were requested with a commit. Those with a granted lease are
    /// fetched as soon as other answers arrive.
    var reserved: (targets: [FetchTarget], granted: Set<Int>) = ([], [])
    /// The last known page one of the origin.
    var pageOne = (count: 0, next: PageCursor?.none, total: Total.unknown)
    var reconciliation: SyncReport.Reconciliation = .none
    var headFailure: FetchFailure?
    /// For progress events only. The storage has the true values.
    var heldItems = 0
    var knownLength: Int?
    var pagesFetched = 0
    var pagesUnchanged = 0
    /// The number of answers that the origin forbids storing.
    var pagesNotStored = 0
    var warnings: [String] = []
    /// Failed attempts in this run, by position.
    var attempts: [Int: Int] = [:]
    /// Positions with a failure in the ledger when this run began that have not been fetched since.
    var failing: Set<Int> = []
    /// Positions that this run does not request again, because they failed permanently.
    var givenUp: Set<Int> = []
    /// Whether another owner has a page in flight that this run wanted (R30).
    var isElsewhere = false
    /// How often this run has waited for pages that other owners have in flight.
    var waitsForOthers = 0
    /// The state at the time of the request whose answer is being handled.
    var asked: Asked
    /// Whether a commit has ended the lease of the answer that is being handled.
    var hasEndedLease = false
    /// Whether the run keeps the lease of page one during a reconciliation, so that no other owner requests page one
    /// (R30).
    var keepsHeadLease = false
    /// The leases that were granted to this run and have not ended as far as it knows, by position.
    var leases: [Int: LeaseToken] = [:]
    /// The owner of this run's leases. A lease that this run does not renew ends, even if its process lives on.
    let owner: LeaseOwner
    private static let runs = Atomic(0)
    /// How far the storage's clock is ahead of this run's clock, as of the last grant.
    var skew = Duration.zero
    /// The storage's time when this run began. `nil` means that the list was not known then.
    var storedSince: Timestamp?
    var restarts = 0
    var passCount = 0
    var driftsSeen = 0
    /// Whether the origin answered any request, possibly with an error status.
    var wasHeard = false
    /// The position behind which the next page begins (`Work.next`).
    var goal = 0
    /// Whether the requested part of the list is held.
    var isPartDone = false
    /// Whether the list kept changing while it was read. The list is then not reported as complete.
    var keptChanging = false
    /// The number of consecutive answers without a new item that prove that the origin ignores positions (R24).
    static let sameAnswers = 3
    /// How often an item arrived at one position while it is stored at another.
    var collisions: [Collision: Int] = [:]
    /// Keys that page one repeated in its last answer (R25).
    var repeatedInHead: Set<UInt64> = []
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
    /// The exact totals of this run's answers.
    var totals = TotalSeries()
    var pagesWithoutNews = 0
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
    var evidence: [Clue] = []
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
        // A sweep requests page one itself.
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
        let report = try await report(ending)
        tellEnded(report)
        return report
    }

    /// Fetches page one, then the missing positions. Starts again with page one when the list moved meanwhile. A pass
    /// that stores new items is progress. At most `options.restarts` consecutive passes may have none.
    private func passes() async throws(StorageError) -> FetchQueue.Ending {
        while true {
            pass = Pass()
            if tailWalk == .untilExplained { tailWalk = nil }
            var ending = FetchQueue.Ending.drained
            if try await !adoptsHead() { ending = try await refreshHead() }
            guard ending == .drained, headFailure == nil, let query else { return ending }
            // A page that a repair has moved does not count as the next page.
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
                // The doubted position is not requested again before page one is answered.
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
                // The origin repeats itself, so another pass would prove no more.
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
            // New items are progress. So a list that changes faster than one pass is still fetched.
            restarts = pass.newItems > 0 && !pass.hasReplaced ? 0 : restarts + 1
            guard restarts <= options.restarts else {
                keptChanging = true
                warn("the list kept changing while it was read; it may have holes")
                return ending
            }
        }
    }

    /// Returns the fetch that reopens a chain whose end is unknown and whose last page has no cursor. The walk
    /// continues from the last page with a cursor. Held items behind it stay held, even without a result (R14).
    private func tail(of list: ListOutline) -> [FetchTarget] {
        guard source.access == .chain, !list.isComplete, givenUp.isEmpty, pass.reopenings < 2,
            let target = LoadPlan.tailWithoutCursor(of: list)
        else { return [] }
        pass.reopenings += 1
        if tailWalk == nil { tailWalk = .untilExplained }
        return [target]
    }

    /// Returns the fetches for missing positions, without those that were requested in vain.
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

    /// Requests page one. If another owner has it in flight, uses the answer that the owner stores (R30).
    private func refreshHead() async throws(StorageError) -> FetchQueue.Ending {
        while true {
            queue.add([.head])
            let ending = try await drive()
            guard isElsewhere, ending == .drained else { return ending }
            await waitForOthers()
            if Task.isCancelled { return .stopped }
            guard let query, let list = try await storage.outline(of: query) else { return ending }
            // The other owner's answer suffices if a total or a cursor shows the end. If only a short page does, this
            // run must know its length. An answer from before an invalidation does not suffice.
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

    /// Whether the record does not belong to another owner (R45). The source restores its state from the record.
    func isOurs(_ record: QueryRecord) -> Bool {
        do {
            try source.takeUp(record)
            return true
        } catch {
            headFailure = error
            return false
        }
    }

    /// Waits before the next look. Leases end with their owner or after their duration, so no run waits forever.
    func waitForOthers() async {
        isElsewhere = false
        waitsForOthers += 1
        // The pause starts at 50 ms, doubles after every eight waits, and ends at 5 s. A lease may last for hours.
        let pause = min(Duration.milliseconds(50) * (1 << min(waitsForOthers / 8, 10)), .seconds(5))
        try? await clock.sleep(until: clock.now() + pause)
    }

    // MARK: Progress

    func warn(_ text: String) {
        guard !warnings.contains(text) else { return }
        warnings.append(text)
        progress(.warning(text))
    }

    /// Reports a stored page with `news` new items.
    func announce(_ range: Range<Int>, news: Int) {
        heldItems += news
        pass.newItems += news
        progress(.stored(range, held: heldItems, length: knownLength))
    }
}
