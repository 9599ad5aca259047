import Logging
import Metrics
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

    private let wake = Signal()
    /// What has ended, and was not looked at.
    private let inbox = Inbox()
    private var running: [QueryID: String] = [:]
    private var circuits: [String: Circuit] = [:]
    /// Before this moment a list is left alone: overdue work is spread when the engine starts (R29), and work that has just
    /// come to nothing is not begun again at once.
    private var notBefore: [QueryID: Timestamp] = [:]
    private var isFirstLook = true
    /// The next moment at which something is due.
    private var nextLookAt: Timestamp?

    init(_ engine: SyncEngine) {
        self.engine = engine
        let retry = engine.options.sync.retry
        agenda = Agenda(
            rules: Agenda.Rules(freshness: engine.options.freshness, longestPause: max(retry.cap, retry.longestRetryAfter)))
    }

    func run() async throws(StorageError) {
        let notices = engine.storage.notices(of: nil)
        let result = await withDiscardingTaskGroup { group -> Result<Void, StorageError> in
            let wake = wake
            group.addTask {
                // Somebody else's commit may be work: a list that is new, pinned, or failing.
                for await notice in notices where EngineRun.matters(notice) { wake.raise() }
            }
            // What is in flight gives its leases back before the group ends.
            defer { group.cancelAll() }
            do throws(StorageError) {
                while !Task.isCancelled {
                    for ended in inbox.take() { try learn(ended) }
                    try await look(in: &group)
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
        var records: [QueryID: QueryRecord] = [:]
        var jobs: [Agenda.Job] = []
        let observed = engine.storage.observedQueries
        for record in try await engine.storage.records() {
            records[record.id] = record
            guard record.isPinned || observed.contains(record.id) || record.sweep != nil else { continue }
            guard let list = try await outline(of: record) else { continue }
            let state = Agenda.List(
                query: record.id, isPinned: record.isPinned, validatedAt: record.validatedAt, isComplete: list.isComplete,
                isSweeping: record.sweep != nil, headFailure: list.ledger.first { $0.offset == 0 && $0.state.isFailure })
            if let job = agenda.job(for: state, now: now) { jobs.append(job) }
        }
        let due = try await engine.storage.due(before: now + agenda.rules.longestPause * 1_000, limit: 256)
        jobs += due.compactMap { agenda.job(for: $0, now: now) }
        if isFirstLook { begin(due, records, jobs, now) }
        for job in Agenda.soonest(jobs) {
            guard running[job.query] == nil, let record = records[job.query], let origin = engine.origin(record) else { continue }
            start(job, record, origin, now, in: &group)
        }
    }

    /// Only lists that are to be whole are looked at as a whole.
    private func outline(of record: QueryRecord) async throws(StorageError) -> ListOutline? {
        guard record.isPinned else { return try await engine.storage.excerpt(of: record.id, 0..<1) }
        return try await engine.storage.outline(of: record.id)
    }

    /// R29, R32: after a restart, what is overdue is spread, and an origin that was away is away still, as far as the ledger
    /// tells.
    private func begin(_ due: [DueFetch], _ records: [QueryID: QueryRecord], _ jobs: [Agenda.Job], _ now: Timestamp) {
        isFirstLook = false
        for job in jobs where job.dueAt < now { notBefore[job.query] = now + engine.options.spread * engine.chance() }
        var failures: [String: (count: Int, last: Timestamp)] = [:]
        for fetch in due {
            guard let failure = fetch.entry.failure, failure.isTransport, let record = records[fetch.query],
                let name = engine.origin(record)?.name, let at = fetch.entry.lastAttemptAt
            else { continue }
            let known = failures[name]
            failures[name] = ((known?.count ?? 0) + fetch.entry.attempts, max(known?.last ?? at, at))
        }
        for (name, known) in failures { circuits[name] = circuit(known.count, known.last) }
    }

    private func circuit(_ failures: Int = 0, _ last: Timestamp? = nil) -> Circuit {
        Circuit(
            threshold: engine.options.sync.transportFailuresUntilOffline, pause: engine.options.circuitPause, failures: failures,
            lastFailureAt: last)
    }

    private func start(
        _ job: Agenda.Job, _ record: QueryRecord, _ origin: SyncEngine.Origin, _ now: Timestamp,
        in group: inout DiscardingTaskGroup
    ) {
        let dueAt = max(job.dueAt, notBefore[job.query] ?? job.dueAt)
        guard dueAt <= now else { return lookAgain(at: dueAt) }
        // Whoever ends makes room, and is a reason to look again.
        guard running.count < max(1, engine.options.lists),
            running.values.count(where: { $0 == origin.name }) < max(1, engine.options.listsPerOrigin)
        else { return }
        var circuit = circuits[origin.name] ?? circuit()
        let verdict = circuit.ask(now: now)
        circuits[origin.name] = circuit
        if case .wait(let moment) = verdict { return lookAgain(at: moment) }
        running[job.query] = origin.name
        var options = engine.options.sync
        options.work = job.work
        let sync = ListSync(
            storage: engine.storage, source: origin.source, key: record.key, options: options, clock: engine.clock,
            chance: engine.chance, logger: engine.logger)
        engine.logger.debug("background work", metadata: ["list": "\(record.key.shortID)", "work": "\(job.work)"])
        let (wake, inbox) = (wake, inbox)
        group.addTask {
            let result: Result<SyncReport, StorageError>
            do throws(StorageError) { result = .success(try await sync.run()) } catch { result = .failure(error) }
            inbox.put(Ended(job: job, origin: origin.name, startedAt: now, result: result))
            wake.raise()
        }
    }

    private func lookAgain(at moment: Timestamp) { nextLookAt = min(nextLookAt ?? moment, moment) }

    // MARK: What came of it

    private func learn(_ ended: Ended) throws(StorageError) {
        running[ended.job.query] = nil
        let now = engine.clock.now()
        let report = try ended.result.get()
        var circuit = circuits[ended.origin] ?? circuit()
        if report.outcome == .offline || report.wasNotHeard(since: ended.startedAt) {
            circuit.notHeard(now: now)
        } else if circuit.heard() {
            // R32: the origin is back: what waited for it goes now.
            notBefore = [:]
        }
        circuits[ended.origin] = circuit
        Counter(label: "pagecache_background_runs_total", dimensions: [("outcome", report.outcome.rawValue)]).increment()
        // A list that does not stand still, or whose source answers nothing, is not asked for without a pause.
        notBefore[ended.job.query] = report.outcome == .complete ? nil : now + engine.options.sync.retry.base
    }

    // MARK: Waiting

    /// Returns when there is a reason to look again: a commit, a run that ended, a moment that has come.
    private func wait() async {
        let (clock, moment, wake) = (engine.clock, nextLookAt, wake)
        await withTaskGroup(of: Void.self) { race in
            race.addTask { await wake.wait() }
            if let moment { race.addTask { try? await clock.sleep(until: moment) } }
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
