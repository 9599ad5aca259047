import PageModel

/// One call of `SyncEngine.run()`. In each look, the engine finds due work and starts runs. It then waits for a reason
/// to look again.
///
/// Owned by one task. Each child task runs one list, and returns the result through the mailbox.
final class EngineRun {
    private let engine: SyncEngine
    private let scheduler: SyncScheduler
    private let meters = Meters.Engine()

    private let stop: StopRequest
    private var wake: Signal { stop.wake }
    private let mailbox = Mailbox<EndedRun>()
    private let pendingChanges = PendingChanges()
    private var registry = ListRegistry()
    private var admission: OriginAdmission
    private var gates = OriginGates()
    private var backoff: RunBackoff
    private var nextLook = WakeupTimer()
    private var deadRows: DeadRows
    private var isFirstLook = true
    /// How far the storage's clock is ahead of the engine's clock, as of the last look.
    private var skew = Duration.zero
    /// The storage's time. The engine bases all decisions on it (R52).
    private var now: Timestamp { engine.clock.now() + skew }

    init(_ engine: SyncEngine, _ stop: StopRequest) {
        self.engine = engine
        self.stop = stop
        let options = engine.options
        deadRows = DeadRows(engine.storage)
        scheduler = SyncScheduler(freshness: options.freshness, retry: options.sync.retry)
        admission = OriginAdmission(options)
        backoff = RunBackoff(base: options.sync.retry.base, longest: options.circuitPause, spread: options.spread)
    }

