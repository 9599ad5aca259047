import Foundation
import HTTPPageSource
import Measuring
import PageModel

/// One line of the table.
struct Comparison {
    /// How many times as fast as decoding and encoding splitting has to be.
    static let leastRatio = 5.0

    private let page: Page
    private let split: Double
    private let codable: Double
    private let tree: Double

    init(_ page: Page, rounds: Int) throws {
        self.page = page
        let (items, id) = (JSONPointer("/items")!, JSONPointer("/id")!)
        let (decoder, encoder, data) = (JSONDecoder(), JSONEncoder(), Data(page.body))
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var (ours, theirs, parsed): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<rounds {
            // Where items are not in order, or ids are missing, nothing was measured.
            var content = PageContent()
            ours.append(try microseconds { content = try JSONItems.split(page.body, at: items, id: id) })
            guard content.count == page.count, content.ids.last == "product-\(100_000 + page.count - 1)" else {
                throw Unexpected("\(page.count) items with their ids")
            }
            var encoded: [(Data, String)] = []
            theirs.append(
                try microseconds {
                    encoded = try decoder.decode(Answer.self, from: data).items.map { (try encoder.encode($0), $0.id) }
                })
            guard encoded.count == page.count else { throw Unexpected("\(page.count) items, decoded and encoded") }
            var root: Any?
            parsed.append(try microseconds { root = try JSONSerialization.jsonObject(with: data) })
            guard root is [String: Any] else { throw Unexpected("an object") }
        }
        (split, codable, tree) = (ours.median, theirs.median, parsed.median)
    }

    var isMet: Bool { codable / split >= Comparison.leastRatio && page.limit.map { split <= $0 } ?? true }

    static func header() {
        guard !Row.areAsked else { return }
        Swift.print(
            "page".left(22), ["bytes", "split + ids", "decode+encode", "ratio", "tree", "ratio"].map(right).joined())
    }

    func print() {
        guard !Row.areAsked else { return printRows() }
        let figures = [split, codable, codable / split, tree, tree / split].map { $0.shown(places: 1) }
        let verdict = isMet ? "  met" : "  missed"
        Swift.print(page.name.left(22), right(String(page.body.count)) + figures.map(right).joined() + verdict)
    }

    private func printRows() {
        for (who, time) in [
            ("pagecache", split), ("JSONDecoder and JSONEncoder", codable), ("JSONSerialization", tree),
        ] {
            Row(part: "a page of JSON into items, their ids and their bytes", what: page.name, who: who, time).print()
        }
    }
}

private func microseconds(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    return (ContinuousClock.now - start).microseconds
}

/// At least one space apart.
private func right(_ text: String) -> String { " " + text.right(14) }
