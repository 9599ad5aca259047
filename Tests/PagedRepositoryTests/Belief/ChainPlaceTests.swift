import PageModel
import Testing

@testable import PagedRepository

@Suite("Meaning of an answer in a chain")
struct ChainPlaceTests {
    /// A walk of a chain of ten items a page, which has come from page one to position 20.
    struct Walk {
        var pass = RunPass()
        var belief = ListBelief()
        var list = held([0..<20], cursors: true)
        var place: ChainPlace {
            ChainPlace(
                cursor: PageCursor("c20"), offset: 20, list: list, phase: phase, remembersLoops: true, loopGuard: 3,
                emptyPageLimit: 5)
        }
        var phase = RunPhase.loading

        init() {
            pass.walk.begin(behind: 10)
            pass.walk.advance(from: 10, to: 20)
            pass.walk.received = 20
        }

        /// - Parameter known: the positions of the items that the list holds.
        mutating func receive(_ page: FetchedPage, known: Range<Int> = 0..<20) -> ChainStep {
            let page = place.readable(page, &pass.walk)
            if page.content.isEmpty { return place.step(withoutItems: page, &pass, &belief) }
            let observed = ObservedPage(
                offset: 20, content: page.content, places: places(known), isEnd: page.next == nil,
                cursorIn: PageCursor("c20"), cursorOut: page.next)
            return place.step(observed, page, &pass, &belief)
        }

        mutating func refuse() -> ChainStep { place.step(withoutItems: nil, &pass, &belief) }
    }

    @Test("A page of new items is stored, and the walk continues behind it")
    func store() throws {
        var walk = Walk()
        guard case .store(let page) = walk.receive(answer(20..<30, next: "c30")) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(page.range == 20..<30 && page.next == PageCursor("c30"))
        #expect(!page.isRepetition && !page.merge.isSame)
        #expect(walk.pass.walk.received == 30)
    }

    @Test("Another total is stored, and page one is then requested without its validator")
    func total() {
        var walk = Walk()
        guard case .store(let page) = walk.receive(answer(20..<30, total: .exact(50), next: "c30")) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(page.edits.contains(.setTotal(.exact(50))))
        #expect(walk.pass.walk.hasChanged && walk.belief.drift.asksUnconditionally)
    }

    @Test("After an answer with a next page and items behind the known end, the end is unknown (R24)")
    func behindEnd() {
        var walk = Walk()
        walk.list = held([0..<20], end: 20, cursors: true)
        guard case .store(let page) = walk.receive(answer(20..<30, next: "c30")) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(page.edits.contains(.setEnd(nil)))
    }

    @Test("A walk from page one ends with a page without a cursor (R24)")
    func end() {
        var walk = Walk()
        let step = walk.receive(answer(20..<25))
        guard case .end(let end) = step else {
            Issue.record("the chain did not end")
            return
        }
        #expect(end.position == 25 && end.offset == 20 && end.isChanged && end.isWithPage)
        #expect(walk.belief.isWalkedWhole(to: 25))
        var other = Walk()
        guard case .end(let stated) = other.receive(answer(20..<30, next: "c30", hasMore: false)) else {
            Issue.record("the chain goes on, although the answer states its end")
            return
        }
        #expect(stated.position == 30)
    }

    @Test("One answer without items does not prove a new end (R20)")
    func emptyEnd() {
        var walk = Walk()
        #expect(walk.receive(answer(0..<0)) == .confirmEnd(at: 20))
        _ = walk.pass.witness.ask(for: .cursor(PageCursor("c20"), offset: 20), end: 20)
        _ = walk.pass.witness.take()
        #expect(walk.receive(answer(0..<0)) == .end(ChainEnd(position: 20, offset: 20)))
        var refused = Walk()
        #expect(refused.refuse() == .confirmEnd(at: 20))
        var counted = Walk()
        counted.list = held([0..<20], total: .exact(20), cursors: true)
        #expect(counted.receive(answer(0..<0, next: "c30")) == .end(ChainEnd(position: 20, offset: 20)))
        var countedNow = Walk()
        #expect(countedNow.receive(answer(0..<0, total: .exact(20), next: "c30")) == .confirmEnd(at: 20))
        for cursor in ["c20", "c30"] {
            #expect(countedNow.receive(answer(0..<0, total: .exact(40), next: "c30")) == .follow(PageCursor(cursor)))
        }
    }

    @Test("A page with its own cursor and items is stored, and its list is a loop unless the total counts it (R24)")
    func selfLink() {
        var walk = Walk()
        guard case .loopOnItself(let end) = walk.receive(answer(20..<30, next: "c20")) else {
            Issue.record("the loop was not seen")
            return
        }
        #expect(end.position == 30)
        var counted = Walk()
        counted.list = held([0..<20], total: .exact(30), cursors: true)
        guard case .end = counted.receive(answer(20..<30, next: "c20")) else {
            Issue.record("the total counts all items")
            return
        }
    }

    @Test("Held items behind an end are removed only after a walk from page one, and a second answer (R20, R22)")
    func shrunk() {
        var walk = Walk()
        walk.list = held([0..<40], cursors: true)
        #expect(walk.receive(answer(20..<25), known: 0..<40) == .walkAgain)
        walk.pass.walk.mode = .whole
        #expect(walk.receive(answer(20..<25), known: 0..<40) == .confirmEnd(at: 25))
    }

