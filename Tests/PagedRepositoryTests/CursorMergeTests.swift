import PageModel
import Testing

@testable import PagedRepository

/// The place of an answer in a cached list whose item `i…` is held at the position of its number.
@Suite("Places of the items of a chain (R22)")
struct CursorMergeTests {
    /// Returns the merged list as names, with "-" for a position that is not held.
    private func merge(
        _ names: [String], at position: Int, into held: Int, keepsHole: Bool = true
    ) -> (list: [String], hasMet: Bool) {
        let observed = ObservedPage(
            offset: position, content: named(names), places: places(0..<held), isEnd: false)
        let merge = CursorMerge(observed, at: position, segments: [0..<held], keepsHole: keepsHole)
        guard case .changed(let rearrangement) = merge.step else {
            return (PagedRepositoryTests.names(0..<held), merge.hasMet)
        }
        var list: [String] = []
        for piece in rearrangement.pieces {
            switch piece {
            case .kept(let range): list += PagedRepositoryTests.names(range.clamped(to: 0..<held))
            case .written: list += names
            case .gap(let count): list += [String](repeating: "-", count: count)
            }
        }
        return (list, merge.hasMet)
    }

    @Test("New items push the cached ones back, and a hole stays open between them (G2)")
    func allNew() {
        let merged = merge(["a", "b"], at: 2, into: 5)
        #expect(merged.list == ["i0", "i1", "a", "b", "-", "i2", "i3", "i4"])
        #expect(!merged.hasMet)
    }

    @Test("A last item that is new leaves a hole, although the first items are known (G2)")
    func pinned() {
        let merged = merge(["i0", "a", "b"], at: 0, into: 4)
        #expect(merged.list == ["i0", "a", "b", "-", "i1", "i2", "i3"])
        #expect(!merged.hasMet)
        #expect(merge(["i3", "a"], at: 3, into: 4).list == ["i0", "i1", "i2", "i3", "a"], "no item is held behind it")
        #expect(merge(["i0", "a"], at: 0, into: 2, keepsHole: false).list == ["i0", "a", "i1"])
    }

    @Test("A single item that has moved up removes none of those that it passed (R20)", arguments: 1..<8)
    func moved(passed: Int) {
        let merged = merge(["i0", "i1", "i2", "i\(3 + passed)"], at: 0, into: 12)
        let kept = names(3..<12).filter { $0 != "i\(3 + passed)" }
        #expect(merged.list == ["i0", "i1", "i2", "i\(3 + passed)", "-"] + kept)
        #expect(!merged.hasMet)
    }

    @Test("Missing items are removed if more known items follow them in the answer")
    func removed() {
        let merged = merge(["i0", "i3", "i4", "i5"], at: 0, into: 8)
        #expect(merged.list == ["i0", "i3", "i4", "i5", "i6", "i7"])
        #expect(merged.hasMet)
    }

    @Test("An answer of known items shows that up to two pages before them are gone")
    func removedBefore() {
        let merged = merge(["i10", "i11", "i12", "i13"], at: 2, into: 20)
        #expect(merged.list == names(0..<2) + names(10..<20))
        #expect(merged.hasMet)
        #expect(merge(["i11", "i12", "i13", "i14"], at: 2, into: 20).list.count == 21, "nine items are too many")
    }

    @Test("An answer of new items replaces cached ones only on request, and a hole stays open behind it (G2)")
    func replacing() {
        let observed = ObservedPage(offset: 2, content: named(["a", "b"]), places: places(0..<8), isEnd: false)
        let merge = CursorMerge(observed, at: 2, segments: [0..<8], replacedTo: 6, keepsHole: true)
        guard case .changed(let rearrangement) = merge.step else {
            Issue.record("the list did not change")
            return
        }
        #expect(!merge.hasMet)
        #expect(rearrangement.takenOut == [2..<6])
        #expect(rearrangement.kept()?.last?.distance == -1, "two items and a hole follow the first two")
    }

    @Test("Items behind the held ones become a page of their own and move no item")
    func added() {
        func edits(_ names: [String], at position: Int, into held: [Range<Int>]) -> [ListEdit] {
            let observed = ObservedPage(offset: position, content: named(names), places: places(0..<5), isEnd: false)
            return CursorMerge(observed, at: position, segments: held, keepsHole: true)
                .edits(observed, PagedRepositoryTests.held(held))
        }
        let page = PageWrite(offset: 5, content: named(["a", "b"]), evidence: .inferred)
        #expect(edits(["a", "b"], at: 5, into: [0..<5]) == [.insertPage(page), .markContiguous(5..<7)])
        #expect(edits(["a", "b"], at: 5, into: [0..<5, 8..<9]) == [.insertPage(page), .markContiguous(5..<7)])
        for (names, position, held) in [
            (["a", "b"], 5, [0..<5, 7..<9]), (["a", "b"], 4, [0..<5]), (["i4", "a"], 5, [0..<5]),
        ] {
            guard case .rearrange = edits(names, at: position, into: held).first else {
                Issue.record("\(names) at \(position) move other items")
                return
            }
        }
    }

    @Test("An answer with the held items of its positions in another order meets the cached list behind it (R18)")
    func reordered() {
        let merged = merge(["i2", "i0", "i1"], at: 0, into: 5)
        #expect(merged.list == ["i2", "i0", "i1", "i3", "i4"] && merged.hasMet)
        let behind = merge(["i4", "i2", "i3"], at: 2, into: 6)
        #expect(behind.list == ["i0", "i1", "i4", "i2", "i3", "i5"] && behind.hasMet)
        #expect(!merge(["i2", "new", "i1"], at: 0, into: 5).hasMet, "an item is new")
    }

    @Test("A swap at the end of an answer removes no item")
    func swapped() {
        let merged = merge(["i0", "i2", "i1"], at: 0, into: 5)
        #expect(merged.list == ["i0", "i2", "i1", "i3", "i4"])
        #expect(merged.hasMet)
    }
}
