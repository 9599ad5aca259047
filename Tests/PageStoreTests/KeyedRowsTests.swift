import PageModel
import Testing

@testable import PageStore

@Suite("Reading rows around damage")
struct KeyedRowsTests {
    /// Keys, and ranges of keys in which every seek and every step fails.
    private struct Tree {
        var keys: [Int64]
        var damaged: [ClosedRange<Int64>]

        func read(_ range: Range<Int64> = 0..<1 << 40) throws -> (
            values: [Int64], holes: [KeyedRows<Int64>.Hole], scans: Int
        ) {
            var rows = KeyedRows<Int64>()
            var scans = 0
            let ascending: KeyedRows<Int64>.Scan = { (range, visit) throws(StorageError) in
                scans += 1
                var position = range.lowerBound
                while position < range.upperBound {
                    if damaged.contains(where: { $0.contains(position) }) { throw StorageError(.damaged, "here") }
                    let next = (
                        keys.first { $0 >= position } ?? .max,
                        damaged.first { $0.lowerBound >= position }?.lowerBound ?? .max
                    )
                    if next.1 < next.0, next.1 < range.upperBound { throw StorageError(.damaged, "here") }
                    guard next.0 < range.upperBound else { return }
                    visit(next.0, next.0)
                    position = next.0 + 1
                }
            }
            let descending: KeyedRows<Int64>.Scan = { (range, visit) throws(StorageError) in
                scans += 1
                var position = range.upperBound - 1
                while position >= range.lowerBound {
                    if damaged.contains(where: { $0.contains(position) }) { throw StorageError(.damaged, "here") }
                    let next = (
                        keys.last { $0 <= position } ?? .min,
                        damaged.last { $0.upperBound <= position }?.upperBound ?? .min
                    )
                    if next.1 > next.0, next.1 >= range.lowerBound { throw StorageError(.damaged, "here") }
                    guard next.0 >= range.lowerBound else { return }
                    visit(next.0, next.0)
                    position = next.0 - 1
                }
            }
            try rows.read(range, ascending: ascending, descending: descending)
            let (values, holes) = rows.finish()
            return (values, holes, scans)
        }
    }

    private func keys(_ count: Int, without damaged: [ClosedRange<Int64>]) -> [Int64] {
        (0..<Int64(count)).map { $0 * 20 }.filter { key in !damaged.contains { $0.contains(key) } }
    }

    @Test("One scan reads an intact tree, and reports no hole")
    func intact() throws {
        let found = try Tree(keys: keys(500, without: []), damaged: []).read()
        #expect(found.values == keys(500, without: []))
        #expect(found.holes.isEmpty)
        #expect(found.scans == 1)
    }

    @Test(
        "One damaged range is one hole between its neighbours, at any position",
        arguments: [0, 200, 5_000, 9_600] as [Int64])
    func oneStretch(at start: Int64) throws {
        let damaged = [start...start + 399]
        let found = try Tree(keys: keys(500, without: damaged), damaged: damaged).read()
        #expect(found.values == keys(500, without: damaged))
        #expect(
            found.holes == [.init(after: start == 0 ? nil : start - 20, before: start == 9_600 ? nil : start + 400)])
        #expect(found.scans <= 2 + 2 * 512)
    }

    @Test("Readable rows between damaged ranges are found")
    func manyStretches() throws {
        let damaged: [ClosedRange<Int64>] = [0...399, 800...1_199, 3_000...3_399, 3_800...4_199, 9_600...9_999]
        let expected = keys(500, without: damaged)
        let found = try Tree(keys: expected, damaged: damaged).read()
        #expect(found.values == expected)
        #expect(found.holes.count == 5)
    }

    @Test("A key that does not ascend leaves a hole on both sides, and its row is returned once")
    func disorder() {
        var rows = KeyedRows<String>()
        for (key, value) in [(0, "a"), (20, "b"), (20, "b"), (60, "d")] as [(Int64, String)] { rows.add(key, value) }
        #expect(rows.isTreeDamaged)
        let (values, holes) = rows.finish()
        #expect(values == ["a", "b", "d"])
        #expect(holes == [.init(after: 0, before: 20), .init(after: 20, before: 60)])
    }

    @Test("A row with a wrong checksum is a hole, and the tree does not count as damaged")
    func broken() {
        var rows = KeyedRows<String>()
        for (key, value) in [(0, "a"), (20, nil), (40, "c")] as [(Int64, String?)] { rows.add(key, value) }
        #expect(!rows.isTreeDamaged)
        let (values, holes) = rows.finish()
        #expect(values == ["a", "c"])
        #expect(holes == [.init(after: 0, before: 40)])
    }

    @Test("An error other than damage ends the read")
    func otherErrors() {
        var rows = KeyedRows<Int64>()
        let scan: KeyedRows<Int64>.Scan = { (_, _) throws(StorageError) in throw StorageError(.busy, "not now") }
        let error = #expect(throws: StorageError.self) { try rows.read(0..<10, ascending: scan, descending: scan) }
        #expect(error?.code == .busy)
    }
}
