import Logging
import PageModel
import Synchronization

/// One run of a `ListSync`. Carries out the decisions of `FetchQueue`, `LoadPlan`, `FirstPageDiff`, `Reconciler`,
/// `SpanPlace`, `ChainPlace`, `SweepPlace` and `ListBelief`.
///
/// Owned by one task. Child tasks only fetch. All other work, including writes to the storage, is done here in order of
/// arrival.
final class SyncRun {
    let storage: RunStorage
    let source: any PageSource
    let key: QueryKey
    var options: SyncOptions
    let clock: any SyncClock
    let jitter: @Sendable () -> Double
    let telemetry: RunTelemetry

    var start: RunStart
    /// The query in the storage. `nil` until an unknown query is registered.
    var query: QueryID?
    var queue: FetchQueue
    var leases: RunLeases
    var counts = RunCounts()
    var failures = RunFailures()
    /// The conclusions from the answers of this run about the list at the origin.
    var belief = ListBelief()
    /// How much of the cached list the run has read so far.
    var readExtent = ReadExtent.whole
    /// The kind of work that the run does.
    var phase = RunPhase.loading
    /// The reconciliation in progress, after page one has changed. It may begin in any phase.
    var reconciliation: Reconciliation?
    var pass = RunPass()
    var passes = PassHistory()
    var part = PartialWork()

    private static let runs = Atomic(0)

    init(
        storage: any PageStorage, source: any PageSource, key: QueryKey, options: SyncOptions, clock: any SyncClock,
        jitter: @escaping @Sendable () -> Double, logger: Logger,
        progress: @escaping @Sendable (SyncEvent) -> Void
    ) {
        self.source = source
        self.key = key
        self.options = options.bounded
        self.clock = clock
        self.jitter = jitter
        telemetry = RunTelemetry(
            logger: logger.about(key), progress: progress, reportsActions: options.reportsActions)
        self.storage = RunStorage(base: storage, report: telemetry.report)
        start = RunStart(at: clock.now())
        leases = RunLeases(
            owner: LeaseOwner(String(SyncRun.runs.add(1, ordering: .relaxed).newValue)), now: start.at)
        // A sweep also verifies page one, and unusable items must be sent again, so the request has no validator.
        belief.drift.asksUnconditionally =
            options.work == .sweep || !options.again.isEmpty && options.work.refreshesHead
        queue = FetchQueue(
            FetchQueue.Limits(
                concurrency: self.options.concurrency, transportFailures: options.transportFailuresUntilOffline,
                retryWaitBudget: options.retryWaitBudget, budget: self.options.maxPages))
    }

    func run() async throws(StorageError) -> SyncReport {
        logBegan()
        belief.repeats.restore(repetitions: options.repetitionsBefore)
        if let state = try await storage.state(of: key) {
            let record = state.record
            guard isOurs(record) else { return try await ended(.drained) }
            query = record.id
            start.earlier = record.validatedAt.map {
                RunStart.Earlier(registered: record.createdAt, confirmed: $0, audited: record.lastAuditAt)
            }
            start.wholeTotal = state.isComplete == true ? record.total : nil
            if canBeginWithoutPages(state) {
                begin(with: state)
                return try await ended(try await passes())
            }
            try await markDamagedStale(record)
            if let list = try await storage.outline(of: record.id) {
                start.storedSince = list.readAt
                leases.synchronize(list.readAt, at: clock.now())
                belief.hidden.restore(list.pages)
                telemetry.progress(
                    .opened(held: list.coverage.count, length: list.record.validatedAt == nil ? nil : list.length))
                if list.record.validatedAt != nil, !list.isComplete { counts.reconciliation = .resumed }
                failures.restore(list.failures)
                belief.end.restore(list.failures)
            }
        }
        // The list may have been removed since the run was planned, or the run may have been cancelled.
        start.lacksList = query == nil && options.updatesOnly
        if query == nil, options.updatesOnly || Task.isCancelled { return try await ended(.stopped) }
        if query == nil, options.registersFirst { query = try await storage.register(key).id }
        return try await ended(try await passes())
    }

    /// Marks pages with unreadable items as not held, so that they are fetched again.
    private func markDamagedStale(_ record: QueryRecord) async throws(StorageError) {
        let damage = try await storage.damage(of: record.id, thoroughly: options.checksStoredBytes)
        start.isSound = damage.isNone
        guard !damage.pages.isEmpty else { return }
        let count = damage.pages.reduce(0) { $0 + $1.count }
        warn("\(count) \(count == 1 ? "item is" : "items are") damaged in the store")
        // The storage rejects the commit if another process has changed the list. The next run then finds the damage
        // again.
        _ = try await storage.commit(
            CommitPlan(query: record.id, version: record.version, edits: damage.pages.map { .markStale($0) }))
    }

    private func ended(_ ending: FetchQueue.Ending) async throws(StorageError) -> SyncReport {
        var report = try await report(ending)
        report.lostOrigin = ending == .offline
        logEnded(report)
        return report
    }

    /// Whether the source accepts the record (`PageSource.authorize`, R45). If true, the source has restored the stored
    /// paging from the record. If false, the error of the source is the failure of page one.
    func isOurs(_ record: QueryRecord) -> Bool {
        do {
            try source.authorize(record)
            source.restore(from: record)
            return true
        } catch {
            failures.head = error
            return false
        }
    }

    /// Waits before the run checks again whether other owners have stored the wanted pages. Leases end with their owner
    /// or after their duration, so no run waits forever.
    func waitForOthers() async {
        let pause = leases.pauseForOthers()
        await wait(until: clock.now() + pause)
    }

    /// Pauses the run until `moment`. A cancelled run continues at once.
    func wait(until moment: Timestamp) async {
        telemetry.report?(.wait(until: moment), "\((moment - clock.now()) / .seconds(1)) s")
        try? await clock.sleep(until: moment)
        storage.expire()
    }

    // MARK: Progress

    func warn(_ text: String) {
        if counts.warn(text) { telemetry.progress(.warning(text)) }
    }

    /// Reports a page that was stored or verified, with `newItems` new items.
    func announce(_ range: Range<Int>, newItems: Int) {
        counts.heldItems += newItems
        pass.newItems += newItems
        telemetry.progress(.stored(range, held: counts.heldItems, length: counts.knownLength))
    }
}
