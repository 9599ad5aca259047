import PageModel
import Testing

@testable import PagedRepository

@Suite("Meaning of an answer in a sweep")
struct SweepPlaceTests {
    private let grid = SweepGrid(access: .grid(size: 10), pageSize: 10)

    /// Decides about an answer at position 20. The list holds its items at the positions `known`.
    private func step(
        _ page: FetchedPage, of list: ListOutline, known: Range<Int>, at position: Int = 20,
        _ change: (inout SweepPlace) -> Void = { _ in }
    ) -> SweepStep {
        var place = SweepPlace(list: list, position: position, grid: grid)
        change(&place)
        let observed = ObservedPage(
            offset: place.requestRange.lowerBound, content: page.content, places: places(known), isEnd: false)
        return place.step(observed, page)
    }

    @Test("An origin that accepts any offset is asked for one verified item again (R21)")
    func requestRanges() {
        let offsets = SweepGrid(access: .offsets, pageSize: 10)
        #expect(offsets.requestRange(0) == 0..<9 && offsets.requestRange(20) == 19..<29)
        #expect(offsets.requestRanges(from: 20, most: 3, total: nil) == [19..<29, 28..<38, 37..<47])
        #expect(offsets.requestRanges(from: 20, most: 3, total: 29) == [19..<29, 28..<38])
        #expect(offsets.requestRanges(from: 20, most: 3, total: 10).count == 3, "the total is passed")
        #expect(grid.requestRange(25) == 20..<30 && grid.aligned(25) == 20)
        #expect(SweepGrid(access: .offsets, pageSize: 1).requestRange(3) == 3..<4)
    }

    @Test("A page that equals the held one is verified, and the sweep continues behind it")
    func same() {
        let list = held([0..<40], total: .exact(40))
        guard case .store(let swept) = step(answer(20..<30, total: .exact(40)), of: list, known: 0..<40) else {
            Issue.record("the page was not verified")
            return
        }
        #expect(swept.range == 20..<30 && swept.isSame && swept.isInPlace)
        #expect(swept.edits.first == .markContiguous(20..<30))
    }

    @Test("An overlapping item at another position shows that the list has moved (R21)")
    func moved() {
        let list = held([0..<40], total: .exact(40))
        let page = answer(20..<30, total: .exact(40))
        let step = step(page, of: list, known: 0..<40) { $0.grid = SweepGrid(access: .offsets, pageSize: 10) }
        guard case .moved(let observed) = step else {
            Issue.record("the move was not seen")
            return
        }
        #expect(observed != nil)
    }

    @Test("The last page in another order shows no item behind it, so the sweep ends there (R23)")
    func reordered() {
        let list = held([0..<48], total: .exact(48), end: 48)
        let page = FetchedPage(content: named(names(40..<48).reversed()), total: .exact(48))
        let ending: [ListEdit] = [.truncate(at: 48), .setEnd(48), .setSweep(nil), .audited]
        #expect(step(page, of: list, known: 0..<48, at: 48) == .end(nil, edits: ending, isWindow: false))
    }

    @Test("Held items behind an end are removed only if the total counts no more, or a second answer agrees (R20)")
    func end() {
        let list = held([0..<40], end: 40)
        #expect(step(answer(0..<0), of: list, known: 0..<40) == .confirmEnd(nil, at: 20))
        let ending: [ListEdit] = [.truncate(at: 20), .setEnd(20), .setSweep(nil), .audited]
        let confirmed = step(answer(0..<0), of: list, known: 0..<40) { place in
            _ = place.witness.ask(for: .sweep(20..<30), end: 20)
            _ = place.witness.take()
        }
        #expect(confirmed == .end(nil, edits: ending, isWindow: false))
        let counted = held([0..<40], total: .exact(20))
        let empty = answer(0..<0, total: .exact(20))
        #expect(step(empty, of: counted, known: 0..<40) == .end(nil, edits: ending, isWindow: false))
    }

    @Test("Behind a result window held items are kept (R24)")
    func window() {
        let list = held([0..<40], total: .exact(40), window: 20)
        let step = step(answer(0..<0, total: .exact(40)), of: list, known: 0..<40)
        #expect(step == .end(nil, edits: [.setResultWindow(20), .setSweep(nil), .audited], isWindow: true))
    }

    @Test("An empty answer to a request that extends past a result window moves the window, and is not the end (R24)")
    func movedWindow() {
        let list = held([0..<31], total: .exact(80), window: 31)
        let step = step(answer(0..<0, total: .exact(80)), of: list, known: 0..<31, at: 30)
        #expect(step == .end(nil, edits: [.setResultWindow(30), .setSweep(nil), .audited], isWindow: true))
    }

    @Test("Page one again, behind a list of one page, is the end only if the answer states that no items follow (R24)")
    func pageOneAgain() {
        let list = held([0..<10], end: 10)
        #expect(step(answer(0..<10, hasMore: false), of: list, known: 0..<10, at: 10) == .confirmEnd(nil, at: 10))
        #expect(step(answer(0..<10), of: list, known: 0..<10, at: 10) != .confirmEnd(nil, at: 10))
    }

