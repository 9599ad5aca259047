// The store relative to the C limit: the same work on the same layout, alternating in one process, so that what the machine
// does meanwhile happens to both.
//
//     StoreBenchmark [--rows] [--quick | --long] [--pages N] [--commits-only] [PART …]
//     StoreBenchmark --prepare DIRECTORY
//
// Parts: pages lists upkeep sizes queries growth readers. `--pages` is how many pages the parts pages and queries have,
// and twice what lists has (default 4,000); `--commits-only` ends the first part early, for a profiler. `--prepare`
// only makes both stores, with a list of 1,000 pages, for processes that start cold. Times are medians in microseconds;
// only the ratios mean something elsewhere.
import Foundation
import Measuring
import SideBySide

let words = Array(CommandLine.arguments.dropFirst())
if words.first == "--prepare", words.count == 2 {
    try await TwoStores.prepare(in: words[1])
    exit(0)
}
if words.first == "--write", words.count == 2 { try await Readers.write(in: words[1]) }
let isQuick = words.contains("--quick")
let pages =
    words.firstIndex(of: "--pages").flatMap { Int(words[min($0 + 1, words.count - 1)]) } ?? (isQuick ? 1_000 : 4_000)
let named = words.filter { !$0.hasPrefix("--") && Int($0) == nil }
let parts = named.isEmpty ? ["pages", "lists", "upkeep", "sizes", "queries", "growth", "readers"] : named

for part in parts {
    switch part {
    case "pages": try await Pages.run(pages: pages, commitsOnly: words.contains("--commits-only"))
    // Ratios of a shift are asked for with 100,000 items; the other work does not mind.
    case "lists": try await Lists.run(pages: max(pages / 2, 1_000))
    case "upkeep": try await Upkeep.run(rounds: isQuick ? 2 : 5)
    case "sizes": try await Sizes.run(isQuick: isQuick)
    case "queries": try await Sizes.spread(pages: pages)
    case "growth":
        let sizes = [100_000, 1_000_000, 10_000_000]
        try await Growth.run(items: Array(sizes.prefix(isQuick ? 1 : words.contains("--long") ? 3 : 2)))
    case "readers": try await Readers.run(rounds: isQuick ? 3_000 : 20_000)
    default: throw Unexpected("no part is called \(part)")
    }
}
