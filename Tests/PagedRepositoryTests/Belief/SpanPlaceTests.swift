import PageModel
import Testing

@testable import PagedRepository

@Suite("Meaning of an answer by position")
struct SpanPlaceTests {
    /// A pass whose page one had ten items.
    private struct Fill {
        var pass = RunPass()
        var belief = ListBelief()
        var list: ListOutline
        var source = PagingAccess.offsets
        var place: SpanPlace { SpanPlace(range: 20..<30, list: list, source: source) }

        init(_ list: ListOutline, _ source: PagingAccess = .offsets) {
            (self.list, self.source) = (list, source)
            belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
        }

        /// Receives items that are not held.
        mutating func receive(_ page: FetchedPage, heldEnd: Int = 20) -> SpanStep {
            place.step(page, [20..<20 + page.content.count], heldEnd: heldEnd, &pass, &belief)
        }

        mutating func receiveNothing(_ answer: PageAnswer = .page(answer(0..<0))) -> SpanStep {
            place.step(nothingIn: answer, &pass, &belief)
        }
    }

    /// The edits of a step that stores or forgets, without the stored pages.
    private func edits(_ step: SpanStep) -> [ListEdit]? {
        switch step {
        case .store(let edits), .forget(let edits): edits.filter { if case .insertPage = $0 { false } else { true } }
        case .again, .lookBehind, .confirmEnd, .walkByPosition, .moved: nil
        }
    }

    @Test("A full page is stored, and its seams are verified (R21)")
    func store() {
        var fill = Fill(held([0..<20], total: .exact(40)))
        #expect(edits(fill.receive(answer(20..<30, total: .exact(40)))) == [.markContiguous(20..<30)])
    }

    @Test("A page that reaches the total ends the list, unless items are held behind it (R20)")
    func end() {
        let list = held([0..<20], total: .exact(25))
        var fill = Fill(list)
        let page = answer(20..<25, total: .exact(25))
        #expect(fill.place.end(of: page, fill.belief) == 25)
        #expect(edits(fill.receive(page)) == [.markContiguous(20..<25), .setEnd(25)])
        var other = Fill(list)
        #expect(other.receive(page, heldEnd: 40) == .again, "one answer removes no held items")
        #expect(edits(other.receive(page, heldEnd: 40)) == [.markContiguous(20..<25), .setEnd(25)])
    }

    @Test("Where only a short page shows the end, the page behind it is requested (R53)")
    func short() {
        var fill = Fill(held([0..<20]))
        #expect(edits(fill.receive(answer(20..<25))) == [.markContiguous(20..<25)])
        #expect(fill.pass.fill.takeLooks() == [.range(30..<40, overlap: 0)])
        #expect(fill.pass.fill.looks[30] == PositionFill.Look(end: 25))
        #expect(fill.pass.fill.takeLooks() == [])
    }

    @Test("More items than the total counts make it an estimate; so does a report of more behind it (R20, R24)")
    func totals() {
        var fill = Fill(held([0..<20], total: .exact(25)))
        let beyond = edits(fill.receive(answer(20..<30, hasMore: true)))
        #expect(beyond == [.markContiguous(20..<30), .setTotal(.estimate(30))])
        var more = Fill(held([0..<20], total: .exact(30)))
        let reached = edits(more.receive(answer(20..<30, total: .exact(30), hasMore: true)))
        #expect(reached == [.markContiguous(20..<30), .setTotal(.estimate(31))])
    }

    @Test("An empty answer at a position that the total counts is believed the second time (R20)")
    func empty() {
        var fill = Fill(held([0..<20], total: .exact(40)))
        #expect(fill.receiveNothing() == .again)
        #expect(fill.receiveNothing() == .forget([]))
        #expect(fill.pass.fill.emptyFrom == 20)
        var hiding = Fill(held([0..<20], total: .exact(40)))
        hiding.belief.end.observe(itemsBefore: 40)
        _ = hiding.receiveNothing()
        #expect(hiding.receiveNothing() == .walkByPosition, "items behind the position were returned (R53)")
    }

    @Test(
        "Without a total, an empty answer behind the held items is the end; one before them is confirmed (R20, R24)"
    )
    func emptyEnd() {
        var fill = Fill(held([0..<20]))
        #expect(fill.receiveNothing() == .forget([.setEnd(20)]))
        #expect(!fill.pass.fill.admits(20, suspected: nil))
        var before = Fill(held([0..<20, 30..<40]))
        #expect(before.receiveNothing() == .confirmEnd)
        _ = before.pass.witness.ask(for: .range(20..<30, overlap: 0), end: 20)
        _ = before.pass.witness.take()
        #expect(before.receiveNothing() == .moved(answer(0..<0), isEnd: true))
    }

    @Test("An empty answer behind the end with another total shows that the list has moved (R21)")
    func moved() {
        var fill = Fill(held([0..<20], total: .exact(20)))
        let page = answer(0..<0, total: .exact(15))
        #expect(fill.receiveNothing(.page(page)) == .moved(page, isEnd: false))
        #expect(fill.receiveNothing(.pastEnd) == .forget([]))
    }

    @Test("A short page of a grid that says that more items follow may hide the others (R53)")
    func hidingEnd() {
        var fill = Fill(held([0..<20], total: .exact(25)), .grid(size: 10))
        let page = answer(20..<25, total: .exact(25), hasMore: true)
        #expect(
            edits(fill.receive(page)) == [.markContiguous(20..<25)], "the total is kept until the next page is empty")
        #expect(fill.pass.fill.takeLooks() == [.range(30..<40, overlap: 0)])
    }
}
