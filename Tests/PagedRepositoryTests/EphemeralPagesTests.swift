import PageModel
import Testing

@testable import PagedRepository

@Suite("Pages in memory only")
struct EphemeralPagesTests {
    private func page(_ names: [String], next: String? = nil, total: ListTotal = .unknown) -> FetchedPage {
        FetchedPage(content: named(names), total: total, next: next.map { PageCursor($0) })
    }

    @Test("Repeated items are not shown twice, and endless pages without new items are a loop (R5, R24)")
    func repeated() {
        var pages = EphemeralPages(
            behind: 0, access: .chain, loopGuard: 3, tolerated: ToleratedMismatches(allowsAll: true))
        equal(pages.take(page(["a", "b"], next: "1")), .newItems(named(["a", "b"])))
        equal(pages.take(page(["b", "c"], next: "2")), .newItems(named(["c"])))
        #expect(pages.end == 3)
        equal(pages.take(page(["a"], next: "3")), .newItems(PageContent()))
        equal(pages.take(page([], next: "4")), .newItems(PageContent()))
        guard case .failed(let failure) = pages.take(page(["c"], next: "5")) else {
            Issue.record("the loop is not detected")
            return
        }
        #expect(failure.failureClass == .loop)
        #expect(pages.next == .cursor(PageCursor("4")), "the same page is requested again (R37)")
    }

    @Test("An item that one answer repeats is held once (X6, X7)")
    func repeatedWithin() {
        var pages = EphemeralPages(behind: 0, access: .chain, loopGuard: 3)
        equal(pages.take(page(["a", "b", "a"], next: "1")), .newItems(named(["a", "b"])))
        equal(pages.take(page(["c", "d", "c", "c"])), .newItems(named(["c", "d"])))
        #expect(pages.end == 4 && pages.isAtEnd && !pages.allowsDuplicates)
    }

    @Test("Two spellings of one letter are two ids, and neither hides the other (R5)")
    func spellings() {
        var pages = EphemeralPages(
            behind: 0, access: .chain, loopGuard: 3, tolerated: ToleratedMismatches(allowsAll: true))
        equal(pages.take(page(["\u{e9}"], next: "1")), .newItems(named(["\u{e9}"])))
        equal(pages.take(page(["e\u{301}", "\u{e9}"], next: "2")), .newItems(named(["e\u{301}"])))
    }

    @Test("A cursor that leads to itself is a loop (R24)")
    func circle() {
        var pages = EphemeralPages(behind: 0, access: .chain, loopGuard: 3)
        _ = pages.take(page(["a"], next: "1"))
        guard case .failed(let failure) = pages.take(page(["b"], next: "1")) else {
            Issue.record("the cursor is followed")
            return
        }
        #expect(failure.failureClass == .loop && pages.end == 1)
    }

    @Test("The overlapping items of a page are not shown twice (R21)")
    func overlap() {
        var pages = EphemeralPages(behind: 10, access: .offsets, loopGuard: 3)
        #expect(pages.isFollowed(by: page(["i9", "i10"], total: .exact(20)), at: 9))
        #expect(!pages.isFollowed(by: page(["i12"]), at: 12))
        equal(pages.take(page(["i9", "i10", "i11"], total: .exact(20)), at: 9), .newItems(named(["i10", "i11"])))
        #expect(pages.next == .offset(12))
    }

    @Test("The first page is compared with the end of the stored list before it (R15)", arguments: [false, true])
    func behindStored(repeatsIDs: Bool) {
        let end = StoredEnd(total: .exact(14), last: named(["i8", "i9"]), allowsDuplicates: repeatsIDs)
        var pages = EphemeralPages(behind: 10, access: .offsets, loopGuard: 3, stored: end)
        #expect(mismatch(pages.take(page(["i10", "i11"], total: .exact(13)), at: 10)) != nil, "another total")
        #expect(mismatch(pages.take(page(["i9", "i10"]), at: 10)) != nil, "an insert")
        #expect(mismatch(pages.take(page(["i10", "i11"]), at: 9)) != nil, "a deletion")
        #expect(pages.end == 10 && !pages.isAtEnd && pages.total == .exact(14))
        equal(pages.take(page(["i9", "i10", "i11"], total: .exact(14)), at: 9), .newItems(named(["i10", "i11"])))
        equal(pages.take(page(["i12", "i13"])), .newItems(named(["i12", "i13"])))
        #expect(pages.isAtEnd && pages.end == 14 && pages.allowsDuplicates == repeatsIDs)
    }

