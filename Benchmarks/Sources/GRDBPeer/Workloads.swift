import Foundation
import GRDB
import Measuring

/// The work that is measured, in the words of the store's own benchmark, so that one table holds both.
enum Workloads {
    static func run(pages: Int) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("grdb-bench-\(UUID().uuidString)")
            .path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let variants: [any PageTables] = [
            RawRows(try Database.pool(at: directory + "/rows.sqlite")),
            CodableRecords(try Database.pool(at: directory + "/records.sqlite")),
        ]
        let (page, list) = ("one page of 50 × 500 B", "a list of \(pages * 50) items")
        try measure(page, "commit a page", variants, rounds: pages, tellsMean: true) { tables, round in
            let page = Page(round)
            return { try tables.commit(page, at: 1) }
        }
        for (words, most) in [("any of all", pages), ("one of 50", 50)] {
            try measure(page, "read a page, \(words), own thread", variants, rounds: 4_000) { tables, _ in
                let place = Int.random(in: 0..<most) * 50
                return { try expect(try tables.page(at: place) == 50) }
            }
        }
        try measure(page, "refresh, unchanged page", variants, rounds: pages) { tables, round in
            { try tables.confirm(round * 50, at: 2) }
        }
        try measure(page, "refresh, changed page", variants, rounds: pages) { tables, round in
            let page = Page(round, edition: 1)
            return { try tables.replace(page, at: 3) }
        }
        try measure(list, "a window of 100 items across 3 pages", variants, rounds: 1_000) { tables, _ in
            let start = Int.random(in: 0..<pages - 3) * 50 + 25
            return { try expect(try tables.window(start..<start + 100) == 100) }
        }
        try measure(list, "ledger: a failure, first of its page", variants, rounds: pages) { tables, round in
            { try tables.fail((pages + round) * 50, at: 4) }
        }
        // The index that would make this quick is an index on random ids: see the layouts in
        // Documentation/Performance.md.
        try measure(list, "find an item by its id", variants, rounds: 10) { tables, _ in
            let item = Int.random(in: 0..<pages * 50)
            return { try expect(try tables.find("item-\(item)") == item) }
        }
    }

    /// - Parameters:
    ///   - tellsMean: whether the few that wait for the disk are told, too.
    ///   - work: a round for one of them; what it prepares is not in its time.
    private static func measure(
        _ part: String, _ what: String, _ variants: [any PageTables], rounds: Int, tellsMean: Bool = false,
        _ work: (any PageTables, Int) -> () throws -> Void
    ) throws {
        var samples = variants.map { _ in Samples() }
        for round in 0..<rounds {
            for (index, tables) in variants.enumerated() {
                let body = work(tables, round)
                try samples[index].timeAtOnce(body)
            }
        }
        for (index, tables) in variants.enumerated() {
            let name = type(of: tables).name
            if Measuring.Row.areAsked {
                Measuring.Row(part: part, what: what, who: name, samples[index]).print()
                if tellsMean { Measuring.Row(part: part, meanOf: what, who: name, samples[index]).print() }
            } else {
                print(what.left(44), name.left(14), samples[index].median.shown().right(10), "µs")
            }
        }
    }
}
