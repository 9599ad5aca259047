import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport

/// One life of a store that several processes share. Each process has a list with observers and loads, and background
/// work. The processes are killed and restarted, clocks are set, and the origin changes and fails throughout.
///
/// *Safety*: Every commit is inspected (R5, G1). Every shown state was true at one moment (R39). No process requests a
/// page that another process is requesting (R30), or a page that is held (R31). No answer on a bad day removes items
/// (G6).
///
/// *Liveness*: The changes and faults stop. Background work alone then makes every due retry, finishes an interrupted
/// sweep, and leaves no lease (G3).
struct EngineSimulation {
    let life: Simulation

    private var plan: OriginPlan { life.plan }
    private var mode: Simulation.Mode { life.mode }
    private var seed: UInt64 { life.seed }
    private var trace: (@Sendable (String) -> Void)? { life.trace }

    /// Longer than the sum of all pauses between the attempts of a page, plus the pause of the circuit.
    private static let aWhile = Duration.seconds(300)

    private typealias World = SimulatedProcess.World

    func run(
        in storage: any PageStorage, _ clock: EventClock, on executor: any TaskExecutor
    ) async throws -> Simulation.Outcome {
        var random = SeededGenerator(seed: seed ^ 0xe461e)
        let key = QueryKey("simulated")
        let latency = Duration.milliseconds(Int.random(in: 0...3, using: &random) * 700)
        let origin = SimulatedOrigin(plan, clock: clock, latency: .zero...latency)
        let leases = LeaseWitness(storage)
        let isOrdinary = plan.kind == .ordinary
        let watched = WatchedStorage(leases, in: life, mostSteps: isOrdinary ? 20_000 : 200_000) { storage, query in
            try await Inspection.findings(in: storage, query, origin)
        }
        // Positions may be requested twice where the list changes, and where its total must be verified.
        let isStill = plan.events.isEmpty && plan.identity == .ids && [.exact, .none].contains(plan.totals)
        let isCalm = isStill && plan.behaviour == OriginBehaviour()
        let asked =
            Int.random(in: 0..<5, using: &random) < 2 ? Int.random(in: 1...2 * plan.pageSize, using: &random) : nil
        let log = RequestLog(isCalm: isCalm, fullPage: max(1, min(asked ?? plan.usualSize, plan.usualSize)))
        let dark = DarkSource(TracedSource(origin, clock, trace))
        // The ration ends a process that would otherwise request forever at one moment of the simulated time.
        let rationed = RationedSource(dark, requests: 1_000 + 100 * (plan.count / plan.usualSize + 1))
        let world = World(
            key: key, storage: WitnessedStorage(watched, key: key), origin: origin,
            source: isOrdinary ? dark : rationed, requests: log, clock: clock, executor: executor, trace: trace)

        var life = Life(world: world, plan: plan, asked: asked, random: random, isCalm: isCalm)
        for _ in 0..<Int.random(in: 1...3, using: &life.random) { life.begin() }
        for _ in 0..<Int.random(in: 6...24, using: &life.random) {
            try await life.step()
            if !watched.findings.isEmpty || !life.findings.isEmpty || !log.findings.isEmpty || !leases.findings.isEmpty
            {
                break
            }
            // In a third of the steps no time passes, so that calls overlap.
            if Int.random(in: 0..<3, using: &life.random) > 0 {
                try await clock.sleep(for: .seconds(Double.random(in: 0...90, using: &life.random)))
            }
        }
        life.wake()
        var outcome = Simulation.Outcome()
        outcome.violations = watched.findings + life.findings + log.findings
        if mode == .liveness, outcome.violations.isEmpty {
            origin.cancelEvents()
            // The lives in the other mode check for invented items.
            watched.isWatching = false
            outcome.violations += try await settled(&life, watched)
            if outcome.violations.isEmpty, isOrdinary, seed % 4 == 1 {
                outcome.violations += try await restarted(&life, dark)
            }
        }
        outcome.violations += try await ended(&life)
        if life.staysWhole, mode == .safety { outcome.violations += log.repeated }
        // The list never changed, so no answer on a bad day may have removed items (G6).
        let lost = world.storage.lost
        let isComparable = plan.behaviour.order == .stable && !plan.behaviour.shufflesMembers
        if isStill, isComparable, !origin.hasSeen(["shortPage.skipped"]), !lost.isEmpty {
            outcome.violations.append("G6: items of the origin that were served are gone: \(lost.prefix(5))")
        }
        outcome.requests = origin.usage.requests
        if rationed.isSpent { outcome.violations.insert("G4: more than \(outcome.requests) requests", at: 0) }
        if !isOrdinary {
            outcome.violations = outcome.violations.map { $0.contains("\(plan)") ? $0 : "\($0); \(plan)" }
        }
        outcome.violations += leases.findings
        outcome.hits = life.hits
        outcome.hits.merge(leases.hits, uniquingKeysWith: +)
        if isCalm { outcome.hits["G6 calm", default: 0] += 1 }
        for (name, count) in origin.occurrences { outcome.hits["origin.\(name)", default: 0] += count }
        return outcome
    }