    @Test("The only page of an origin is no end if it announces more items (R24)")
    func single() {
        func pages(_ page: FetchedPage) -> EphemeralPages {
            var pages = EphemeralPages(behind: 0, access: .single, loopGuard: 3)
            equal(pages.take(page), .newItems(page.content))
            #expect(pages.next == nil && pages.isAtEnd != pages.isCutShort)
            return pages
        }
        #expect(pages(page(["a"])).isAtEnd && pages(page(["a"], total: .exact(1))).isAtEnd)
        #expect(pages(page([])).isAtEnd)
        #expect(pages(page(["a"], total: .exact(2))).isCutShort && pages(page([], total: .exact(2))).isCutShort)
        #expect(pages(FetchedPage(content: named(["a"]), hasMore: true)).isCutShort)
        #expect(pages(page(["a"], total: .exact(2))).total == .exact(2))
    }

    @Test("A page shorter than its place on the grid is not requested again")
    func grid() {
        var pages = EphemeralPages(behind: 0, access: .grid(size: 10), loopGuard: 3)
        _ = pages.take(page((0..<8).map { "i\($0)" }, total: .exact(30)))
        #expect(pages.next == .offset(10))
        #expect(pages.end == 8)
    }

    @Test("A page as long as requested ends no list in memory, although page one had more items (R24)")
    func longPageOne() {
        var pages = EphemeralPages(behind: 0, access: .grid(size: 3), loopGuard: 3, requested: 2)
        _ = pages.take(page(["a", "b", "c"]))
        equal(pages.take(page(["d", "e"])), .newItems(named(["d", "e"])))
        #expect(pages.next == .offset(6))
        equal(pages.take(page(["f"])), .newItems(named(["f"])))
        #expect(pages.isAtEnd && pages.end == 6)
    }

    private func mismatch(_ step: EphemeralPages.Step) -> EphemeralMismatch? {
        if case .moved(let mismatch) = step { mismatch } else { nil }
    }

    @Test("A missing last item, another total, and an item from farther back show that the list has changed")
    func mismatches() {
        var pages = EphemeralPages(behind: 0, access: .offsets, loopGuard: 3, overlap: 1)
        equal(pages.take(page(["a", "b", "c"])), .newItems(named(["a", "b", "c"])))
        #expect(pages.next == .offset(2), "the last item is requested again, because no total shows a deletion")
        #expect(mismatch(pages.take(page(["d", "e", "f"]))) != nil)
        #expect(mismatch(pages.take(page(["c", "d", "a"]))) != nil)
        #expect(mismatch(pages.take(page(["b", "c", "d"]))) != nil, "an insert")
        equal(pages.take(page(["c", "d", "e"], total: .exact(9))), .newItems(named(["d", "e"])))
        #expect(pages.next == .offset(5), "the total shows a deletion")
        #expect(mismatch(pages.take(page(["f"], total: .exact(10)))) != nil)
        #expect(pages.end == 5, "a mismatch adds nothing")
    }

    @Test("An end before an exact total is a mismatch, and a second walk with the same end makes the total an estimate")
    func contradictedEnd() throws {
        var pages = EphemeralPages(behind: 0, access: .offsets, loopGuard: 3)
        _ = pages.take(page(["a", "b"], total: .exact(3)))
        let found = try #require(mismatch(pages.take(page([], total: .exact(3)))))
        pages = EphemeralPages(
            behind: 0, access: .offsets, loopGuard: 3, tolerated: ToleratedMismatches(known: [found]))
        _ = pages.take(page(["a", "b"], total: .exact(3)))
        equal(pages.take(page([], total: .exact(3))), .newItems(PageContent()))
        #expect(pages.isAtEnd && pages.total == .estimate(3) && pages.pages == 1)
    }

    @Test("An empty page after a full one, with one more page counted, fails after a second walk (R24)")
    func cutOff() throws {
        var pages = EphemeralPages(behind: 0, access: .offsets, loopGuard: 3)
        _ = pages.take(page(["a", "b"], total: .exact(4)))
        let found = try #require(mismatch(pages.take(page([], total: .exact(4)))))
        pages = EphemeralPages(
            behind: 0, access: .offsets, loopGuard: 3, tolerated: ToleratedMismatches(known: [found]))
        _ = pages.take(page(["a", "b"], total: .exact(4)))
        equal(pages.take(page([], total: .exact(4))), .failed(.cutOff(at: 2, 4)))
        #expect(!pages.isAtEnd && pages.total == .exact(4) && pages.next == .offset(2))
    }

