import PageModel
import PageStore
import PagedRepositoryTesting
import Foundation

/// Many lives, some of them in SQLite; the first that goes wrong is made as small as it can be.
public struct Campaign: Sendable {
    public var seeds: Range<UInt64>
    /// Every so many seeds are run in a SQLite store instead of in memory.
    public var sqliteEvery: UInt64 = 10

    public init(seeds: Range<UInt64>) { self.seeds = seeds }

    public struct Report: Sendable {
        public var hits: [String: Int] = [:]
        /// A line for each seed that failed, with what to type to see it again.
        public var failures: [String] = []
        public var lives = 0

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
                        let simulation = Simulation(seed: seed, mode: mode)
                        let outcome = try await live(simulation)
                        report.lives += 1
                        report.hits.merge(outcome.hits, uniquingKeysWith: +)
                        if !outcome.violations.isEmpty { report.failures.append(try await describe(simulation, outcome)) }
                    }
                    return report
                }
            }
            return try await group.reduce(into: Report()) { whole, part in
                whole.hits.merge(part.hits, uniquingKeysWith: +)
                whole.failures += part.failures
                whole.lives += part.lives
            }
        }
    }

    /// One life, in the storage that its seed is for.
    public func live(_ simulation: Simulation) async throws -> Simulation.Outcome {
        guard simulation.seed % sqliteEvery == sqliteEvery - 1 else {
            return try await SeededExecutor.run(seed: simulation.seed, waitsForOthers: false) { executor in
                try await simulation.run(in: MemoryStorage(), on: executor)
            }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pagecache-life-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try await PageStore.open(
            at: "\(folder)/store.sqlite", mode: .createIfMissing, now: Timestamp(milliseconds: 1_800_000_000_000))
        let outcome = try await SeededExecutor.run(seed: simulation.seed, waitsForOthers: true) { executor in
            try await simulation.run(in: store, on: executor)
        }
        await store.close()
        return outcome
    }

    private func describe(_ simulation: Simulation, _ outcome: Simulation.Outcome) async throws -> String {
        let (small, violations) = try await shrink(simulation, outcome)
        return """
            seed \(simulation.seed), \(simulation.mode.rawValue): \(violations.first ?? "")
              again: swift run Simulator \(simulation.mode.rawValue) \(simulation.seed)
              the smallest that fails: \(small.plan)
            """
    }

    /// Simpler plans that still fail, as long as there are any.
    public func shrink(_ simulation: Simulation, _ outcome: Simulation.Outcome) async throws -> (Simulation, [String]) {
        var best = (simulation, outcome.violations)
        var tries = 0
        search: while tries < 300 {
            for plan in best.0.plan.smaller {
                tries += 1
                guard tries < 300 else { break search }
                var smaller = best.0
                smaller.plan = plan
                let outcome = try await live(smaller)
                guard !outcome.violations.isEmpty else { continue }
                best = (smaller, outcome.violations)
                continue search
            }
            break
        }
        return best
    }
}

extension Campaign {
    /// What a campaign must have met to prove anything.
    public static let rules = [
        "R16 confirmed", "R17 the head explains it", "R18 bisected", "R19 replaced", "R20 asked once more", "R20 a total corrected",
        "R21 drift seen while loading", "R22 spliced", "R23 swept", "R24 the end found", "R25 repeated ids noticed", "R31 resumed",
        "R22 a cursor rejected", "R4 two at once", "R31 killed", "origin.insert", "origin.delete", "origin.move", "origin.edit", "origin.resort",
        "origin.replaceAll", "origin.append", "origin.fault.transport", "origin.fault.timeout", "origin.fault.429",
        "origin.fault.500", "origin.fault.503", "origin.cursorExpired", "origin.emptyAnswer", "origin.emptyMinute", "origin.shortPage", "origin.304",
        "origin.304.totalChanged", "origin.pastEnd", "origin.clamped", "origin.sizeIgnored", "origin.lag", "origin.capped", "origin.estimated",
        "origin.zero", "origin.tooLow", "origin.tooHigh",
    ]
}
