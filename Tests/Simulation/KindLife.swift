import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport

/// One life of a cached list whose origin is of a special kind. The first part of the life depends on the kind. The
/// origin is then quiet, and the outcome must match `OriginExpectation`.
///
/// *Safety*: Every commit is inspected (R5, G1). A run that reports `complete` holds the origin's items, as far as a
/// run can know. The held items of a list that never changed stay held.
///
/// *Liveness*: Within five runs the list equals the origin's list and the outcome is the expected one. No mark of
/// repeated ids is left.
///
/// *Economy*: No run takes more requests than its kind allows.
final class KindLife {
    let life: Simulation
    let storage: WatchedStorage
    let origin: SimulatedOrigin
    let source: RationedSource
    let clock: ManualClock
    let key = QueryKey("simulated")
    var random: SeededGenerator
    var outcome = Simulation.Outcome()
    /// The page size that runs request. `nil` leaves the size to the origin.
    var asked: Int?
    /// The answers of the present run.
    let answers: RunAnswers
    private let leases: LeaseWitness
    private let executor: any TaskExecutor
    private let isForgetful: Bool
    private var dead: [(crash: Crash, process: Task<Void, Never>)] = []

    var plan: OriginPlan { life.plan }
    var expectation: OriginExpectation {
        plan.expectation(length: origin.length, size: answeredSize)
    }

    /// The number of items of a full page of an answer. By page number the origin ignores the requested size.
    private var answeredSize: Int {
        plan.style == .page ? plan.usualSize : max(min(asked ?? plan.usualSize, plan.largestPage), 1)
    }

    init(_ life: Simulation, in storage: any PageStorage, clock: ManualClock, on executor: any TaskExecutor) {
        self.life = life
        self.clock = clock
        self.executor = executor
        let origin = SimulatedOrigin(life.plan, clock: clock)
        self.origin = origin
        let traced = TracedSource(origin, clock, life.trace)
        answers = traced.answers
        let learns = [.sprouting, .hidden].contains(life.plan.kind)
        source = RationedSource(learns ? LearningSource(traced, life.plan) : traced, requests: 0)
        leases = LeaseWitness(storage)
        // An inspection of a long list after every commit takes longer than the rest of the life.
        let isWatched = ![.long, .large].contains(life.plan.kind) || life.seed.isMultiple(of: 8)
        self.storage = WatchedStorage(isWatched ? leases as any PageStorage : storage, in: life, mostSteps: 30_000) {
            storage, query in
            try await Inspection.findings(in: storage, query, origin)
        }
        random = SeededGenerator(seed: life.seed ^ 0x4b1d)
        isForgetful = random.next() % 4 == 0
        asked = drawnSize()
        self.storage.isWatching = isWatched
    }

    /// Draws the page size that callers request. Where items are hidden, it is at least the plan's size, because an
    /// empty page would look like the end.
    func drawnSize() -> Int? {
        guard ![.feed, .long, .large, .window].contains(plan.kind) else { return nil }
        guard number(0...4) < 2 else { return nil }
        return number((plan.kind == .hidden ? plan.pageSize : 1)...2 * plan.pageSize)
    }

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    func run() async throws -> Simulation.Outcome {
        try await prelude()
        if life.mode == .liveness, outcome.violations.isEmpty { try await settled() }
        for (crash, process) in dead {
            crash.bury()
            await process.value
        }
        if outcome.violations.isEmpty { outcome.violations += leases.findings }
        outcome.hits.merge(leases.hits, uniquingKeysWith: +)
        for (name, count) in origin.occurrences { outcome.hits["origin.\(name)", default: 0] += count }
        outcome.hits["kind.\(plan.kind.rawValue)"] = 1
        return outcome
    }

    // MARK: Runs

    /// Makes one run, or several concurrent ones. Returns the last report.
    ///
    /// - Parameter crowd: The number of concurrent runs.
    @discardableResult
    func sync(
        crowd: Int = 1, after pause: Duration? = nil, _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> SyncReport? {
        var options = SyncOptions()
        options.reportsActions = life.trace != nil
        options.retryWaitBudget = .seconds(600)
        options.pageSize = asked
        change(&options)
        let luck = random.next()
        clock.advance(by: pause ?? .seconds(number(1...120)))
        let storage: any PageStorage = crowd > 1 && isForgetful ? BriefLeases(storage: storage) : storage
        let before = try await observedState()
        source.refill(crowd * ration(options))
        self.storage.restart()
        answers.restart()
        var reports: [SyncReport] = []
        await withTaskGroup(of: Result<SyncReport, StorageError>.self) { group in
            for member in 0..<UInt64(crowd) {
                group.addTask { [options, source, key, clock, trace = life.trace] in
                    let chance = SeededRandom(seed: luck ^ member)
                    let sync = ListSync(
                        storage: storage, source: source, key: key, options: options, clock: clock,
                        jitter: { chance.next() })
                    do throws(StorageError) { return .success(try await sync.run(tracing: trace)) } catch {
                        return .failure(error)
                    }
                }
            }
            for await result in group {
                switch result {
                case .success(let report): reports.append(report)
                // A run may give up after it has lost every race to a run that never waits. A later run may succeed.
                case .failure(let error) where crowd > 1 && isForgetful && error.code == .busy: break
                case .failure(let error):
                    if self.storage.findings.isEmpty { find("a run ended with an error: \(error)") }
                }
            }
        }
        for report in reports {
            life.trace?(
                "run: \(options.work), pages \(options.maxPages ?? -1), size \(options.pageSize ?? -1): \(report.outcome) \(report.reconciliation), \(origin.usage.requests - before.requests) requests, \(report.warnings)"
            )
        }
        try await look(before, options, crowd == 1 ? reports.first : nil)
        return reports.last
    }

    /// Makes a run in a process that is killed after a number of calls. Its leases expire.
    func die(after calls: Int, _ change: (inout SyncOptions) -> Void) async {
        var options = SyncOptions()
        options.reportsActions = life.trace != nil
        options.pageSize = asked
        change(&options)
        let luck = random.next()
        clock.advance(by: .seconds(number(1...120)))
        source.refill(ration(options))
        let crash = Crash(after: calls)
        let sync = ListSync(
            storage: DoomedStorage(storage: storage, crash: crash),
            source: DoomedSource(source: source, crash: crash), key: key, options: options, clock: clock,
            jitter: { Double(luck >> 11) / Double(1 << 53) })
        let trace = life.trace
        let process = Task(executorPreference: executor) {
            _ = try? await sync.run(tracing: trace)
            crash.survived()
        }
        dead.append((crash, process))
        await crash.over()
        life.trace?("run: \(options.work): killed after \(calls) calls")
        outcome.hits["R31 killed", default: 0] += 1
    }

    /// Returns a number of requests that no run may exceed.
    private func ration(_ options: SyncOptions) -> Int { 12 * pages(options.pageSize) + 120 }

    /// Returns the number of requests that read the list once.
    func pages(_ asked: Int?) -> Int {
        let size = plan.access == .offsets ? min(asked ?? plan.usualSize, plan.usualSize) : plan.usualSize
        let step = max(1, min(size, asked ?? size) - (plan.access == .offsets ? 1 : plan.behaviour.overlap))
        return (max(origin.length, plan.count) + step - 1) / step + 1
    }
}
