// A page of JSON into items, their ids and their exact bytes, relative to what it costs to decode and encode the same items
// again, and relative to a parser that only makes a tree of them. All three in turn in one process, so that what the machine
// does meanwhile happens to each.
//
//     SplitBenchmark [--rows] [ROUNDS]
//
// Times are medians in microseconds. Ends with 1 when the page of 50 × 500 B takes more than 100 µs, or any page is not
// five times as fast as decoding and encoding. With SPLIT_PRINT_ONLY in the environment it only prints.
import Foundation
import Measuring

let rounds = CommandLine.arguments.dropFirst().compactMap { Int($0) }.first ?? 300
let isStrict = ProcessInfo.processInfo.environment["SPLIT_PRINT_ONLY"] == nil

let pages = try [
    Page("50 × 500 B", items: 50, bytes: 500, limit: 100),
    Page("50 × 500 B, id last", items: 50, bytes: 500, limit: 100, hasIDLast: true),
    Page("500 × 200 B", items: 500, bytes: 200),
    Page("10 × 20 KB", items: 10, bytes: 20_000),
]
Comparison.header()
var isMet = true
for page in pages {
    let comparison = try Comparison(page, rounds: rounds)
    comparison.print()
    isMet = isMet && comparison.isMet
}
if !isMet {
    if !Row.areAsked { print("missed: at most 100 µs for 50 × 500 B, and five times as fast as decoding and encoding") }
    if isStrict && !Row.areAsked { exit(1) }
}
