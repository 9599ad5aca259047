import Foundation
import Simulation

// Simulator MODE FIRST [LAST]: lives against a simulated origin, from the command line; see CONTRIBUTING.
let arguments = CommandLine.arguments.dropFirst()
guard let mode = arguments.first.flatMap(Simulation.Mode.init(rawValue:)),
    let first = arguments.dropFirst().first.flatMap({ UInt64($0) })
else {
    print("usage: Simulator safety|liveness FIRST [LAST]")
    exit(64)
}
if arguments.count == 2 {
    // One life, told in full; then made small, and told again.
    var simulation = Simulation(seed: first, mode: mode)
    let outcome = try await Campaign(seeds: 0..<0).live(simulation)
    if !outcome.violations.isEmpty {
        simulation = try await Campaign(seeds: 0..<0).shrink(simulation, outcome).0
    }
    print(simulation.plan)
    simulation.trace = { print($0) }
    let told = try await Campaign(seeds: 0..<0).live(simulation)
    print(told.violations.isEmpty ? "nothing went wrong" : told.violations.joined(separator: "\n"))
    exit(told.violations.isEmpty ? 0 : 1)
}
let last = arguments.dropFirst(2).first.flatMap { UInt64($0) } ?? first
let started = Date()
let report = try await Campaign(seeds: first..<last + 1).run(mode)
print(report.table)
for failure in report.failures { print(failure) }
print("\(mode.rawValue): \(report.lives) lives, \(report.failures.count) failures, \(Int(Date().timeIntervalSince(started))) s")
exit(report.failures.isEmpty ? 0 : 1)
