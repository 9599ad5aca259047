import Foundation
import PagedRepositoryTesting
import Simulation

// Runs lives against a simulated origin from the command line, and measures the cost of reconciling; see CONTRIBUTING.
var arguments = Array(CommandLine.arguments.dropFirst())

// The order of sets and dictionaries decides the order of service, so a repeated life needs deterministic hashing.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    var words = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &words)
}

func usage() -> Never {
    print(
        """
        usage: Simulator runs|engine safety|liveness FIRST [LAST] [--kind KIND|each] [--strict] [--all]
                                            lives; one alone is told in full, and made as small as it can be
                 --kind KIND                of this kind of origin: \(OriginKind.allCases.map(\.rawValue).joined(separator: ", "))
                 --kind each                of all kinds, equally often
                 --strict                   ordinary lives are held to the expected outcome, too
                 --server                   on the server that PAGECACHE_TEST_POSTGRES names
                 --all                      to the last seed, whatever goes wrong; a line for each kind at the end
               Simulator catch FIRST LAST   all of them, until the first failure: exit 0 when there is one
               Simulator all [SEEDS]        all that must go well, with so many lives of runs a mode (1,000)
               Simulator known              the lives that are known to go wrong, and how each goes now
               Simulator economy            what reconciling costs, as a table
        """)
    exit(64)
}

/// Removes a flag from the arguments. Returns true when the flag was present.
func takeFlag(_ name: String, of arguments: inout [String]) -> Bool {
    guard let index = arguments.firstIndex(of: name) else { return false }
    arguments.remove(at: index)
    return true
}

func takeKinds(of arguments: inout [String]) -> Campaign.Kinds {
    guard let index = arguments.firstIndex(of: "--kind") else { return .only(.ordinary) }
    guard index + 1 < arguments.count else { usage() }
    let name = arguments[index + 1]
    arguments.removeSubrange(index...index + 1)
    if name == "each" { return .each }
    guard let kind = OriginKind(rawValue: name) else { usage() }
    return .only(kind)
}

let kinds = takeKinds(of: &arguments)
let isStrict = takeFlag("--strict", of: &arguments)
let isOnServer = takeFlag("--server", of: &arguments)
let takesAll = takeFlag("--all", of: &arguments)

switch arguments.first {
case "all":
    guard let seeds = arguments.count < 2 ? 1_000 : UInt64(arguments[1]) else { usage() }
    let failures = try await Campaign.all(seeds: seeds)
    for failure in failures { print(failure) }
    exit(failures.isEmpty ? 0 : 1)
case "economy":
    try await Economy.print()
case "known":
    for life in Campaign.knownRed {
        let outcome = try await Campaign(seeds: 0..<0).live(life.simulation)
        print("\(life.kind.rawValue) \(life.seed): \(outcome.violations.first ?? "passes")")
    }
case "catch":
    guard arguments.count == 3, let first = UInt64(arguments[1]), let last = UInt64(arguments[2]) else { usage() }
    // Runs 250 seeds of each combination at a time, because some bugs appear in only one kind of life.
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
        for kind in Campaign.provenKinds + [.long] {
            let few = start / 10..<start / 10 + 25
            let report = try await Campaign(seeds: few, kinds: .only(kind)).run(.liveness, stopAfter: 1)
            guard let failure = report.failures.first else { continue }
            print("\(kind.rawValue), " + failure.prefix { $0 != "\n" })
            exit(0)
        }
    }
    exit(1)
case "runs", "engine":
    guard let subject = Simulation.Subject(rawValue: arguments[0]), arguments.count >= 3,
        let mode = Simulation.Mode(rawValue: arguments[1]), let first = UInt64(arguments[2])
    else { usage() }
    var campaign = Campaign(seeds: first..<first + 1, subject: subject, kinds: kinds)
    campaign.isStrict = isStrict
    campaign.isOnServer = isOnServer
    if arguments.count == 3 { exit(try await tell(campaign.simulation(first, mode), in: campaign)) }
    guard let last = UInt64(arguments[3]), last >= first else { usage() }
    campaign.seeds = first..<last + 1
    if takesAll { campaign.shrinksAtMost = 0 }
    let started = Date()
    let report = try await campaign.run(mode, stopAfter: takesAll ? .max : 5)
    print(report.table)
    if takesAll {
        print(report.sortTable())
        print(report.kindTable())
    } else {
        for failure in report.failures { print(failure) }
    }
    print(
        "\(subject.rawValue), \(mode.rawValue): \(report.lives) lives, \(report.failures.count) failures, \(Int(Date().timeIntervalSince(started))) s"
    )
    exit(report.failures.isEmpty ? 0 : 1)
default:
    usage()
}

/// Runs one life and prints its trace. A life that fails is shrunk first.
func tell(_ simulation: Simulation, in campaign: Campaign) async throws -> Int32 {
    var simulation = simulation
    // A life that never ends must print its trace while it runs.
    if ProcessInfo.processInfo.environment["PAGECACHE_TRACE"] != nil { simulation.trace = { print($0) } }
    let outcome = try await campaign.live(simulation)
    if !outcome.violations.isEmpty { simulation = try await campaign.shrink(simulation, outcome).0 }
    print(simulation.plan)
    simulation.trace = { print($0) }
    let told = try await campaign.live(simulation)
    print(told.violations.isEmpty ? "no violation" : told.violations.joined(separator: "\n"))
    return told.violations.isEmpty ? 0 : 1
}
