import Foundation
import Simulation
import Testing

@Suite("A simulated origin")
struct SimulationTests {
    private static let seeds = ProcessInfo.processInfo.environment["PAGECACHE_SEEDS"].flatMap { UInt64($0) } ?? 1_000

    @Test("whatever the origin does, nothing is made up, nothing is held twice, nothing good is lost; once it is quiet, a sweep leaves the list as it is there", arguments: Simulation.Mode.allCases)
    func lives(mode: Simulation.Mode) async throws {
        // Different seeds for the two: 2,000 lives in the short form.
        let first = mode == .safety ? 0 : SimulationTests.seeds
        let report = try await Campaign(seeds: first..<first + SimulationTests.seeds).run(mode)
        for failure in report.failures { Issue.record("\(failure)") }
        // Seeds that exercise nothing prove nothing.
        for rule in Campaign.rules {
            #expect(report.hits[rule, default: 0] >= Int(SimulationTests.seeds) / 500, "\(rule) was hardly met")
        }
        print("simulation, \(mode.rawValue): \(report.lives) lives\n\(report.table)")
    }
}
