import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport

/// The events in a life of several processes, step by step, drawn from its seed.
struct Life {
    let world: SimulatedProcess.World
    let plan: OriginPlan
    /// The page size that all processes request. `nil` leaves the size to the origin.
    let asked: Int?
    var random: SeededGenerator
    /// Whether this life sets wall clocks. Leases may then end early, and pages may be requested twice (R29).
    let setsClocks: Bool
    /// Whether no item was removed on purpose, so that held items stay held.
    private(set) var staysWhole: Bool
    /// Whether processes sleep past the ends of their leases. A separate generator draws this and the clocks, so that
    /// other lives stay unchanged.
    private let sleeps: Bool
    /// Whether the clocks of the processes are an hour apart (R52).
    private let hasOwnClocks: Bool
    private var apart: SeededGenerator
    /// The duration of leases. In some lives an answer takes longer, so that leases must be renewed (R30).
    private let lease: Duration?
    private(set) var processes: [SimulatedProcess] = []
    private(set) var dead: [SimulatedProcess] = []
    private var begun = 0
    private var lastDeath: Duration?
    private var ownHits: [String: Int] = [:]

    init(world: SimulatedProcess.World, plan: OriginPlan, asked: Int?, random: SeededGenerator, isCalm: Bool) {
        self.world = world
        self.plan = plan
        self.asked = asked
        self.random = random
        var copy = random
        apart = SeededGenerator(seed: copy.next() ^ 0x51ee9)
        let isSleeper = apart.next() % 4 == 0
        sleeps = isSleeper || plan.kind == .clocks
        hasOwnClocks = apart.next() % 3 == 0
        setsClocks = self.random.next() % 4 == 0
        lease = plan.kind == .ordinary && plan.seed % 7 == 2 ? .milliseconds(900) : nil
        staysWhole = isCalm
        if setsClocks {
            staysWhole = false
            world.requests.stopCounting()
        }
    }

    var findings: [String] { (processes + dead).flatMap(\.findings) }

    var hits: [String: Int] {
        (processes + dead).reduce(into: ownHits) { $0.merge($1.hits, uniquingKeysWith: +) }
    }

    func hasKilled(within duration: Duration) -> Bool {
        lastDeath.map { world.clock.passed - $0 < duration } ?? false
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func hit(_ rule: String) { ownHits[rule, default: 0] += 1 }

    // MARK: Processes

    @discardableResult
    mutating func begin() -> SimulatedProcess {
        begun += 1
        var options = PagedListOptions()
        options.sync.pageSize = asked
        if let lease {
            options.sync.lease = lease
            hit("R30 short leases")
        }
        options.sync.concurrency = number(0...2) == 0 ? 4 : 1
        options.automaticRetry = number(0...1) == 0 ? .never : .perLedger
        options.prefetchDistance = number(0...2)
        let difference = hasOwnClocks ? [Duration.zero, .seconds(3_600), .seconds(-3_600)][begun % 3] : .zero
        if difference != .zero { hit("R52 clocks an hour apart") }
        let process = SimulatedProcess(
            begun, in: world, options: options, seed: random.next(), clockIsOffBy: difference)
        processes.append(process)
        return process
    }

    mutating func kill(_ process: SimulatedProcess) {
        process.kill()
        processes.removeAll { $0 === process }
        dead.append(process)
        lastDeath = world.clock.passed
    }

    /// Wakes all processes.
    func wake() { for process in processes + dead { process.suspension.end() } }

    /// Suspends the machine of one process for a while. Its leases end meanwhile.
    private mutating func fallAsleep(_ process: SimulatedProcess) {
        hit("R30 slept")
        staysWhole = false
        world.requests.stopCounting()
        process.sleep(for: .seconds(Int.random(in: 20...200, using: &apart)))
    }

    var engineOptions: EngineOptions {
        var options = EngineOptions()
        options.sync.pageSize = asked
        if let lease { options.sync.lease = lease }
        return options
    }

    var sweepOptions: SyncOptions {
        var options = SyncOptions()
        options.work = .sweep
        options.pageSize = asked
        if let lease { options.lease = lease }
        return options
    }

    mutating func pin() async throws {
        let record = try await world.storage.register(world.key)
        try await world.storage.setPinned(true, record.id)
    }

    // MARK: Steps

    /// Makes one random event happen.
    mutating func step() async throws {
        guard let process = processes.randomElement(using: &random) else { return _ = begin() }
        if sleeps, apart.next() % 6 == 0, !process.suspension.isAsleep { fallAsleep(process) }
        let position = number(0...max(plan.count, 1))
        switch number(0...29) {
        case 0...2:
            let policy = LoadPolicy.allCases[number(0...LoadPolicy.allCases.count - 1)]
            process.call("load \(policy)") { try await $0.load(policy) }
        case 3...4: process.call("refresh") { try await $0.refresh() }
        case 5...8: process.call("load next") { try await $0.loadNext() }
        case 9:
            process.call("appeared \(position)") { list in
                await list.prefetch(from: position)
                return nil
            }
        case 10: process.call("load all") { try await $0.loadAll() }
        case 11: process.call("retry") { try await $0.retry() }
        case 12...13:
            let (key, count) = (world.key, number(0...20))
            let policy = LoadPolicy.allCases[number(0...LoadPolicy.allCases.count - 1)]
            process.call("page \(position)+\(count) \(policy)") { _ in
                _ = try await process.repository.page(key, offset: position, limit: count, policy: policy)
                return nil
            }
        case 14...16:
            if process.isWorking, !process.suspension.isAsleep {
                await process.rest()
            } else if !process.isWorking {
                process.work(engineOptions)
            }
        case 17...19:
            if process.isLooking { process.lookAway() } else { process.look() }
        case 20...22:
            kill(process)
            begin()
        case 23:
            process.call("invalidate") { list in
                try await list.invalidate()
                return nil
            }
        case 24:
            if let record = try await world.storage.query(world.key) {
                try await world.storage.setPinned(!record.isPinned, record.id)
            }
        case 25: process.cancelCalls()
        case 26 where setsClocks:
            hit("R29 clocks set")
            world.clock.set(by: .seconds(number(-90_000...90_000)))
        case 27: try await takeAway(process)
        default: break
        }
    }

    /// Removes some of the held items on purpose.
    private mutating func takeAway(_ process: SimulatedProcess) async throws {
        guard number(0...1) == 0 else { return }
        staysWhole = false
        world.requests.stopCounting()
        switch number(0...2) {
        case 0:
            hit("R38 reset")
            process.call("reset") { list in
                try await list.reset()
                return nil
            }
        case 1:
            hit("R41 purged elsewhere")
            guard let record = try await world.storage.query(world.key) else { return }
            _ = try await world.storage.purge([record.id])
        default:
            hit("R40 evicted")
            _ = try await world.storage.evict(to: EvictionBudget(bytes: number(0...2_000)), exempt: [])
        }
    }
}
