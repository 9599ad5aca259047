// A store on a PostgreSQL server: the targets of Documentation/Fleet.md. `Scripts/fleet-bench` starts the server, runs this
// program and pgbench next to it.
//
//     FleetBenchmark ADDRESS [--rows] [--quick] [PART …]     parts: commits leases reads notices idle
//     FleetBenchmark ADDRESS --commit SCHEMA                  five commits of one list, for the log of the server
//
// Clients of `commits` and `leases` are tasks of this process, each with a list of its own.
import Foundation
import Measuring
import PostgresPageStore

let words = Array(CommandLine.arguments.dropFirst())
guard let address = words.first, address.contains("=") || address.contains("://") else {
    throw Unexpected("usage: FleetBenchmark ADDRESS [--rows] [--quick] [PART …]")
}
if words.count == 3, words[1] == "--commit" {
    try await Commits.once(address, schema: words[2])
    exit(0)
}
let isQuick = words.contains("--quick")
let named = words.dropFirst().filter { !$0.hasPrefix("--") }
let seconds = isQuick ? 2.0 : 10
for part in named.isEmpty ? ["commits", "leases", "reads", "notices", "idle"] : Array(named) {
    switch part {
    case "commits":
        for clients in [1, 4, 8] { try await Commits.run(address, clients: clients, seconds: seconds) }
    case "leases":
        for clients in [1, 4, 8] { try await Leases.run(address, clients: clients, seconds: seconds) }
    case "reads": try await Reads.run(address, rounds: isQuick ? 2_000 : 20_000)
    case "notices": try await Notices.run(address, rounds: isQuick ? 100 : 1_000)
    case "idle": try await Idle.run(address, seconds: isQuick ? 10 : 60)
    default: throw Unexpected("no part is called \(part)")
    }
}
