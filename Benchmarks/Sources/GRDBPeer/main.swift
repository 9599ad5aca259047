// The same pages in GRDB: one row an item, keyed by list, page and place; as rows, and as Codable records. Alternating
// in one process, each with a file of its own.
//
//     GRDBPeer [--rows] [--quick]
//     GRDBPeer --prepare DIRECTORY | --cold DIRECTORY     1,000 pages, and a new process's way to the first of them
import Foundation
import GRDB
import Measuring

let words = Array(CommandLine.arguments.dropFirst())
switch words.first {
case "--prepare":
    let tables = RawRows(try Database.pool(at: words[1] + "/grdb.sqlite"))
    for number in 0..<1_000 { try tables.commit(Page(number), at: 0) }
case "--cold":
    print(try RawRows(try Database.pool(at: words[1] + "/grdb.sqlite")).page(at: 0))
default:
    try Workloads.run(pages: words.contains("--quick") ? 1_000 : 2_000)
}
