import Foundation
import PagedRepositoryTesting
import Simulation
import Testing

@Suite("A simulated origin")
struct SimulationTests {
    private static let seeds = ProcessInfo.processInfo.environment["PAGECACHE_SEEDS"].flatMap { UInt64($0) } ?? 1_000

    @Test(
        "whatever the origin does, nothing is made up, nothing is held twice, nothing good is lost; once it is quiet, a sweep leaves the list as it is there",
        arguments: Simulation.Mode.allCases)
    func lives(mode: Simulation.Mode) async throws {
        try await run(mode, .runs, seeds: SimulationTests.seeds)
    }

    @Test(
        "several processes, killed and begun again: what is shown was true, nobody asks twice; once the origin is quiet, background work brings everything in",
        arguments: Simulation.Mode.allCases)
    func processes(mode: Simulation.Mode) async throws {
        try await run(mode, .engine, seeds: max(300, SimulationTests.seeds / 4))
    }

    @Test("what page one explains takes one request, and one change anywhere what halving takes (G4)")
    func economy() async throws {
        #expect(try await Economy.findings() == [])
    }

    @Test("each kind of origin comes to its outcome, with what it shows", arguments: Campaign.provenKinds)
    func kinds(kind: OriginKind) async throws {
        let campaign = Campaign(seeds: 0..<max(40, SimulationTests.seeds / 20), kinds: .only(kind))
        for failure in try await campaign.run(.liveness).failures { Issue.record("\(failure)") }
    }

    @Test("lives that once went wrong go well", arguments: Campaign.kept + Campaign.mended)
    func kept(life: Campaign.Life) async throws {
        let outcome = try await Campaign(seeds: 0..<0).live(life.simulation)
        #expect(outcome.violations == [], "\(life)")
    }

    private func run(_ mode: Simulation.Mode, _ subject: Simulation.Subject, seeds: UInt64) async throws {
        // Different seeds for the two.
        let first = mode == .safety ? 0 : seeds
        let report = try await Campaign(seeds: first..<first + seeds, subject: subject).run(mode)
        for failure in report.failures { Issue.record("\(failure)") }
        // Seeds that exercise nothing prove nothing.
        for rule in Campaign.rules(of: subject) {
            #expect(report.hits[rule, default: 0] >= Int(seeds) / 500 + 1, "\(rule) was hardly met")
        }
        print("simulation, \(subject.rawValue), \(mode.rawValue): \(report.lives) lives\n\(report.table)")
    }
}