    func run() async throws(StorageError) {
        let notices = engine.storage.notices(of: nil)
        let result = await withDiscardingTaskGroup { group -> Result<Void, StorageError> in
            let (wake, pendingChanges) = (wake, pendingChanges)
            group.addTask {
                for await notice in notices {
                    pendingChanges.record(notice)
                    // A commit by another writer may create work.
                    if notice.mayBeWork { wake.raise() }
                }
            }
            // Cancelled runs release their leases before the group ends.
            defer { group.cancelAll() }
            do throws(StorageError) {
                while !Task.isCancelled, !stop.isRequested {
                    for ended in mailbox.take() { try recordResult(ended) }
                    do throws(StorageError) { try await look(in: &group) } catch { try scheduleLook(after: error) }
                    await nextLook.over(wake, engine.clock, skew: skew)
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    // MARK: Finding work

    private func look(in group: inout DiscardingTaskGroup) async throws(StorageError) {
        nextLook.begin()
        await deadRows.record(at: engine.clock.now())
        let admission = admission
        let wanted = try await registry.wanted(
            pendingChanges.take(), observed: engine.storage.observedQueries, isRunning: admission.isRunning,
            in: engine.storage,
            now: engine.clock.now())
        let records = registry.records
        backoff.keep({ records[$0] != nil }, of: records.count)
        let reading = try await engine.storage.due(
            within: scheduler.rules.longestPause * 1_000, lists: engine.options.lists,
            isReady: { query in
                guard !admission.isRunning(query), let record = records[query], let origin = engine.origin(record)
                else {
                    return false
                }
                return !admission.isUnavailable(origin.name)
            })
        let (due, now) = (reading.fetches, reading.readAt)
        skew = now - engine.clock.now()
        let retries = due.compactMap { scheduler.job(for: $0, now: now) }
        let jobs = wanted.flatMap { self.jobs(for: $0, now) } + retries
        if isFirstLook { begin(due, records, jobs, now) }
        // A job that two runs have left due since the same moment is skipped for a while, so that other jobs of the
        // list get their turn (R33).
        let open = jobs.filter { job in
            guard let moment = backoff.suspension(of: job, now: now) else { return true }
            nextLook.noLater(than: moment)
            return false
        }
        for job in SyncScheduler.soonest(open) {
            guard !self.admission.isRunning(job.query), let record = records[job.query],
                let origin = engine.origin(record),
                mayStart(job, origin, now)
            else { continue }
            if !retries.contains(job) { guard try await isStillDue(job, now) else { continue } }
            start(job, record, origin, now, in: &group)
        }
    }

    /// Returns the jobs of a wanted list. A list that is neither pinned nor observed is wanted for its sweep only.
    private func jobs(for list: SyncScheduler.List, _ now: Timestamp) -> [SyncScheduler.Job] {
        let isKeptFresh = list.isPinned || engine.storage.observedQueries.contains(list.query)
        return scheduler.jobs(for: list, now: now).filter { isKeptFresh || $0.work == .sweep }
    }

    /// Returns whether the job is still due after its list was read again. Another process may have done the job, and
    /// the notice of that commit may not have arrived yet.
    private func isStillDue(_ job: SyncScheduler.Job, _ now: Timestamp) async throws(StorageError) -> Bool {
        guard let list = try await registry.read(job.query, in: engine.storage),
            let record = registry.records[job.query],
            ListRegistry.isWanted(record, engine.storage.observedQueries)
        else { return false }
        let jobs = self.jobs(for: list, now)
        if jobs.contains(job) { return true }
        for other in jobs { nextLook.noLater(than: other.dueAt) }
        return false
    }

    /// Prepares the first look after a restart: spreads overdue work over time, and restores the circuits of origins
    /// that were unavailable (R29, R32).
    private func begin(
        _ due: [DueFetch], _ records: [QueryID: QueryRecord], _ jobs: [SyncScheduler.Job], _ now: Timestamp
    ) {
        isFirstLook = false
        for job in jobs where job.dueAt < now { backoff.delay(job.query, now: now, jitter: engine.jitter()) }
        let away = admission.restore(from: due) { query in records[query].flatMap { engine.origin($0)?.name } }
        for origin in away { circuitChanged(origin, to: .open) }
    }

    /// Whether the job may start now: it is due, and its origin has room.
    private func mayStart(_ job: SyncScheduler.Job, _ origin: SyncEngine.Origin, _ now: Timestamp) -> Bool {
        let dueAt = backoff.start(of: job, now: now)
        return isGranted(dueAt > now ? .wait(until: dueAt) : admission.decision(at: origin.name, now: now))
    }

    private func isGranted(_ answer: OriginAdmission.Decision) -> Bool {
        switch answer {
        case .go: return true
        // The end of any run makes the engine look again.
        case .full: return false
        case .wait(let moment):
            nextLook.noLater(than: moment)
            return false
        }
    }

    private func start(
        _ job: SyncScheduler.Job, _ record: QueryRecord, _ origin: SyncEngine.Origin, _ now: Timestamp,
        in group: inout DiscardingTaskGroup
    ) {
        guard isGranted(admission.begin(job.query, at: origin.name, now: now)) else { return }
        var options = engine.options.sync
        options.work = job.work
        options.onlyFinishesSweeps = true
        options.updatesOnly = true
        let sync = ListSync(
            storage: engine.storage, source: gates.gate(of: origin, for: engine).limiting(origin.source),
            key: record.key,
            options: options, clock: engine.clock, jitter: engine.jitter, logger: engine.logger)
        engine.logBegan(job, record.key)
        let (wake, mailbox) = (wake, mailbox)
        group.addTask {
            let result: Result<SyncReport, StorageError>
            do throws(StorageError) { result = .success(try await sync.run()) } catch { result = .failure(error) }
            mailbox.put(EndedRun(job: job, origin: origin.name, startedAt: now, result: result))
            wake.raise()
        }
    }

    // MARK: Results

    private func recordResult(_ ended: EndedRun) throws(StorageError) {
        admission.ended(ended.job.query)
        pendingChanges.runEnded(ended.job.query)
        let now = now
        let report: SyncReport
        switch ended.result {
        case .success(let some):
            report = some
        case .failure(let error):
            guard error.mayPass else { throw error }
            return backoff.failed(ended.job, now: now)
        }
        switch admission.record(
            OriginAdmission.Reachability(report, since: ended.startedAt), of: ended.origin, now: now)
        {
        case nil: break
        case .opened: circuitChanged(ended.origin, to: .open)
        case .closed:
            // Work that waited for the origin starts now (R32).
            backoff.endPauses()
            circuitChanged(ended.origin, to: .closed)
        }
        meters.ended(report.outcome)
        let hasBrought = report.pagesFetched + report.pagesUnchanged > 0
        backoff.ended(ended.job, report.outcome == .complete ? .complete : hasBrought ? .some : .nothing, now: now)
    }

    private func circuitChanged(_ origin: String, to state: Metric.CircuitState) {
        meters.circuitChanged(to: state)
        engine.logCircuit(state, origin)
    }

    /// Schedules another look after a temporary error. Throws any other error, which ends the background work.
    private func scheduleLook(after error: StorageError) throws(StorageError) {
        guard error.mayPass else { throw error }
        nextLook.noLater(than: now + engine.options.circuitPause)
    }
}

extension StorageError {
    /// Whether the error may pass by itself, without a repair of the storage.
    fileprivate var mayPass: Bool { [.busy, .full, .tookTooLong, .unavailable].contains(code) }
}
