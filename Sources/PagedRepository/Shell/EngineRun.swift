import PageModel
import Synchronization

/// One life of a `SyncEngine`: looks what is due, starts it, and waits for the next reason to look.
///
/// Belongs to one task. Child tasks run one list each; what they found comes back through the inbox, in order.
final class EngineRun {
    struct Ended: Sendable {
        var job: Agenda.Job
        var origin: String
        var startedAt: Timestamp
        var result: Result<SyncReport, StorageError>
    }

    /// Runs that have ended. State: under its mutex; they put in, the engine's task takes out.
    final class Inbox: Sendable {
        private let ended = Mutex<[Ended]>([])

        func put(_ one: Ended) { ended.withLock { $0.append(one) } }

        func take() -> [Ended] {
            ended.withLock { ended in
                defer { ended = [] }
                return ended
            }
        }
    }

    private let engine: SyncEngine
    private let agenda: Agenda
    private let meters = Meters.Engine()

    private let stop: EngineStop
    private var wake: Signal { stop.wake }
    /// What has ended, and was not looked at.
    private let inbox = Inbox()
    private let news = EngineNews()
    private var roster = EngineRoster()
    private var running: [QueryID: String] = [:]
    private var circuits: [String: Circuit] = [:]
    /// What runs at one origin share, where it brings none of its own.
    private var gates: [String: OriginGate] = [:]
    private var pacing: Pacing
    private var isFirstLook = true
    /// The next moment at which something is due.
    private var nextLookAt: Timestamp?

    init(_ engine: SyncEngine, _ stop: EngineStop) {
        self.engine = engine
        self.stop = stop
        let retry = engine.options.sync.retry
        agenda = Agenda(
            rules: Agenda.Rules(
                freshness: engine.options.freshness, longestPause: max(retry.cap, retry.longestRetryAfter), longestBackOff: retry.cap,
                givenUpPause: retry.cap))
        pacing = Pacing(base: retry.base, longest: engine.options.circuitPause, spread: engine.options.spread)
    }