    @Test("A last page that is repeated where an exact total ends is the end, although answers have left items out")
    func repeatedAtTotal() {
        var pages = EphemeralPages(
            behind: 0, access: .grid(size: 3), loopGuard: 3, tolerated: ToleratedMismatches(allowsAll: true))
        _ = pages.take(page(["a", "b"], total: .exact(6)))
        _ = pages.take(page(["d", "e"], total: .exact(6)))
        #expect(pages.next == .offset(6))
        equal(pages.take(page(["d", "e"], total: .exact(6))), .newItems(PageContent()))
        #expect(pages.isAtEnd && pages.total == .estimate(6))
    }

    @Test("A refused position that an exact total counts is a mismatch, and fails after a second walk (R24)")
    func refused() throws {
        var pages = EphemeralPages(behind: 0, access: .offsets, loopGuard: 3)
        _ = pages.take(page(["a", "b"], total: .exact(4)))
        let found = try #require(mismatch(pages.refused(.notFound)))
        pages = EphemeralPages(
            behind: 0, access: .offsets, loopGuard: 3, tolerated: ToleratedMismatches(known: [found]))
        _ = pages.take(page(["a", "b"], total: .exact(4)))
        for answer in [PageAnswer.notFound, .pastEnd] {
            guard case .failed(let failure) = pages.refused(answer) else {
                Issue.record("\(answer) ends the list")
                return
            }
            #expect(failure.httpStatus == (answer == .notFound ? 404 : nil) && failure.isRetryable)
        }
        #expect(!pages.isAtEnd && pages.next == .offset(2))
    }

    @Test(
        "A refused position that no exact total counts is the end (R24)", arguments: [ListTotal.unknown, .estimate(9)])
    func refusedAtEnd(total: ListTotal) {
        var pages = EphemeralPages(behind: 0, access: .offsets, loopGuard: 3)
        _ = pages.take(page(["a", "b"], total: total))
        equal(pages.refused(.pastEnd), .newItems(PageContent()))
        #expect(pages.isAtEnd && pages.end == 2)
    }

    @Test("A refused page that begins with held items is replaced by the one at a multiple of the page size (R21)")
    func refusedOverlap() throws {
        var tolerated = ToleratedMismatches()
        for isSecond in [false, true] {
            var pages = EphemeralPages(
                behind: 0, access: .offsets, loopGuard: 3, overlap: 1, tolerated: tolerated)
            _ = pages.take(page(["a", "b", "c"]))
            equal(pages.take(page(["c", "d", "e"])), .newItems(named(["d", "e"])))
            equal(pages.refused(.pastEnd), .newItems(PageContent()))
            #expect(pages.next == .offset(3) && !pages.isAtEnd)
            equal(pages.take(page(["d", "e", "f"])), .newItems(named(["f"])))
            #expect(pages.next == .offset(5), "the origin has answered no later multiple")
            equal(pages.refused(.pastEnd), .newItems(PageContent()))
            #expect(pages.next == .offset(6))
            let step = pages.refused(.pastEnd)
            guard !isSecond else {
                #expect(step == .newItems(PageContent()) && pages.isAtEnd && pages.end == 6)
                return
            }
            tolerated.known.insert(try #require(mismatch(step), "the list may have become shorter"))
        }
    }

    private func alike(_ id: String, _ numbers: Range<Int>) -> FetchedPage {
        FetchedPage(content: PageContent(numbers.map { RawItem(payload: Array("\($0)".utf8), id: id) }))
    }

    @Test("Items with one id and other content in one answer are different items, and are compared by content (R25)")
    func repeatedIDs() {
        var pages = EphemeralPages(behind: 0, access: .offsets, loopGuard: 3, overlap: 1)
        equal(pages.take(alike("a", 0..<3)), .newItems(alike("a", 0..<3).content))
        #expect(pages.allowsDuplicates && pages.next == .offset(2))
        equal(pages.take(alike("a", 2..<5)), .newItems(alike("a", 3..<5).content))
        #expect(mismatch(pages.take(alike("a", 5..<8))) != nil, "the last item is missing")
    }

    @Test("A held id with other content is a mismatch, and is another item once a second walk receives it again (R25)")
    func repeatedHeldID() throws {
        var pages = EphemeralPages(behind: 0, access: .chain, loopGuard: 3)
        let first = FetchedPage(content: alike("a", 0..<1).content, next: PageCursor("1"))
        _ = pages.take(first)
        let found = try #require(mismatch(pages.take(alike("a", 1..<2))))
        #expect(!pages.allowsDuplicates)
        pages = EphemeralPages(behind: 0, access: .chain, loopGuard: 3, tolerated: ToleratedMismatches(known: [found]))
        _ = pages.take(first)
        equal(pages.take(alike("a", 1..<2)), .newItems(alike("a", 1..<2).content))
        #expect(pages.allowsDuplicates && pages.isAtEnd && pages.end == 2)
    }
}