    @Test("A page that began before the answer is confirmed if this run has verified it from its start")
    func touched() {
        let list = held([0..<15, 15..<25, 25..<40], total: .exact(40))
        func edits(_ start: Int) -> [ListEdit] {
            let step = step(answer(20..<30, total: .exact(40)), of: list, known: 0..<40) { $0.start = start }
            guard case .store(let swept) = step else { return [] }
            return swept.edits
        }
        #expect(edits(0).contains(.touchPage(offset: 15, validator: nil)))
        #expect(!edits(20).contains(.touchPage(offset: 15, validator: nil)) && !edits(20).isEmpty)
    }

    @Test("A page that ends where a repaired page begins is confirmed, unless it may be joined with that page")
    func touchedBeforeRepair() {
        func edits(_ start: Int) -> [ListEdit] {
            var list = held([0..<start, start..<start + 10, 60..<100], total: .exact(100))
            for index in list.pages.indices where list.pages[index].offset == start {
                list.pages[index].count = 60 - start
            }
            let names = names(40..<49) + ["edited"] + names(50..<80)
            let page = FetchedPage(content: named(names), total: .exact(100))
            let step = step(page, of: list, known: 0..<100, at: 40) {
                $0.start = 0
                $0.grid = SweepGrid(access: .grid(size: 40), pageSize: 40)
            }
            guard case .store(let swept) = step else { return [] }
            #expect(!swept.isSame)
            return swept.edits
        }
        #expect(edits(20).contains(.touchPage(offset: 20, validator: nil)))
        #expect(!edits(30).contains(.touchPage(offset: 30, validator: nil)) && !edits(30).isEmpty)
    }

    @Test("The last page again, behind a reached total, is the end (R24)")
    func endAgain() {
        let list = held([0..<20], total: .exact(20))
        guard case .end = step(answer(10..<20, total: .exact(20)), of: list, known: 0..<20) else {
            Issue.record("the end was not seen")
            return
        }
        let uncounted = held([0..<20], end: 20)
        #expect(step(answer(10..<20), of: uncounted, known: 0..<20) == .confirmEnd(nil, at: 20))
    }

    @Test("A page that a recheck finds empty has moved, and a page with items does not end the list (R54)")
    func recheck() {
        let list = held([0..<40], total: .exact(40))
        #expect(step(answer(0..<0), of: list, known: 0..<40) { $0.isRecheck = true } == .moved(nil))
        let page = answer(20..<30, total: .exact(40), hasMore: false)
        guard case .store(let swept) = step(page, of: list, known: 0..<40, { $0.isRecheck = true }) else {
            Issue.record("the page was not verified")
            return
        }
        #expect(swept.edits == [.markContiguous(20..<30)])
    }

    @Test("A list with repeated ids keeps its pages as they arrive (R25)")
    func unaligned() {
        let place = SweepPlace(list: held([0..<40], total: .exact(40)), position: 20, grid: grid)
        guard case .store(let swept) = place.step(unaligned: answer(20..<30, total: .exact(40))) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(!swept.isSame && swept.edits.first == .markStale(20..<30))
        guard case .confirmEnd(let last, let end) = place.step(unaligned: answer(20..<25)) else {
            Issue.record("a short page is not an end while items are held behind it")
            return
        }
        #expect(last?.range == 20..<25 && end == 25)
    }

    @Test("An answer is short if the origin says or counts more, or items are held behind it (R53)")
    func short() {
        let place = SweepPlace(list: held([0..<25]), position: 20, grid: grid)
        #expect(place.isShort(answer(20..<30)) == false)
        #expect(place.isShort(answer(20..<25, hasMore: true)) == true)
        #expect(place.isShort(answer(20..<25, total: .exact(40))) == true)
        #expect(place.isShort(answer(20..<25, hasMore: false)) == false)
        #expect(place.isShort(answer(20..<25)) == nil, "later answers decide")
        let longer = SweepPlace(list: held([0..<40]), position: 20, grid: grid)
        #expect(longer.isShort(answer(20..<25)) == true)
        // The stored page one may be several joined pages.
        let unsure = SweepGrid(access: .offsets, pageSize: 30, isSizeSure: false)
        let joined = SweepPlace(list: held([0..<40]), position: 0, grid: unsure)
        #expect(joined.isShort(answer(0..<10, total: .exact(40))) == false)
    }

    @Test("A total that changes during the sweep, or is below page one, shows a change or a fault (R20)")
    func totals() {
        var pageOne = PageOneBelief()
        pageOne.adopt(count: 10, next: nil, total: .exact(40))
        let place = SweepPlace(list: held([0..<40], total: .exact(40)), position: 20, grid: grid)
        #expect(!place.contradicts(.exact(40), pageOne) && place.contradicts(.exact(39), pageOne))
        #expect(!place.contradicts(.estimate(3), pageOne) && !place.contradicts(.unknown, pageOne))
        let unknown = SweepPlace(list: held([0..<40]), position: 20, grid: grid)
        #expect(unknown.contradicts(.exact(9), pageOne) && !unknown.contradicts(.exact(10), pageOne))
    }
}