    // MARK: Liveness

    /// Returns the violations of background work while the origin is quiet and answers.
    private func settled(_ life: inout Life, _ watched: WatchedStorage) async throws -> [String] {
        let world = life.world
        if life.processes.isEmpty { life.begin() }
        // A running reset would remove the pin.
        for _ in 0..<60 where life.processes.contains(where: { $0.openCalls > 0 }) {
            try await world.clock.sleep(for: .seconds(10))
        }
        try await life.pin()
        for process in life.processes { process.work(life.engineOptions) }
        try await world.clock.sleep(for: EngineSimulation.aWhile)
        var wrong: [String] = []
        let overdue = try await world.storage.due(within: .seconds(-180), limit: 16).fetches
        wrong += overdue.map { "R28: a due retry was not made: \($0.entry)" }
        let expectation = plan.expectation(length: world.origin.length, size: plan.usualSize)
        if plan.identity == .ids, expectation.outcomes == ["complete"],
            let record = try await world.storage.query(world.key),
            let list = try await world.storage.outline(of: record.id), !list.isComplete, !list.isAtResultWindow,
            !list.failures.contains(where: { $0.state == .failedPermanent })
        {
            wrong.append(
                "a pinned list is incomplete: \(list.coverage.count) of \(world.origin.items.count), \(list.record.total), end \(String(describing: list.record.end)), \(list.ledger)"
            )
        }
        // A sweep that is interrupted must be finished in the background.
        let dying = life.begin()
        let sweep = life.sweepOptions
        dying.call("sweep") { _ in
            _ = try await dying.sync(sweep)
            return nil
        }
        try await world.clock.sleep(for: .milliseconds(Int.random(in: 0...4_000, using: &life.random)))
        life.kill(dying)
        try await world.clock.sleep(for: EngineSimulation.aWhile)
        // A sweep that stopped at a page with a permanent failure is left to explicit calls (R33).
        if let record = try await world.storage.query(world.key), let sweep = record.sweep, !record.allowsDuplicates,
            let list = try await world.storage.outline(of: record.id),
            !list.failures.contains(where: { $0.offset == sweep.position && $0.state == .failedPermanent })
        {
            wrong.append("R31: an interrupted sweep is not finished: \(sweep)")
        }
        // A final sweep proves the contents, including all parts that background work left to their freshness.
        var last: SyncReport?
        for _ in 0..<3 {
            guard let process = life.processes.first, wrong.isEmpty else { break }
            let report = try await process.sync(sweep)
            last = report
            if report.state?.record.sweep == nil, try await differences(world, report).isEmpty { break }
        }
        wrong += watched.findings + life.findings
        wrong += try await differences(world, last)
        if wrong.isEmpty, plan.kind != .ordinary || self.life.isStrict, let process = life.processes.first {
            var options = sweep
            options.work = .everything
            wrong += try await Inspection.surprises(
                world.storage, world.key, world.origin, try await process.sync(options))
        }
        return wrong
    }

    /// Returns how the list differs from the expected list of a quiet origin (G3).
    private func differences(_ world: World, _ report: SyncReport?) async throws -> [String] {
        guard plan.kind != .ordinary else {
            return try await Inspection.differences(world.storage, world.key, world.origin, plan, report)
        }
        guard let record = try await world.storage.query(world.key) else { return [] }
        let held = try await Inspection.held(world.storage, record.id)
        let expectation = plan.expectation(length: world.origin.length, size: plan.usualSize)
        return expectation.difference(held, world.origin).map { ["G3: the list differs from a quiet origin: \($0)"] }
            ?? []
    }

    // MARK: End of the life

    /// Stops all processes. Returns a violation for each call that never returns, and for each page still in flight
    /// (R30).
    private func ended(_ life: inout Life) async throws -> [String] {
        let world = life.world
        var wrong: [String] = []
        for process in life.processes {
            process.lookAway()
            await process.rest()
        }
        var patience = 0
        while life.processes.contains(where: { $0.openCalls > 0 }), patience < 120 {
            patience += 1
            try await world.clock.sleep(for: .seconds(60))
        }
        if let stuck = life.processes.first(where: { $0.openCalls > 0 }) {
            wrong.append("X14: \(stuck.openCalls) calls of process \(stuck.number) never returned")
        }
        if let record = try await world.storage.query(world.key),
            let list = try await world.storage.outline(of: record.id)
        {
            let now = world.clock.now()
            for entry in list.ledger where entry.state == .inFlight {
                // Dead processes leave leases behind, which expire.
                guard let end = entry.leaseExpiresAt, end > now, !life.hasKilled(within: .seconds(180)) else {
                    continue
                }
                wrong.append("R30: still in flight at the end: \(entry)")
            }
        }
        for process in life.dead { await process.bury() }
        for process in life.processes { await process.bury() }
        return wrong
    }
}
