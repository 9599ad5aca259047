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
        let shelves: [any Shelf] = [
            RawRows(try Database.pool(at: directory + "/rows.sqlite")),
            CodableRecords(try Database.pool(at: directory + "/records.sqlite")),
        ]
        let (page, list) = ("one page of 50 × 500 B", "a list of \(pages * 50) items")
        try measure(page, "commit a page", shelves, rounds: pages, tellsMean: true) { shelf, round in
            let page = Page(round)
            return { try shelf.commit(page, at: 1) }
        }
        for (words, most) in [("any of all", pages), ("one of 50", 50)] {
            try measure(page, "read a page, \(words), own thread", shelves, rounds: 4_000) { shelf, _ in
                let place = Int.random(in: 0..<most) * 50
                return { try expect(try shelf.page(at: place) == 50) }
            }
        }
        try measure(page, "refresh, unchanged page", shelves, rounds: pages) { shelf, round in
            { try shelf.confirm(round * 50, at: 2) }
        }
        try measure(page, "refresh, changed page", shelves, rounds: pages) { shelf, round in
            let page = Page(round, edition: 1)
            return { try shelf.replace(page, at: 3) }
        }
        try measure(list, "a window of 100 items across 3 pages", shelves, rounds: 1_000) { shelf, _ in
            let start = Int.random(in: 0..<pages - 3) * 50 + 25
            return { try expect(try shelf.window(start..<start + 100) == 100) }
        }
        try measure(list, "ledger: a failure, first of its page", shelves, rounds: pages) { shelf, round in
            { try shelf.fail((pages + round) * 50, at: 4) }
        }
        // The index that would make this quick is an index on random ids: see the layouts in
        // Documentation/Performance.md.
        try measure(list, "find an item by its id", shelves, rounds: 10) { shelf, _ in
            let item = Int.random(in: 0..<pages * 50)
            return { try expect(try shelf.find("item-\(item)") == item) }
        }
    }

    /// - Parameters:
    ///   - tellsMean: whether the few that wait for the disk are told, too.
    ///   - work: a round for one of them; what it prepares is not in its time.
    private static func measure(
        _ part: String, _ what: String, _ shelves: [any Shelf], rounds: Int, tellsMean: Bool = false,
        _ work: (any Shelf, Int) -> () throws -> Void
    ) throws {
        var samples = shelves.map { _ in Samples() }
        for round in 0..<rounds {
            for (index, shelf) in shelves.enumerated() {
                let body = work(shelf, round)
                try samples[index].timeAtOnce(body)
            }
        }
        for (index, shelf) in shelves.enumerated() {
            let name = type(of: shelf).name
            if Measuring.Row.areAsked {
                Measuring.Row(part: part, what: what, who: name, samples[index]).print()
                if tellsMean { Measuring.Row(part: part, meanOf: what, who: name, samples[index]).print() }
            } else {
                print(what.left(44), name.left(14), samples[index].median.shown().right(10), "µs")
            }
        }
    }
}
