public import PageModel
import PagedRepository
public import PagedRepositoryTesting
import StorageSupport

/// One life of a cached list: synchronization runs against an origin that changes and fails between any two requests.
///
/// *Safety*: Every commit is inspected (R5, G1), and so are the served items after every run (G6).
///
/// *Liveness*: The changes and faults stop. One completed sweep then makes the cache equal to the origin within a
/// bounded number of requests (G3).
public struct Simulation: Sendable {
    public enum Mode: String, Sendable, CaseIterable {
        case safety, liveness
    }

    /// The kind of work in a life.
    public enum Subject: String, Sendable, CaseIterable {
        /// Runs of `ListSync`, one after the other or two concurrently.
        case runs
        /// Processes with lists and background work: see `EngineSimulation`.
        case engine
    }

    public var plan: OriginPlan
    public var mode: Mode
    public var subject: Subject
    /// The seed of all decisions about the runs, independent of the plan, so that a smaller plan has the same runs.
    public var seed: UInt64
    /// Receives each request, answer and commit as a line.
    public var trace: (@Sendable (String) -> Void)?

    /// Whether an ordinary life must also reach the outcome of `OriginExpectation`. Lives of other kinds always must.
    public var isStrict = false

    public init(seed: UInt64, mode: Mode, subject: Subject = .runs, kind: OriginKind = .ordinary) {
        self.seed = seed
        self.mode = mode
        self.subject = subject
        plan = OriginPlan(seed: seed, kind: kind)
        // Where the list does not change, repeated requests (R30, R31) and lost items (G6) are distinguishable from
        // necessary ones.
        if subject == .engine, kind == .ordinary, seed % 5 == 3 {
            plan.events = []
            plan.totals = .exact
        }
    }

    public struct Outcome: Sendable {
        /// The violations, in words. An empty array means success.
        public var violations: [String] = []
        /// The number of times that each rule and each fault occurred.
        public var hits: [String: Int] = [:]
        public var requests = 0
    }

