import Foundation
import PagedRepositoryTesting
import Simulation
import Testing

/// A share of the lives: the optimised `Simulator all` runs ten times as many in the same time, in `make test` and CI.
@Suite("A simulated origin")
struct SimulationTests {
    private static let seeds = ProcessInfo.processInfo.environment["PAGECACHE_SEEDS"].flatMap { UInt64($0) } ?? 100

    @Test(
        "whatever the origin does, nothing is made up, nothing is held twice, nothing good is lost; once it is quiet, a sweep leaves the list as it is there",
        arguments: Simulation.Mode.allCases)
    func lives(mode: Simulation.Mode) async throws {
        report(try await Campaign.run(.runs, mode, seeds: SimulationTests.seeds))
    }

    @Test(
        "several processes, killed and begun again: every item shown was true, no page is fetched twice at once; once the origin is quiet, background work fetches everything",
        arguments: Simulation.Mode.allCases)
    func processes(mode: Simulation.Mode) async throws {
        report(try await Campaign.run(.engine, mode, seeds: Campaign.engines(SimulationTests.seeds)))
    }

    @Test("what page one explains takes one request, and one change anywhere what halving takes (G4)")
    func economy() async throws {
        #expect(try await Economy.findings() == [])
    }

    @Test("each kind of origin comes to its outcome, with what it shows", arguments: Campaign.provenKinds)
    func kinds(kind: OriginKind) async throws {
        report(try await Campaign.run(kind, seeds: Campaign.ofEachKind(SimulationTests.seeds)))
    }

    @Test("lives that once went wrong go well", arguments: Campaign.kept + Campaign.mended)
    func kept(life: Campaign.Life) async throws {
        #expect(try await Campaign.run(life) == [], "\(life)")
    }

    private func report(_ report: Campaign.Report) {
        for failure in report.failures { Issue.record("\(failure)") }
    }
}
