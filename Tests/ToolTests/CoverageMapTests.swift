#if Tool
import PageModel
import Testing

@testable import pagecache

/// The map of a list: the state of each range, and its layout.
@Suite("The map of a list")
struct CoverageMapTests {
    private typealias State = CoverageMap.State

    private func map(_ list: ListOutline) -> CoverageMap { CoverageMap(of: list, now: Sample.now) }

    private func described(_ map: CoverageMap) -> [String] { map.stretches.map { "\($0.range) \($0.state.rawValue)" } }

    @Test("Pages are shown by age and evidence, and missing positions as gaps up to the known end")
    func states() {
        let pages = [
            Sample.page(0..<100), Sample.page(100..<200, age: .seconds(61)),
            Sample.page(200..<300, age: .seconds(61), evidence: .inferred),
            Sample.page(400..<450, evidence: .inferred),
        ]
        #expect(
            described(map(Sample.list(pages, total: .exact(500)))) == [
                "0..<100 fresh", "100..<200 stale", "200..<300 inferred", "300..<400 gap",
                // A page after a gap has no seam.
                "400..<450 fresh", "450..<500 gap",
            ])
    }

    @Test("Staleness follows the origin's freshness lifetime and invalidation")
    func freshness() {
        var list = Sample.list([Sample.page(0..<100, age: .seconds(300))], total: .exact(100), validated: .seconds(300))
        #expect(described(map(list)) == ["0..<100 stale"])
        list.record.freshFor = .seconds(600)
        #expect(described(map(list)) == ["0..<100 fresh"])
        #expect(WatchView().lines([list], columns: 200, rows: 24, now: Sample.now)[1].contains("fresh (5 min)"))
        list.record.invalidatedAt = Sample.now
        #expect(described(map(list)) == ["0..<100 stale"])
        #expect(WatchView().lines([list], columns: 200, rows: 24, now: Sample.now)[1].contains("stale (invalidated)"))
        #expect(list.freshnessText(now: Sample.now) == "stale (invalidated)")
    }

    @Test("Pages joined by the origin's own cursors are shown by age, because a sweep cannot verify them")
    func chained() {
        var pages = [
            Sample.page(0..<10), Sample.page(10..<20, evidence: .inferred),
            Sample.page(20..<30, age: .seconds(61), evidence: .inferred),
        ]
        for index in 1..<3 {
            pages[index - 1].cursorOut = PageCursor("\(index)")
            pages[index].cursorIn = PageCursor("\(index)")
        }
        #expect(described(map(Sample.list(pages, end: 30))) == ["0..<20 fresh", "20..<30 stale"])
    }

    @Test("A page joined from two is inferred, and a page of an older generation is old")
    func joinedAndOld() {
        let pages = [
            Sample.page(0..<10, generation: 2, seams: [InnerSeam(index: 5, since: Sample.now)]),
            Sample.page(10..<20, generation: 1),
        ]
        #expect(described(map(Sample.list(pages, end: 20, generation: 2))) == ["0..<10 inferred", "10..<20 old"])
    }

    @Test("A failure covers one page size from its position, up to the next known page")
    func failures() {
        let list = Sample.list(
            [Sample.page(0..<100), Sample.page(150..<250)], total: .exact(1_000),
            ledger: [Sample.failing(100), Sample.failing(250), Sample.failing(300), Sample.failing(600)])
        #expect(
            described(map(list)) == [
                "0..<100 fresh", "100..<150 failing", "150..<250 fresh", "250..<400 failing", "400..<600 gap",
                "600..<700 failing",
                "700..<1000 gap",
            ])
    }

    @Test("A held page that cannot be confirmed is failing, and so is page one of an empty list")
    func heldAndFailing() {
        #expect(
            described(map(Sample.list([Sample.page(0..<10)], end: 10, ledger: [Sample.failing(0)]))) == [
                "0..<10 failing"
            ])
        #expect(described(map(Sample.list([], validated: nil, ledger: [Sample.failing(0)]))) == ["0..<1 failing"])
    }

    @Test("An empty list has an empty map, and an unknown end is marked")
    func empty() {
        #expect(map(Sample.list([], end: 0)).length == 0)
        #expect(!map(Sample.list([], end: 0)).isOpen)
        #expect(map(Sample.list([Sample.page(0..<10)])).isOpen)
        #expect(!map(Sample.list([Sample.page(0..<10)], total: .exact(10))).isOpen)
    }

    @Test("Each cell shows the worst state in it, and the cells cover every position once")
    func cells() {
        let list = Sample.list(
            [Sample.page(0..<100), Sample.page(100..<200, age: .seconds(61)), Sample.page(210..<300)],
            total: .exact(305))
        let cells = map(list).cells(of: 50)
        #expect(cells.map(\.state) == [.fresh, .fresh, .stale, .stale, .gap, .fresh, .gap])
        #expect(cells.map(\.range.count) == [50, 50, 50, 50, 50, 50, 5])
    }

    @Test(
        "Cell sizes are round and as small as possible",
        arguments: [
            (0, 80, 1), (80, 80, 1), (81, 80, 2), (400, 80, 5), (401, 80, 10), (1_050, 80, 20),
            (1 << 53, 80, 200_000_000_000_000),
        ])
    func cellSize(length: Int, cells: Int, size: Int) {
        #expect(CoverageMap.cellSize(for: length, atMost: cells) == size)
    }

    @Test("An absurd total uses no more cells than fit (R44)")
    func hugeTotal() {
        let list = Sample.list([Sample.page(0..<100)], total: .exact(ListTotal.largest), ledger: [Sample.failing(100)])
        let lines = MapDrawing(map: map(list), width: 80).lines { $1 }
        #expect(lines.count < 30)
        #expect(lines.allSatisfy { $0.count < 80 })
    }

    @Test("The map fits any terminal, down to 20 columns", arguments: [20, 40, 80, 200])
    func widths(width: Int) {
        let pages = (0..<40).map {
            Sample.page($0 * 100..<$0 * 100 + 80, age: $0 % 2 == 0 ? .seconds(5) : .seconds(90))
        }
        let list = Sample.list(pages, total: .exact(4_100), ledger: [Sample.failing(80)])
        let lines = MapDrawing(map: map(list), width: width).lines { $1 }
        #expect(lines.allSatisfy { $0.count < width }, "\(lines.joined(separator: "\n"))")
        #expect(lines[0].contains("0 "))
    }

    @Test(
        "The map is legible without colour: each state has its own character, and the legend names the states present")
    func legend() {
        #expect(Set(State.allCases.map(\.character)).count == State.allCases.count)
        let list = Sample.list([Sample.page(0..<60), Sample.page(60..<80, age: .seconds(90))], total: .exact(100))
        let lines = MapDrawing(map: map(list), width: 120).lines { $1 }
        #expect(
            lines[0] == "  0 " + String(repeating: "█", count: 60) + String(repeating: "▓", count: 20)
                + String(repeating: "·", count: 20))
        #expect(lines.last == "█ fresh 60   ▓ stale 20   · gap 20   cell: 1 item")
    }

    @Test("A list with an unknown end says that it may go on")
    func goesOn() {
        let lines = MapDrawing(map: map(Sample.list([Sample.page(0..<10)])), width: 80).lines { $1 }
        #expect(lines[0] == " 0 ██████████…")
        #expect(lines.last == "the list may continue")
    }

    @Test("Colours surround the cells and change nothing else")
    func colours() {
        let list = Sample.list([Sample.page(0..<5), Sample.page(5..<9, age: .seconds(90))], total: .exact(12))
        let plain = MapDrawing(map: map(list), width: 60).lines { $1 }
        let coloured = MapDrawing(map: map(list), width: 60).lines { "<\($0)>\($1)</>" }
        #expect(coloured[0] == " 0 <32>█████</><33>▓▓▓▓</><90>···</>")
        #expect(plain[0] == " 0 █████▓▓▓▓···")
    }
}
#endif
