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
    let owner: String
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
    /// Positions this run will not ask for again: they failed for good.
    var givenUp: Set<Int> = []
    /// The list moved while it was read: what was planned is void, and page one is asked again.
    var mustRestart = false
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
        chance: @escaping @Sendable () -> Double, owner: String, logger: Logger,
        progress: @escaping @Sendable (SyncEvent) -> Void
    ) {
        self.storage = storage
        self.source = source
        self.key = key
        self.options = options
        self.clock = clock
        self.chance = chance
        self.owner = owner
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
            queue.add([.head])
            var ending = try await drive()
            guard ending == .drained, headFailure == nil, let query else { return ending }
            if options.refreshOnly { return ending }
            while !mustRestart, let list = try await storage.outline(of: query) {
                guard list.heldPages.count < options.pagesPerQuery else {
                    warn("the list has more than \(options.pagesPerQuery) pages; the rest is left out")
                    return ending
                }
                let targets = LoadPlan.targets(for: list, access: source.access, size: pageSize).filter {
                    !fruitless.contains($0.offset) && !givenUp.contains($0.offset)
                }
                if targets.isEmpty { break }
                queue.add(targets)
                ending = try await drive()
                if ending != .drained { return ending }
            }
            if !mustRestart, try await settle() { return ending }
            restarts += 1
            guard restarts <= options.restarts else {
                warn("the list kept changing while it was read; what is missing is marked as a gap")
                return ending
            }
        }
    }

    // MARK: Fetching

    /// Fetches until the queue has nothing more to do now.
    private func drive() async throws(StorageError) -> FetchQueue.Ending {
        let result = await withTaskGroup(of: Landing.self) { group -> Result<FetchQueue.Ending, StorageError> in
            do throws(StorageError) {
                while true {
                    if Task.isCancelled { queue.stop() }
                    let (targets, action) = nextActions()
                    try await start(targets, in: &group)
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

    private func start(_ targets: [FetchTarget], in group: inout TaskGroup<Landing>) async throws(StorageError) {
        guard !targets.isEmpty else { return }
        if let query {
            // Before the request, so that a crash leaves a record of what was in flight (R31).
            let now = clock.now()
            try await storage.record(
                targets.map { .started(offset: $0.offset, owner: owner, leaseExpiresAt: now + options.lease) },
                for: query, at: now)
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
    }

    private func request(for target: FetchTarget) async throws(StorageError) -> PageRequest {
        switch target {
        case .head:
            var validator: Validator?
            if !asksUnconditionally, let query, let list = try await storage.outline(of: query) {
                validator = list.heldPages.first { $0.offset == 0 }?.validator
            }
            return PageRequest(.first, size: options.pageSize, validator: validator)
        case .span(let range):
            // Always a whole page, also where the gap is shorter: what is received twice proves the seam (R21).
            return PageRequest(.offset(range.lowerBound), size: options.pageSize)
        case .follow(let cursor, _):
            return PageRequest(.cursor(cursor), size: options.pageSize)
        }
    }

    private func handle(_ landing: Landing) async throws(StorageError) {
        switch landing.result {
        case .success(let answer):
            queue.landed(landing.target)
            attempts[landing.target.offset] = nil
            switch landing.target {
            case .head: try await headArrived(answer)
            case .span(let range): try await spanArrived(answer, range)
            case .follow(let cursor, let offset): try await followerArrived(answer, cursor, at: offset)
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
