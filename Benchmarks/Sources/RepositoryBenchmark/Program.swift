import Foundation
import Measuring

/// The lists above the store, relative to what they cannot do without: raw reads of the same pages, the decoder alone,
/// streams of nothing.
///
///     RepositoryBenchmark [--rows] [--quick] [PART …]      parts: snapshots decoding lists large-lists engine observers
///
/// Each part runs in a process of its own, so that none finds in memory what another left there; `--alone PART` runs
/// one in this process, for a profiler. Times are medians; only the ratios mean something elsewhere.
@main
enum Program {
    enum Part: String, CaseIterable {
        case snapshots
        case decoding
        case lists
        case largeLists = "large-lists"
        case engine
        case observers
    }

    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        let isQuick = words.contains("--quick")
        switch words.first {
        case "--fill": try await ManyLists.fill(Array(words.dropFirst()))
        case "--loop": try await ManyLists.loop(Array(words.dropFirst()))
        case "--alone": for part in try parts(words) { try await run(part, isQuick) }
        default:
            let parts = try parts(words)
            Figure.header()
            let form = words.filter { ["--quick", "--rows"].contains($0) }
            for part in parts { try await Child.run(["--alone", part.rawValue] + form) }
        }
    }

    private static func run(_ part: Part, _ isQuick: Bool) async throws {
        switch part {
        case .snapshots: try await Snapshots.run(rounds: isQuick ? 400 : 4_000)
        case .decoding: try await Decoding.run(rounds: isQuick ? 60 : 600)
        case .lists: try await ManyLists.run(Label.self, count: isQuick ? 1_000 : 10_000)
        case .largeLists: try await ManyLists.run(Product.self, count: isQuick ? 1_000 : 10_000)
        case .engine: try await IdleEngine.run(seconds: isQuick ? 3 : 10, rounds: isQuick ? 10 : 50)
        case .observers:
            for count in [1, 100, isQuick ? 1_000 : 10_000] {
                try await Observers.run(count, rounds: isQuick ? 20 : 100)
            }
        }
    }

    /// The parts that are named; all of them, when none is.
    private static func parts(_ words: [String]) throws -> [Part] {
        let named = try words.filter { !["--quick", "--rows", "--alone"].contains($0) }.map { word in
            guard let part = Part(rawValue: word) else {
                throw Unexpected(
                    "no part is called \(word); there are: \(Part.allCases.map(\.rawValue).joined(separator: " "))")
            }
            return part
        }
        return named.isEmpty ? Part.allCases : named
    }
}
