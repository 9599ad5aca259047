import Logging
import Metrics
import PageModel

/// One run of a `ListSync`: carries out what `FetchQueue`, `HeadReconciler` and `LoadPlan` decide.
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
    let progress: @Sendable (SyncEvent) -> Void

    var queue: FetchQueue
    /// Nil until the first answer of an unknown query.
    var query: QueryID?
    /// How many items a page of this origin has: what was asked for, or what page one brought.
    var pageSize = 1
    var reconciliation: SyncReport.Reconciliation = .none
    var headFailure: FetchFailure?
    var pagesFetched = 0
    var pagesUnchanged = 0
    var warnings: [String] = []
    /// Failed attempts in this run, by position.
    var attempts: [Int: Int] = [:]
    /// Positions that were asked for since page one, and brought nothing that was not held.
    var fruitless: Set<Int> = []
    /// Where an origin that counts more was found, twice, to have nothing; what lies behind is not asked for (R44).
    var emptyFrom: Int?
    /// Positions that answered with nothing once, although the origin counts more.
    var doubtfulOffsets: Set<Int> = []
    /// Positions this run will not ask for again: they failed for good.
    var givenUp: Set<Int> = []
    /// The list moved while it was read: what was planned is void, and page one is asked again.
    var mustRestart = false
    /// Somebody else has a page in flight that this run wanted (R30).
    private var isElsewhere = false
    /// Whether the answer that is being handled has ended its lease by what it stored.
    private var hasEndedLease = false
    var restarts = 0
    var conflicts = 0
    var pagesWithoutNews = 0
    /// A head that makes the list shrink a lot was seen, and is being confirmed (R20).
    var isConfirmingHead = false
    /// Page one is asked for without its validator: a "not modified" would not answer the question (R16).
    var asksUnconditionally = false
    let startedAt: Timestamp

    private struct Landing: Sendable {
        var target: FetchTarget
        var result: Result<PageAnswer, any Error>
    }

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
        self.logger = logger
        self.progress = progress
        startedAt = clock.now()
        queue = FetchQueue(
            FetchQueue.Limits(
                concurrency: max(1, options.concurrency), transportFailures: options.transportFailuresUntilOffline,
                patience: options.patience, budget: options.maxPages))
    }

    func run() async throws(StorageError) -> SyncReport {
        if let record = try await storage.query(key) {
            query = record.id
            if let list = try await storage.outline(of: record.id) {
                progress(.opened(held: list.coverage.count, length: list.record.validatedAt == nil ? nil : list.length))
                if list.record.validatedAt != nil, !list.isComplete { reconciliation = .resumed }
            }
        }
        let ending = try await passes()
        return try await report(ending)
    }

    /// Page one, then what is missing; again from page one when the list moved meanwhile.
    private func passes() async throws(StorageError) -> FetchQueue.Ending {
        while true {
            mustRestart = false
            fruitless.removeAll()
            doubtfulOffsets.removeAll()
            emptyFrom = nil
            var ending = try await refreshHead()
            guard ending == .drained, headFailure == nil, let query else { return ending }
            if options.refreshOnly { return ending }
            while !mustRestart, let list = try await storage.outline(of: query) {
                guard list.heldPages.count < options.pagesPerQuery else {
                    warn("the list has more than \(options.pagesPerQuery) pages; the rest is left out")
                    return ending
                }
                let targets = missingTargets(of: list).filter { !givenUp.contains($0.offset) }
                if targets.isEmpty {
                    guard try await reopenTail(of: list) else { break }
                    continue
                }
                queue.add(targets)
                ending = try await drive()
                if ending != .drained { return ending }
                if isElsewhere { await waitForOthers() }
            }
            if !mustRestart, try await settle() { return ending }
            restarts += 1
            guard restarts <= options.restarts else {
                warn("the list kept changing while it was read; what is missing is marked as a gap")
                return ending
            }
        }
    }

    /// A chain whose last page has lost its cursor (a splice took its end) goes on from the last one that has one.
    private func reopenTail(of list: ListOutline) async throws(StorageError) -> Bool {
        guard source.access == .chain, list.record.end == nil, givenUp.isEmpty,
            let tail = LoadPlan.tailWithoutCursor(of: list)
        else { return false }
        let plan = CommitPlan(
            query: list.record.id, version: list.record.version, at: clock.now(), edits: [.demote(tail)])
        if case .committed = try await apply(plan) { return true }
        mustRestart = true
        return false
    }

    /// What to ask for now: what is missing, less what was asked for in vain.
    func missingTargets(of list: ListOutline) -> [FetchTarget] {
        LoadPlan.targets(for: list, access: source.access, size: pageSize).filter {
            !fruitless.contains($0.offset) && $0.offset < emptyFrom ?? .max
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
            if let validatedAt = list.record.validatedAt, validatedAt >= startedAt {
                pageSize = max(options.pageSize ?? 0, list.heldPages.first?.count ?? 0, 1)
                reconciled(.unchanged, list)
                return ending
            }
        }
    }

    /// A pause before looking again. Leases end with their owner, or after a while: nobody waits for ever.
    private func waitForOthers() async {
        isElsewhere = false
        try? await clock.sleep(until: clock.now() + .milliseconds(50))
    }

    // MARK: Fetching

    /// Fetches until the queue has nothing more to do now.
    private func drive() async throws(StorageError) -> FetchQueue.Ending {
        let result = await withTaskGroup(of: Landing.self) { group -> Result<FetchQueue.Ending, StorageError> in
            do throws(StorageError) {
                while true {
                    if Task.isCancelled { queue.stop() }
                    let (targets, action) = nextActions()
                    // What was left to others may have made room, or left nothing to wait for.
                    guard try await start(targets, in: &group) else { continue }
                    switch action {
                    case .fetch:
                        continue
                    case .sleep(let moment):
                        progress(.waiting(until: moment))
                        try? await clock.sleep(until: moment)
                    case .wait:
                        guard let landing = await group.next() else {
                            return .failure(StorageError(.internal, "nothing is in flight, yet something is waited for"))
                        }
                        try await handle(landing)
                    case .finish(let ending):
                        return .success(ending)
                    }
                }
            } catch {
                group.cancelAll()
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Everything to fetch at once, and what to do then.
    private func nextActions() -> ([FetchTarget], FetchQueue.Action) {
        var targets: [FetchTarget] = []
        while true {
            let action = queue.next(now: clock.now())
            guard case .fetch(let target) = action else { return (targets, action) }
            targets.append(target)
        }
    }

    /// False when some of them were left to others.
    private func start(
        _ targets: [FetchTarget], in group: inout TaskGroup<Landing>
    ) async throws(StorageError) -> Bool {
        guard !targets.isEmpty else { return true }
        let wanted = targets
        var targets = targets
        if let query {
            // Before the request, so that a crash leaves a record of what was in flight (R31).
            let now = clock.now()
            let granted = Set(
                try await storage.claim(targets.map(\.offset), of: query, until: now + options.lease, at: now))
            targets.removeAll { !granted.contains($0.offset) }
            for target in wanted where !granted.contains(target.offset) { leaveToOthers(target) }
            for target in targets where try await isHeldByNow(target, query) {
                // Somebody brought it between our plan and our lease.
                try await storage.record([.succeeded(offset: target.offset)], for: query, at: now)
                targets.removeAll { $0 == target }
                leaveToOthers(target)
            }
        }
        for target in targets {
            let request = try await request(for: target)
            let source = source
            group.addTask {
                do {
                    return Landing(target: target, result: .success(try await source.fetch(request)))
                } catch {
                    return Landing(target: target, result: .failure(error))
                }
            }
        }
        return targets.count == wanted.count
    }

    private func leaveToOthers(_ target: FetchTarget) {
        queue.leftToOthers(target)
        isElsewhere = true
    }

    /// Asked under the lease: from here on nobody else brings it.
    private func isHeldByNow(_ target: FetchTarget, _ query: QueryID) async throws(StorageError) -> Bool {
        let range: Range<Int>
        switch target {
        case .head: return false
        case .span(let span): range = span
        case .follow(_, let offset): range = offset..<offset + 1
        }
        guard let list = try await storage.excerpt(of: query, range) else { return false }
        // Where the list ends is not known to be missing.
        let end = list.record.end ?? list.record.total.exactCount ?? .max
        return list.coverage.gaps(in: range.clamped(to: 0..<max(end, range.lowerBound))).isEmpty && list.coverage.count > 0
    }

    private func request(for target: FetchTarget) async throws(StorageError) -> PageRequest {
        switch target {
        case .head:
            var validator: Validator?
            if !asksUnconditionally, let query, let list = try await storage.outline(of: query) {
                validator = list.heldPages.first { $0.offset == 0 }?.validator
                // A page whose bytes are damaged is not "not modified".
                if try await storage.window(of: query, 0..<pageWindow(list))?.damaged.isEmpty == false { validator = nil }
            }
            return PageRequest(.first, size: options.pageSize, validator: validator)
        case .span(let range):
            // Always a whole page, also where the gap is shorter: what is received twice proves the seam (R21).
            return PageRequest(.offset(range.lowerBound), size: options.pageSize)
        case .follow(let cursor, _):
            return PageRequest(.cursor(cursor), size: options.pageSize)
        }
    }

    private func pageWindow(_ list: ListOutline) -> Int { list.heldPages.first?.count ?? 0 }

    private func handle(_ landing: Landing) async throws(StorageError) {
        switch landing.result {
        case .success(let answer):
            queue.landed(landing.target)
            attempts[landing.target.offset] = nil
            hasEndedLease = false
            switch landing.target {
            case .head: try await headArrived(answer)
            case .span(let range): try await spanArrived(answer, range)
            case .follow(let cursor, let offset): try await followerArrived(answer, cursor, at: offset)
            }
            // An answer that came to nothing leaves no lease behind, or we would wait for ourselves.
            if !hasEndedLease, let query {
                try await storage.record([.released(offset: landing.target.offset)], for: query, at: clock.now())
            }
        case .failure(let error):
            try await handle(error, at: landing.target)
        }
    }

    private func handle(_ error: any Error, at target: FetchTarget) async throws(StorageError) {
        if error is CancellationError || Task.isCancelled {
            queue.stop()
            queue.failed(target, FetchFailure(.transport, "cancelled", isRetryable: true), nextAttemptAt: nil)
            if let query { try await storage.record([.released(offset: target.offset)], for: query, at: clock.now()) }
            return
        }
        let failure = error as? FetchFailure ?? FetchFailure(.transport, "the source failed", isRetryable: true)
        let attempt = (attempts[target.offset] ?? 0) + 1
        attempts[target.offset] = attempt
        let now = clock.now()
        let next = options.retry.nextAttempt(after: failure, attempt: attempt, now: now, chance: chance())
        queue.failed(target, failure, nextAttemptAt: next)
        if next == nil { givenUp.insert(target.offset) }
        if target == .head { headFailure = failure }
        Counter(label: "pagecache_fetch_failures_total").increment()
        logger.debug("fetch failed", metadata: ["class": "\(failure.failureClass.rawValue)", "attempt": "\(attempt)"])
        progress(.failed(offset: target.offset, failure, nextAttemptAt: next))
        if let query {
            try await storage.record(
                [.failed(offset: target.offset, failure: failure, nextAttemptAt: next)], for: query, at: now)
        }
        if case .follow = target, !failure.isRetryable, failure.failureClass == .refused {
            try await cursorWasRejected(failure)
        }
    }

    /// Applies a plan. Ledger edits in it end the lease of the page that has just arrived.
    func apply(_ plan: CommitPlan) async throws(StorageError) -> CommitOutcome {
        let outcome = try await storage.commit(plan)
        if case .committed = outcome, !plan.ledger.isEmpty { hasEndedLease = true }
        return outcome
    }

    // MARK: Words

    func warn(_ text: String) {
        guard !warnings.contains(text) else { return }
        warnings.append(text)
        progress(.warning(text))
    }

    /// Tells whoever watches that a page was stored, which brought so many new items.
    func announce(_ range: Range<Int>, news: Int) {
        if news > 0 { Counter(label: "pagecache_pages_committed_total").increment() }
        heldItems += news
        progress(.stored(range, held: heldItems, length: knownLength))
    }

    /// Kept along for progress only; the store is the truth.
    var heldItems = 0
    var knownLength: Int?
}
