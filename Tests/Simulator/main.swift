import Foundation
import Simulation

// Lives against a simulated origin, and what reconciling costs, from the command line; see CONTRIBUTING.
let arguments = Array(CommandLine.arguments.dropFirst())

// The order of sets and dictionaries decides who is served first: a life that is to be told again needs the same one.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    var words = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &words)
}

func usage() -> Never {
    print(
        """
        usage: Simulator runs|engine safety|liveness FIRST [LAST]
                                            lives; one alone is told in full, and made as small as it can be
               Simulator catch FIRST LAST   all of them, until the first failure: exit 0 when there is one
               Simulator economy            what reconciling costs, as a table
        """)
    exit(64)
}

switch arguments.first {
case "economy":
    try await Economy.print()
case "catch":
    guard arguments.count == 3, let first = UInt64(arguments[1]), let last = UInt64(arguments[2]) else { usage() }
    // A few hundred of each at a time: some bugs show in one kind of life only.
    if let finding = try await Economy.findings().first {
        print("Simulator economy: \(finding)")
        exit(0)
    }
    for start in stride(from: first, through: last, by: 250) {
        for subject in Simulation.Subject.allCases {
            for mode in Simulation.Mode.allCases {
                let report = try await Campaign(seeds: start..<min(start + 250, last + 1), subject: subject).run(
                    mode, stopAfter: 1)
                guard let failure = report.failures.first else { continue }
                print(String(failure.prefix { $0 != "\n" }))
                exit(0)
            }
        }
    }
    exit(1)
case "runs", "engine":
    guard let subject = Simulation.Subject(rawValue: arguments[0]), arguments.count >= 3,
        let mode = Simulation.Mode(rawValue: arguments[1]), let first = UInt64(arguments[2])
    else { usage() }
    if arguments.count == 3 { exit(try await tell(Simulation(seed: first, mode: mode, subject: subject))) }
    guard let last = UInt64(arguments[3]) else { usage() }
    let started = Date()
    let report = try await Campaign(seeds: first..<last + 1, subject: subject).run(mode)
    print(report.table)
    for failure in report.failures { print(failure) }
    print(
        "\(subject.rawValue), \(mode.rawValue): \(report.lives) lives, \(report.failures.count) failures, \(Int(Date().timeIntervalSince(started))) s"
    )
    exit(report.failures.isEmpty ? 0 : 1)
default:
    usage()
}

/// One life, told in full; when it goes wrong, the smallest that does.
func tell(_ simulation: Simulation) async throws -> Int32 {
    let campaign = Campaign(seeds: 0..<0)
    var simulation = simulation
    // One that never ends has to be told while it goes on.
    if ProcessInfo.processInfo.environment["PAGECACHE_TRACE"] != nil { simulation.trace = { print($0) } }
    let outcome = try await campaign.live(simulation)
    if !outcome.violations.isEmpty { simulation = try await campaign.shrink(simulation, outcome).0 }
    print(simulation.plan)
    simulation.trace = { print($0) }
    let told = try await campaign.live(simulation)
    print(told.violations.isEmpty ? "nothing went wrong" : told.violations.joined(separator: "\n"))
    return told.violations.isEmpty ? 0 : 1
}