    func run() async throws(StorageError) {
        let notices = engine.storage.notices(of: nil)
        let result = await withDiscardingTaskGroup { group -> Result<Void, StorageError> in
            let (wake, news) = (wake, news)
            group.addTask {
                for await notice in notices {
                    news.heard(notice)
                    // Somebody else's commit may be work: a list that is new, pinned, or failing.
                    if EngineRun.matters(notice) { wake.raise() }
                }
            }
            // What is in flight gives its leases back before the group ends.
            defer { group.cancelAll() }
            do throws(StorageError) {
                while !Task.isCancelled, !stop.isTold {
                    for ended in inbox.take() { try learn(ended) }
                    do throws(StorageError) { try await look(in: &group) } catch { try comeBack(after: error) }
                    await wait()
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    // MARK: Looking

    private func look(in group: inout DiscardingTaskGroup) async throws(StorageError) {
        let now = engine.clock.now()
        nextLookAt = nil
        let running = running
        let wanted = try await roster.wanted(
            news.take(), observed: engine.storage.observedQueries, isRunning: { running[$0] != nil }, in: engine.storage,
            now: now)
        let records = roster.records
        pacing.keep({ records[$0] != nil }, of: records.count)
        let due = try await dueFetches(records, now)
        let retries = due.compactMap { agenda.job(for: $0, now: now) }
        let jobs = wanted.flatMap { self.jobs(for: $0, now) } + retries
        if isFirstLook { begin(due, records, jobs, now) }
        // What came to nothing twice does not keep a list from what else is to be done.
        let open = jobs.filter { job in
            guard let moment = pacing.isLeft(job, now: now) else { return true }
            lookAgain(at: moment)
            return false
        }
        for job in Agenda.soonest(open) {
            guard running[job.query] == nil, let record = records[job.query], let origin = engine.origin(record),
                mayStart(job, origin, now)
            else { continue }
            if !retries.contains(job) { guard try await stands(job, now) else { continue } }
            start(job, record, origin, now, in: &group)
        }
    }

    private func jobs(for list: Agenda.List, _ now: Timestamp) -> [Agenda.Job] {
        [agenda.completion(of: list), agenda.job(for: list, now: now)].compactMap { $0 }
    }

    /// What was done meanwhile may not have been told yet: nobody is asked for what somebody else has just had.
    private func stands(_ job: Agenda.Job, _ now: Timestamp) async throws(StorageError) -> Bool {
        guard let list = try await roster.read(job.query, in: engine.storage), let record = roster.records[job.query],
            EngineRoster.isWanted(record, engine.storage.observedQueries)
        else { return false }
        let jobs = jobs(for: list, now)
        if jobs.contains(job) { return true }
        for other in jobs { lookAgain(at: other.dueAt) }
        return false
    }

    /// Those that cannot be made now must not hide those that can: looked for until there is enough to do, or nothing more.
    private func dueFetches(_ records: [QueryID: QueryRecord], _ now: Timestamp) async throws(StorageError) -> [DueFetch] {
        var limit = 256
        while true {
            let due = try await engine.storage.due(before: now + agenda.rules.longestPause * 1_000, limit: limit)
            let ready = Set(
                due.map(\.query).filter { query in
                    guard running[query] == nil, let record = records[query], let origin = engine.origin(record) else { return false }
                    return circuits[origin.name]?.isClosed ?? true
                })
            if due.count < limit || ready.count >= max(1, engine.options.lists) || limit >= 1 << 20 { return due }
            limit *= 4
        }
    }

    /// R29, R32: after a restart, what is overdue is spread, and an origin that was away is away still, as far as the ledger
    /// tells.
    private func begin(_ due: [DueFetch], _ records: [QueryID: QueryRecord], _ jobs: [Agenda.Job], _ now: Timestamp) {
        isFirstLook = false
        for job in jobs where job.dueAt < now { pacing.delay(job.query, now: now, chance: engine.chance()) }
        var failures: [String: (count: Int, last: Timestamp)] = [:]
        for fetch in due {
            guard let failure = fetch.entry.failure, failure.isTransport, let record = records[fetch.query],
                let name = engine.origin(record)?.name, let at = fetch.entry.lastAttemptAt
            else { continue }
            let known = failures[name]
            failures[name] = ((known?.count ?? 0) + fetch.entry.attempts, max(known?.last ?? at, at))
        }
        for (name, known) in failures {
            let circuit = circuit(known.count, known.last)
            circuits[name] = circuit
            if !circuit.isClosed { circuitChanged(name, to: .open) }
        }
    }

    private func circuit(_ failures: Int = 0, _ last: Timestamp? = nil) -> Circuit {
        Circuit(
            threshold: engine.options.sync.transportFailuresUntilOffline, pause: engine.options.circuitPause, failures: failures,
            lastFailureAt: last)
    }

    /// Whether it is time for it, and there is room.
    private func mayStart(_ job: Agenda.Job, _ origin: SyncEngine.Origin, _ now: Timestamp) -> Bool {
        let dueAt = pacing.start(of: job, now: now)
        guard dueAt <= now else {
            lookAgain(at: dueAt)
            return false
        }
        // Whoever ends makes room, and is a reason to look again.
        guard running.count < max(1, engine.options.lists),
            running.values.count(where: { $0 == origin.name }) < max(1, engine.options.listsPerOrigin)
        else { return false }
        // A copy is asked: what may be asked of the origin is used up by what is started.
        var circuit = circuits[origin.name] ?? circuit()
        guard case .wait(let moment) = circuit.ask(now: now) else { return true }
        lookAgain(at: moment)
        return false
    }

    private func start(
        _ job: Agenda.Job, _ record: QueryRecord, _ origin: SyncEngine.Origin, _ now: Timestamp,
        in group: inout DiscardingTaskGroup
    ) {
        var circuit = circuits[origin.name] ?? circuit()
        let verdict = circuit.ask(now: now)
        circuits[origin.name] = circuit
        if case .wait(let moment) = verdict { return lookAgain(at: moment) }
        running[job.query] = origin.name
        var options = engine.options.sync
        options.work = job.work
        options.onlyFinishesSweeps = true
        let sync = ListSync(
            storage: engine.storage, source: gate(of: origin).limiting(origin.source), key: record.key, options: options,
            clock: engine.clock, chance: engine.chance, logger: engine.logger)
        engine.tellBegun(job, record.key)
        let (wake, inbox) = (wake, inbox)
        group.addTask {
            let result: Result<SyncReport, StorageError>
            do throws(StorageError) { result = .success(try await sync.run()) } catch { result = .failure(error) }
            inbox.put(Ended(job: job, origin: origin.name, startedAt: now, result: result))
            wake.raise()
        }
    }

    private func gate(of origin: SyncEngine.Origin) -> OriginGate {
        if let gate = origin.gate ?? gates[origin.name] { return gate }
        let options = engine.options
        let gate = OriginGate(
            concurrency: options.requestsPerOrigin, requestsPerSecond: options.requestsPerSecond, clock: engine.clock)
        gates[origin.name] = gate
        return gate
    }

    private func lookAgain(at moment: Timestamp) { nextLookAt = min(nextLookAt ?? moment, moment) }

    // MARK: What came of it

    private func learn(_ ended: Ended) throws(StorageError) {
        running[ended.job.query] = nil
        news.ended(ended.job.query)
        let now = engine.clock.now()
        let report: SyncReport
        switch ended.result {
        case .success(let some):
            report = some
        case .failure(let error):
            guard error.mayPass else { throw error }
            return pacing.failed(ended.job, now: now)
        }
        var circuit = circuits[ended.origin] ?? circuit()
        let wasClosed = circuit.isClosed
        if report.outcome == .offline || report.wasNotHeard(since: ended.startedAt) {
            circuit.notHeard(now: now)
        } else if report.wasHeard, circuit.heard() {
            // R32: the origin is back: what waited for it goes now.
            pacing.endPauses()
        }
        circuits[ended.origin] = circuit
        if circuit.isClosed != wasClosed { circuitChanged(ended.origin, to: wasClosed ? .open : .closed) }
        meters.ended(report.outcome)
        let hasBrought = report.pagesFetched + report.pagesUnchanged > 0
        pacing.ended(ended.job, report.outcome == .complete ? .complete : hasBrought ? .some : .nothing, now: now)
    }

    private func circuitChanged(_ origin: String, to state: Metric.CircuitState) {
        meters.circuitChanged(to: state)
        engine.tellCircuit(state, origin)
    }

    /// What may pass does not end background work.
    private func comeBack(after error: StorageError) throws(StorageError) {
        guard error.mayPass else { throw error }
        lookAgain(at: engine.clock.now() + engine.options.circuitPause)
    }

    // MARK: Waiting

    /// Returns when there is a reason to look again: a commit, a run that ended, a moment that has come.
    private func wait() async {
        let (clock, moment, wake) = (engine.clock, nextLookAt, wake)
        await withTaskGroup(of: Void.self) { race in
            race.addTask { await wake.wait() }
            if let moment { race.addTask { try? await clock.alarm(at: moment) } }
            await race.next()
            race.cancelAll()
        }
    }

    private static func matters(_ notice: StorageNotice) -> Bool {
        guard case .changed(let set) = notice else { return true }
        return set.changes.contains { change in
            switch change {
            case .registered, .described, .ledger, .purged, .validated, .demoted, .dropped: true
            case .stored, .rearranged, .confirmed, .generationBegan, .olderGenerationsDropped, .truncated, .total, .end: false
            }
        }
    }
}

extension StorageError {
    /// Whether it may be otherwise by and by, without anybody mending the store.
    fileprivate var mayPass: Bool { [.busy, .full, .tookTooLong].contains(code) }
}

extension SyncReport {
    /// Whether nothing came, and something that was asked for failed in transport.
    fileprivate func wasNotHeard(since moment: Timestamp) -> Bool {
        if let headFailure { return headFailure.isTransport }
        guard pagesFetched + pagesUnchanged == 0 else { return false }
        return list?.failures.contains { entry in
            entry.failure?.isTransport == true && entry.lastAttemptAt.map { $0 >= moment } ?? false
        } ?? false
    }
}