    @Test("The first empty page is requested again, and those under new cursors are followed, up to a limit (R24)")
    func emptyPages() {
        var walk = Walk()
        #expect(walk.receive(answer(0..<0, next: "c30")) == .follow(PageCursor("c20")), "one answer can be a fault")
        for _ in 0..<4 { #expect(walk.receive(answer(0..<0, next: "c30")) == .follow(PageCursor("c30"))) }
        #expect(walk.receive(answer(0..<0, next: "c30")) == .loop("5 consecutive pages had no new items"))
    }

    @Test("Pages of known items are followed, up to the loop guard (R24)")
    func knownPages() {
        var walk = Walk()
        for _ in 0..<2 { #expect(walk.receive(answer(0..<10, next: "c30")) == .follow(PageCursor("c30"))) }
        #expect(walk.pass.walk.isDisordered)
        #expect(walk.receive(answer(0..<10, next: "c30")) == .loop("3 consecutive pages had no new items"))
        var stored = Walk()
        stored.pass.walk = ChainWalk()
        for _ in 0..<2 { _ = stored.receive(answer(0..<10, next: "c30")) }
        #expect(stored.receive(answer(0..<10, next: "c30")) == .walkAgain, "a stored cursor may be of an earlier list")
    }

    @Test("A page of which nine in ten items were received before is stored, and counts as a repetition (R24)")
    func repetition() {
        for (known, isRepetition) in [(9, true), (8, false)] {
            var walk = Walk()
            let items = named(names(0..<known) + names(20..<30 - known))
            guard case .store(let page) = walk.receive(FetchedPage(content: items, next: PageCursor("c30"))) else {
                Issue.record("the page was not stored")
                continue
            }
            #expect(page.isRepetition == isRepetition)
        }
    }

    @Test("Where an earlier run found a loop, one page of known items shows that it is still there (R24)")
    func knownLoop() {
        let failure = FetchFailure(.loop, "loop", isRetryable: false)
        var walk = Walk()
        walk.belief.end.observe(
            held([0..<20], ledger: [LedgerEntry(offset: 20, state: .failedPermanent, attempts: 1, failure: failure)]))
        #expect(walk.receive(answer(0..<10, next: "c30")) == .loop("1 consecutive pages had no new items"))
    }

    @Test("Where an earlier run found a loop, the loop guard limits pages without items, too (R24)")
    func emptyLoop() {
        let failure = FetchFailure(.loop, "loop", isRetryable: false)
        var walk = Walk()
        walk.belief.end.observe(
            held([0..<20], ledger: [LedgerEntry(offset: 20, state: .failedPermanent, attempts: 1, failure: failure)]))
        for cursor in ["c20", "c30", "c30"] {
            #expect(walk.receive(answer(0..<0, next: "c30")) == .follow(PageCursor(cursor)))
        }
        #expect(walk.receive(answer(0..<0, next: "c30")) == .loop("3 consecutive pages had no new items"))
    }

    @Test("A last page of known items ends the chain behind the held ones, or shows disorder")
    func knownEnd() {
        var walk = Walk()
        #expect(walk.receive(answer(10..<20)) == .endBehindKnown, "the items are those just before the answer")
        var other = Walk()
        #expect(other.receive(answer(0..<10)) == .endInDisorder(ChainEnd(position: 20, offset: 20)))
    }

    @Test("Ids repeat in a list if two walks receive the same items again (R25)")
    func repeats() {
        var first = Walk()
        _ = first.receive(FetchedPage(content: named(["i1", "i2", "i3", "new"]), next: PageCursor("c30")))
        #expect(first.pass.walk.repeats.count == 3 && first.pass.walk.isDisordered)
        var second = Walk()
        second.belief.order.ended(first.pass.walk)
        let step = second.receive(FetchedPage(content: named(["i1", "i2", "i3", "new"]), next: PageCursor("c30")))
        #expect(step == .repeatIDs)
    }

    @Test("An answer that repeats an id starts another walk (R25)")
    func repeatedID() {
        var walk = Walk()
        #expect(walk.receive(FetchedPage(content: named(["a", "a"]), next: PageCursor("c30"))) == .walkAgain)
    }

    @Test("A list with repeated ids keeps its pages as they arrive (R25)")
    func unaligned() {
        var walk = Walk()
        walk.list.record.allowsDuplicates = true
        guard case .storeUnaligned(let page) = walk.receive(answer(20..<25)) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(page.range == 20..<25 && page.next == nil && !page.isStored && !page.isSame)
        #expect(page.edits.contains(.setEnd(25)))
    }

    @Test("A recheck confirms a held page whose items are in their places, and restarts the pass otherwise (R54)")
    func recheck() {
        var walk = Walk()
        walk.list = held([0..<40], cursors: true)
        walk.phase = .rechecking(RunPhase.Recheck(range: 20..<30))
        guard case .store(let page) = walk.receive(answer(20..<30, next: "c30"), known: 0..<40) else {
            Issue.record("the page was not confirmed")
            return
        }
        #expect(page.merge.isSame)
        #expect(walk.receive(answer(21..<31, next: "c30"), known: 0..<40) == .restart)
        #expect(walk.receive(answer(0..<0, next: "c30"), known: 0..<40) == .restart)
    }

    @Test("A check of the end walks the list again if the last page has an item at another position (R24)")
    func check() {
        var walk = Walk()
        walk.list = held([0..<30], end: 30, cursors: true)
        walk.pass.check.isDue = true
        _ = walk.pass.check.begin(walk.list)
        walk.pass.walk.mode = .checkingEnd
        #expect(walk.receive(answer(21..<31, next: "c30"), known: 0..<30) == .walkAgain)
    }

    @Test("A sweep stores its position")
    func sweep() {
        var walk = Walk()
        walk.phase = .sweepingChain(isAtEnd: false)
        guard case .store(let page) = walk.receive(answer(20..<30, next: "c30")) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(
            page.edits.contains { if case .setSweep(let progress) = $0 { progress?.position == 30 } else { false } })
    }
}
