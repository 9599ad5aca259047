import PageModel
import PageStore
public import PagedRepositoryTesting
import Foundation
import StorageSupport

/// Runs many lives, some of them on SQLite, and shrinks the lives that fail.
public struct Campaign: Sendable {
    public var seeds: Range<UInt64>
    /// The seeds are divided into groups of this size. One seed of each group runs on a SQLite store instead of in
    /// memory.
    public var sqliteEvery: UInt64 = 10

    /// Whether all lives run on the test server.
    public var isOnServer = false
    /// The time at which no further life begins.
    public var end: ContinuousClock.Instant?

    public var subject: Simulation.Subject
    /// The kinds of origin of the lives.
    public var kinds: Kinds
    /// Whether ordinary lives must reach their `OriginExpectation`, too.
    public var isStrict = false
    /// The number of failures that each worker shrinks. Further failures are reported without shrinking.
    public var shrinksAtMost = 5

    /// The kinds of origin of a campaign's lives.
    public enum Kinds: Hashable, Sendable {
        /// Only this kind.
        case only(OriginKind)
        /// All kinds, equally often.
        case each
    }

    public init(seeds: Range<UInt64>, subject: Simulation.Subject = .runs, kinds: Kinds = .only(.ordinary)) {
        self.seeds = seeds
        self.subject = subject
        self.kinds = kinds
    }

    /// Returns the life of one seed.
    public func simulation(_ seed: UInt64, _ mode: Simulation.Mode) -> Simulation {
        let kind: OriginKind =
            switch kinds {
            case .only(let kind): kind
            case .each: OriginKind(drawnBy: seed)
            }
        var simulation = Simulation(seed: seed, mode: mode, subject: subject, kind: kind)
        simulation.isStrict = isStrict
        return simulation
    }

    public struct Report: Sendable {
        public var hits: [String: Int] = [:]
        /// A description of each failed life, with the command that repeats it.
        public var failures: [String] = []
        public var lives = 0
        /// The lives and failures of each kind, with the first violation of each failed life.
        public var kinds: [OriginKind: Tally] = [:]

        public struct Tally: Sendable {
            public var lives = 0
            public var failures = 0
            public var first: [(seed: UInt64, violation: String)] = []
        }

        public var table: String {
            hits.sorted { $0.key < $1.key }.map { "  \($0.key): \($0.value)" }.joined(separator: "\n")
        }
    }

    public func run(_ mode: Simulation.Mode, workers: Int = 2, stopAfter: Int = 5) async throws -> Report {
        try await withThrowingTaskGroup(of: Report.self) { group in
            for worker in 0..<UInt64(workers) {
                group.addTask {
                    var report = Report()
                    for seed in seeds where seed % UInt64(workers) == worker && report.failures.count < stopAfter {
                        if let end, ContinuousClock.now > end { break }
                        let simulation = simulation(seed, mode)
                        let outcome = try await live(simulation)
                        report.lives += 1
                        report.hits.merge(outcome.hits, uniquingKeysWith: +)
                        report.tally(simulation, outcome)
                        if !outcome.violations.isEmpty {
                            let isShrunk = report.failures.count < shrinksAtMost
                            report.failures.append(
                                isShrunk
                                    ? try await describe(simulation, outcome)
                                    : "seed \(seed), \(simulation.plan.kind.rawValue): \(outcome.violations[0])")
                        }
                    }
                    return report
                }
            }
            return try await group.reduce(into: Report()) { whole, part in
                whole.hits.merge(part.hits, uniquingKeysWith: +)
                whole.failures += part.failures
                whole.lives += part.lives
                whole.add(part.kinds)
            }
        }
    }

    /// Runs one life, in the storage that its seed selects.
    public func live(_ simulation: Simulation) async throws -> Simulation.Outcome {
        if isOnServer { return try await liveOnServer(simulation) }
        guard simulation.seed % sqliteEvery == sqliteEvery - 1 else {
            return try await live(simulation) { MemoryStorage(clock: $0) }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pagecache-life-\(UUID().uuidString)"
        ).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await live(simulation) { clock in
            try await SQLitePageStore.open(at: "\(folder)/store.sqlite", mode: .createIfMissing, clock: clock)
        }
    }

    private func liveOnServer(_ simulation: Simulation) async throws -> Simulation.Outcome {
        let (clock, manual) = (EventClock(), ManualClock())
        return try await withServerStorage(clock: simulation.subject == .runs ? manual : clock) { storage in
            try await live(simulation, in: CountedStorage(storage), clock, manual)
        }
    }

    /// - Parameter open: Opens the storage on the clock of the life.
    private func live(
        _ simulation: Simulation, in open: (any StorageClock) async throws -> any PageStorage
    ) async throws -> Simulation.Outcome {
        let (clock, manual) = (EventClock(), ManualClock())
        let storage = try await open(simulation.subject == .runs ? manual : clock)
        let counted = CountedStorage(storage)
        let outcome = try await live(simulation, in: counted, clock, manual)
        await (storage as? SQLitePageStore)?.close()
        return outcome
    }

    private func live(
        _ simulation: Simulation, in counted: CountedStorage, _ clock: EventClock, _ manual: ManualClock
    ) async throws -> Simulation.Outcome {
        let idle: @Sendable () -> SeededExecutor.Idleness = {
            if counted.isBusy { return .waitingForOthers }
            return clock.moveOn() ? .woken : .dead
        }
        do {
            return try await SeededExecutor.run(seed: simulation.seed, idle: idle) { executor in
                switch simulation.subject {
                case .runs:
                    try await simulation.run(in: counted, clock: manual, on: executor)
                case .engine:
                    try await EngineSimulation(life: simulation).run(in: counted, clock, on: executor)
                }
            }
        } catch let dead as SeededExecutor.Dead {
            var outcome = Simulation.Outcome()
            outcome.violations = ["\(dead)"]
            return outcome
        }
    }

    /// Returns the start of a violation, which names its rule: R5, G3, Outcome.
    private static func rule(_ violation: String) -> Substring { violation.prefix { $0 != ":" } }

    private func describe(_ simulation: Simulation, _ outcome: Simulation.Outcome) async throws -> String {
        let (small, violations) = try await shrink(simulation, outcome)
        let kind = simulation.plan.kind
        let option = (kind == .ordinary ? "" : " --kind \(kind.rawValue)") + (simulation.isStrict ? " --strict" : "")
        return """
            seed \(simulation.seed), \(simulation.subject.rawValue), \(simulation.mode.rawValue): \(outcome.violations.first ?? "")
              again: swift run Simulator \(simulation.subject.rawValue) \(simulation.mode.rawValue) \(simulation.seed)\(option)
              of the smallest that fails: \(violations.first ?? "")
              the smallest that fails: \(small.plan)
            """
    }

    /// Returns the simplest plan found that still breaks the same rule, with its violations, after at most about 300
    /// tries.
    public func shrink(_ simulation: Simulation, _ outcome: Simulation.Outcome) async throws -> (Simulation, [String]) {
        var best = (simulation, outcome.violations)
        let rule = Campaign.rule(outcome.violations.first ?? "")
        var tries = 0
        search: while tries < 300 {
            for plan in best.0.plan.smaller {
                tries += 1
                guard tries < 300 else { break search }
                var smaller = best.0
                smaller.plan = plan
                let outcome = try await live(smaller)
                let same = outcome.violations.filter { Campaign.rule($0) == rule }
                guard !same.isEmpty else { continue }
                best = (smaller, same)
                continue search
            }
            break
        }
        return best
    }
}