    /// - Parameters:
    ///   - storage: The storage of the list, on the same clock.
    ///   - clock: The clock of all parts of the life.
    ///   - executor: The executor of the life and of the processes that are killed in it.
    public func run(
        in storage: any PageStorage, clock: ManualClock, on executor: any TaskExecutor = globalConcurrentExecutor
    ) async throws -> Outcome {
        guard plan.kind == .ordinary else {
            return try await KindLife(self, in: storage, clock: clock, on: executor).run()
        }
        var random = SeededGenerator(seed: seed ^ 0x5eed)
        var outcome = Outcome()
        let origin = SimulatedOrigin(plan, clock: clock)
        let source = TracedSource(origin, clock, trace)
        let leases = LeaseWitness(storage)
        let watched = WatchedStorage(leases, in: self) { storage, query in
            try await Inspection.findings(in: storage, query, origin)
        }
        let key = QueryKey("simulated")
        var reports: [SyncReport] = []
        var apart = SeededGenerator(seed: seed ^ 0x1ea5e)
        // A separate generator draws this, so that other lives stay unchanged.
        let isForgetful = apart.next() % 4 == 0
        func sync(crowd: Int = 1, _ change: (inout SyncOptions) -> Void) async throws {
            var options = SyncOptions()
            options.reportsActions = trace != nil
            // Some runs wait for every retry, and others leave the retries to a later run.
            if mode == .liveness || random.next() % 2 == 0 { options.retryWaitBudget = .seconds(600) }
            change(&options)
            let luck = random.next()
            clock.advance(by: .seconds(Int.random(in: 1...120, using: &random)))
            source.answers.restart()
            // Like two processes on one store: each makes plans, and the store decides whose plan is still valid (R4).
            let storage: any PageStorage = crowd > 1 && isForgetful ? BriefLeases(storage: watched) : watched
            await withTaskGroup(of: Result<SyncReport, StorageError>.self) { group in
                for member in 0..<UInt64(crowd) {
                    group.addTask { [options, trace] in
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
                    let report: SyncReport
                    switch result {
                    case .success(let some): report = some
                    case .failure(let error):
                        // A run may give up after it has lost every race to a run that never waits. A later run may
                        // succeed.
                        let mayLose = crowd > 1 && isForgetful && error.code == .busy
                        if mayLose {
                            outcome.hits["R4 gave up", default: 0] += 1
                        } else {
                            outcome.violations.append("a run ended with an error: \(error)")
                        }
                        continue
                    }
                    reports.append(report)
                    trace?(
                        "run: \(options.work), pages \(options.maxPages ?? -1): \(report.outcome) \(report.reconciliation) \(report.warnings)"
                    )
                    outcome.count(report, clock)
                    if crowd == 1, plan.totals == .exact, let finding = source.answers.finding(report, options, origin)
                    {
                        outcome.violations.append(finding)
                    }
                }
            }
            if crowd > 1 { outcome.hits["R4 two at once", default: 0] += 1 }
            if crowd > 1, isForgetful { outcome.hits["R4 two at once without leases", default: 0] += 1 }
        }

        // Most callers leave the page size to the origin. Some request a smaller or a larger page than the origin
        // returns.
        let asked =
            Int.random(in: 0..<5, using: &random) < 2 ? Int.random(in: 1...2 * plan.pageSize, using: &random) : nil
        var dead: [(crash: Crash, process: Task<Void, Never>)] = []
        /// Makes a run in a process that is killed after a number of calls. Its leases expire.
        func die(after calls: Int, _ change: (inout SyncOptions) -> Void) async {
            var options = SyncOptions()
            options.reportsActions = trace != nil
            change(&options)
            let luck = random.next()
            clock.advance(by: .seconds(Int.random(in: 1...120, using: &random)))
            let crash = Crash(after: calls)
            let sync = ListSync(
                storage: DoomedStorage(storage: watched, crash: crash),
                source: DoomedSource(source: source, crash: crash), key: key,
                options: options, clock: clock, jitter: { Double(luck >> 11) / Double(1 << 53) })
            let (executor, trace) = (executor, trace)
            let process = Task(executorPreference: executor) {
                _ = try? await sync.run(tracing: trace)
                crash.survived()
            }
            dead.append((crash, process))
            await crash.over()
            trace?("run: \(options.work): killed after \(calls) calls")
            outcome.hits["R31 killed", default: 0] += 1
        }

        var runs = 0
        while runs < 12, runs < 3 || !origin.isQuiet {
            runs += 1
            let before = try await good(watched, key, origin)
            let changesBefore = origin.occurrences
            let kind = Int.random(in: 0..<12, using: &random)
            let place = Int.random(in: 0...max(plan.count, 1), using: &random)
            let pages = Int.random(in: 1...12, using: &random)
            let concurrency = Int.random(in: 0..<3, using: &random) == 0 ? 4 : 1
            let crowd = Int.random(in: 0..<4, using: &random) == 0 ? 2 : 1
            let dies = Int.random(in: 0..<6, using: &random) == 0
            let calls = Int.random(in: 0...60, using: &random)
            func describe(_ options: inout SyncOptions) {
                options.pageSize = asked
                options.concurrency = concurrency
                switch kind {
                case 0: options.work = .refresh
                case 1: options.work = .sweep
                case 2: options.work = .next
                case 3: options.work = .positions(place..<place + 3 * plan.pageSize)
                default: break
                }
                if kind < 6 { options.maxPages = pages }
            }
            if dies { await die(after: calls, describe) } else { try await sync(crowd: crowd, describe) }
            outcome.violations += watched.findings
            if let lost = try await lost(before, changesBefore, watched, key, origin) {
                outcome.violations.append(lost)
            }
            guard outcome.violations.isEmpty else { break }
        }
        if mode == .liveness, outcome.violations.isEmpty {
            origin.cancelEvents()
            let before = origin.usage.requests
            try await sync { $0.pageSize = asked }
            outcome.violations += watched.findings
            // Where totals are correct, a list that is reported as complete is as long as the origin's list.
            if plan.totals == .exact, plan.identity == .ids, ![.cursor, .link].contains(plan.style),
                reports.last?.outcome == .complete,
                let count = reports.last?.state?.holdings?.held.count, count != origin.items.count
            {
                outcome.violations.append("G2: a run reports complete with \(count) of \(origin.items.count) items")
            }
            // A list without comparable items is read again only after a reset. Here it must only hold no false item.
            for _ in 0..<3 {
                try await sync { options in
                    options.pageSize = asked
                    options.work = .sweep
                }
                outcome.violations += watched.findings
                if let record = try await watched.query(key), record.sweep == nil,
                    try await isEqual(watched, key, origin)
                {
                    break
                }
            }
            outcome.requests = origin.usage.requests - before
            outcome.violations += try await Inspection.differences(watched, key, origin, plan, reports.last)
            if isStrict, outcome.violations.isEmpty {
                try await sync { $0.pageSize = asked }
                outcome.violations += try await Inspection.surprises(watched, key, origin, reports.last)
            }
            let size = min(asked ?? plan.usualSize, plan.usualSize)
            let pages = origin.items.count / max(1, size - 1) + 1
            if plan.identity == .ids, outcome.violations.isEmpty, outcome.requests > 8 * pages + 60 {
                outcome.violations.append("G4: \(outcome.requests) requests for \(pages) pages")
            }
        }
        for (crash, process) in dead {
            crash.bury()
            await process.value
        }
        outcome.violations += leases.findings
        outcome.hits.merge(leases.hits, uniquingKeysWith: +)
        outcome.hits["R4 superseded"] = watched.superseded
        outcome.hits["R1 stored together"] = watched.storedTogether
        outcome.hits["R4 refused together"] = watched.refusedTogether
        outcome.hits["R30 leased with a commit"] = watched.leasedWithCommits
        for (name, count) in origin.occurrences { outcome.hits["origin.\(name)", default: 0] += count }
        return outcome
    }

    private func served(_ storage: any PageStorage, _ key: QueryKey) async throws -> [RawItem] {
        guard let record = try await storage.query(key) else { return [] }
        return try await Inspection.readable(storage, record.id)
    }

    /// Returns the items that a run may not lose. After a change of the list, items in doubt give way to the items
    /// fetched at their positions.
    private func good(_ storage: any PageStorage, _ key: QueryKey, _ origin: SimulatedOrigin) async throws -> [RawItem]
    {
        guard let record = try await storage.query(key) else { return [] }
        let isStill = origin.lastChange == 0
        return isStill
            ? try await Inspection.readable(storage, record.id) : try await Inspection.held(storage, record.id)
    }

    /// Returns the lost items as a violation. An item that was served and is still at the origin is still served,
    /// unless the list was proven to be another (G6).
    private func lost(
        _ before: [RawItem], _ hits: [String: Int], _ storage: any PageStorage, _ key: QueryKey,
        _ origin: SimulatedOrigin
    ) async throws -> String? {
        // Repeated ids, and items without ids, are not distinguishable. An item that moved past the read positions
        // looks like a deleted one. So does an item that the origin's own cursor skips.
        let unseen = ["resort", "replaceAll", "move", "shortPage.skipped"]
        guard plan.identity == .ids, !origin.hasSeen(unseen) else { return nil }
        // These cursors are positions in the list. After a change of the list they skip items.
        if [.cursor, .link].contains(plan.style), origin.hasSeen(["delete", "insert", "append"]) { return nil }
        // A list that changes during a run may lose an item between two answers, until the next run has seen both.
        guard ["delete", "insert", "append"].allSatisfy({ origin.occurrences[$0] == hits[$0] }) else { return nil }
        // While a changed list is read, the fetched items replace the items in doubt one by one (R19).
        let record = try await storage.query(key)
        let list = if let record { try await storage.outline(of: record.id) } else { ListOutline?.none }
        guard let list, list.pages.count == list.heldPages.count,
            list.gaps.isEmpty || origin.lastChange == 0
        else { return nil }
        // A total that lags behind an insert implies that the last item is gone. Page one explains that change and is
        // believed (R17).
        var items = origin.items[...]
        if case .lagging = plan.totals, let told = list.record.total.exactCount { items = items.prefix(told) }
        let there = Set(items.compactMap(\.id))
        let now = Set(try await served(storage, key).compactMap(\.id))
        let lost = before.compactMap(\.id).filter { there.contains($0) && !now.contains($0) }
        return lost.isEmpty ? nil : "G6: items of the origin that were served are gone: \(lost.prefix(5))"
    }

    private func isEqual(_ storage: any PageStorage, _ key: QueryKey, _ origin: SimulatedOrigin) async throws -> Bool {
        guard let record = try await storage.query(key) else { return false }
        return try await Inspection.held(storage, record.id) == origin.items
    }
}

extension Simulation.Outcome {
    /// Counts the rules that a run has exercised.
    fileprivate mutating func count(_ report: SyncReport, _ clock: ManualClock) {
        func hit(_ rule: String) { hits[rule, default: 0] += 1 }
        switch report.reconciliation {
        case .unchanged: hit("R16 confirmed")
        case .shifted: hit("R17 the head explains it")
        case .repaired: hit("R18 bisected")
        case .replaced: hit("R19 replaced")
        case .spliced: hit("R22 spliced")
        case .staleTail: hit("R22 stale tail")
        case .swept: hit("R23 swept")
        case .firstLoad: hit("first load")
        case .resumed: hit("R31 resumed")
        case .none: hit("no answer")
        }
        for warning in report.warnings {
            if warning.contains("shrunk") { hit("R20 a shrunken list confirmed") }
            if warning.contains("counts") { hit("R20 a total corrected") }
            if warning.contains("repeats item ids") { hit("R25 repeated ids noticed") }
            if warning.contains("cursor") { hit("R22 a cursor rejected") }
            if warning.contains("kept changing") { hit("R21 a list that keeps changing") }
        }
        if clock.slept.contains(.seconds(2)) { hit("R20 requested once more") }
        if report.driftsDetected > 0 { hit("R21 drift seen while loading") }
        if report.state?.record.end != nil { hit("R24 the end found") }
    }
}

/// Random numbers from a seed, for a closure that is called from time to time.
final class SeededRandom: Sendable {
    private let random: Locked
    init(seed: UInt64) { random = Locked(seed) }
    func next() -> Double { random.next() }
}
