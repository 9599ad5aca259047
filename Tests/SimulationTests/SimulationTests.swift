import Foundation
import PagedRepositoryTesting
import Simulation
import StorageSupport
import Testing

/// Runs a share of the lives. In the same time, `make test` and CI run ten times as many with the optimized `Simulator
/// all`.
@Suite("Lives against a simulated origin", .serialized)
struct SimulationTests {
    private static let seeds = ProcessInfo.processInfo.environment["PAGECACHE_SEEDS"].flatMap { UInt64($0) } ?? 100

    @Test(
        "Under any origin, no item is invented, repeated or lost, and once the origin is quiet, a sweep makes the list equal",
        arguments: Simulation.Mode.allCases)
    func lives(mode: Simulation.Mode) async throws {
        report(try await Campaign.run(.runs, mode, seeds: SimulationTests.seeds))
    }

    @Test(
        "Killed and restarted processes show only true items and never fetch a page twice at once; once the origin is quiet, background work fetches everything",
        arguments: Simulation.Mode.allCases)
    func processes(mode: Simulation.Mode) async throws {
        report(try await Campaign.run(.engine, mode, seeds: Campaign.engines(SimulationTests.seeds)))
    }

    @Test("A change that page one explains takes one request, and one change anywhere takes as many as halving (G4)")
    func economy() async throws {
        #expect(try await Economy.findings() == [])
    }

    @Test("Each kind of origin reaches its expected outcome and contents", arguments: Campaign.provenKinds)
    func kinds(kind: OriginKind) async throws {
        report(try await Campaign.run(kind, seeds: Campaign.ofEachKind(SimulationTests.seeds)))
    }

    /// The time for each subject and mode, in seconds. The long form takes ten times as long.
    private static let secondsOnServer = Soak.isOn ? 150 : 15

    @Test(
        "The same lives hold with the storage on a server, as many as fit into a minute",
        .enabled(if: TestServer.isThere), arguments: Simulation.Subject.allCases, Simulation.Mode.allCases)
    func onServer(subject: Simulation.Subject, mode: Simulation.Mode) async throws {
        var campaign = Campaign(seeds: 0..<1_000_000, subject: subject)
        campaign.isOnServer = true
        // A life takes a second here, and the search for the smallest one that fails takes hundreds of lives.
        campaign.shrinksAtMost = 0
        campaign.end = .now + .seconds(SimulationTests.secondsOnServer)
        let report = try await campaign.run(mode)
        print("lives on the server, \(subject.rawValue), \(mode.rawValue): \(report.lives)")
        #expect(report.lives > 0)
        self.report(report)
    }

    @Test("Lives that once failed succeed", arguments: Campaign.kept + Campaign.fixed)
    func kept(life: Campaign.Life) async throws {
        #expect(try await Campaign.run(life) == [], "\(life)")
    }

    private func report(_ report: Campaign.Report) {
        for failure in report.failures { Issue.record("\(failure)") }
    }
}
