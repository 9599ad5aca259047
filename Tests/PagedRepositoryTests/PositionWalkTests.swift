import PageModel
import Testing

@testable import PagedRepository

/// The decisions about an origin that hides items: the next request, and the end of the list (R53).
@Suite("Walks by position")
struct PositionWalkTests {
    private func page(_ range: Range<Int>, total: ListTotal = .unknown, hasMore: Bool? = nil) -> FetchedPage {
        FetchedPage(content: named(range), total: total, hasMore: hasMore)
    }

    /// Returns the answer to the request of `cursor`.
    private func answer(
        _ page: FetchedPage, _ cursor: PageCursor?, at offset: Int, repeated: Int = 0, isKnown: Bool = false
    ) throws -> PositionWalk.Answer {
        PositionWalk.Answer(
            page: page, cursor: try #require(PositionCursor(cursor)), offset: offset, repeated: repeated,
            isKnown: isKnown)
    }

    @Test("Known items at the head of an answer are removed, and the next request begins with the last item")
    func knownItems() throws {
        var walk = PositionWalk()
        let head = walk.head(page(0..<10), .offsets)
        #expect(head.next == PositionCursor.offset(9, repeatsLast: true).cursor)
        let next = try walk.follow(answer(page(9..<17), head.next, at: 10, repeated: 1), known: .unknown, .offsets)
        #expect(next?.content == named(10..<17) && next?.next == PositionCursor.offset(16, repeatsLast: true).cursor)
        #expect(walk.span == 10)
    }

    @Test("Answers that repeat items end the walk, and do not make page one the end of the list")
    func pageOneAfterRepeats() throws {
        var walk = PositionWalk()
        let total = ListTotal.exact(50)
        var next = walk.head(page(0..<4, total: total), .grid(size: 4)).next
        for number in 1...6 {
            let step = try walk.follow(
                answer(page(0..<4, total: total), next, at: 4, repeated: 4), known: total, .grid(size: 4))
            #expect((step?.next == nil) == (number == 6))
            next = step?.next ?? next
        }
        #expect(walk.head(page(0..<4, total: total), .grid(size: 4)).next != nil)
    }

    @Test("A whole page of received items shows that the origin repeats its last page, and a few of them do not")
    func wholePageAgain() throws {
        var walk = PositionWalk()
        let head = walk.head(page(0..<10, total: .exact(50)), .grid(size: 10))
        let next = try walk.follow(
            answer(page(0..<10, total: .exact(50)), head.next, at: 10, repeated: 10), known: .exact(50), .grid(size: 10)
        )
        #expect(walk.repeatsLastPage)
        _ = try walk.follow(
            answer(page(7..<10, total: .exact(50)), next?.next, at: 10, repeated: 3), known: .exact(50), .grid(size: 10)
        )
        #expect(!walk.repeatsLastPage)
    }

    @Test(
        "The same known items at more positions than an answer covers never end, if the origin says that more follow",
        arguments: [(10, 2), (7, 2), (5, 3), (1, 11)])
    func sameItemsForEver(items: Int, answers: Int) throws {
        for hasMore in [true, nil] {
            var walk = PositionWalk()
            var next = walk.head(page(0..<10, hasMore: hasMore), .offsets).next
            for number in 1...answers {
                let known = page(10 - items..<10, hasMore: hasMore)
                let step = try walk.follow(
                    answer(known, next, at: 10, repeated: items), known: .unknown, .offsets)
                #expect(walk.repeatsForEver == (hasMore == true && number == answers), "answer \(number)")
                next = step?.next ?? next
            }
        }
    }

    @Test("A position that is requested twice counts once among those with the same known items")
    func sameItemsTwice() throws {
        var walk = PositionWalk()
        let next = walk.head(page(0..<10, hasMore: true), .offsets).next
        for _ in 0..<2 {
            let known = try answer(page(0..<10, hasMore: true), next, at: 10, repeated: 10)
            _ = walk.follow(known, known: .unknown, .offsets)
            #expect(!walk.repeatsForEver)
        }
    }

    @Test("An answer without the last received item shows that the list has moved")
    func moved() throws {
        var walk = PositionWalk()
        let head = walk.head(page(0..<10), .offsets)
        #expect(try walk.follow(answer(page(11..<20), head.next, at: 10), known: .unknown, .offsets) == nil)
    }

    @Test("Without a total, one empty page is not the end, and two in a row are")
    func emptyPages() throws {
        var walk = PositionWalk()
        let head = walk.head(page(0..<10), .grid(size: 10))
        let first = try walk.follow(answer(page(0..<0), head.next, at: 10), known: .unknown, .grid(size: 10))
        #expect(first?.next == PositionCursor.page(2).cursor)
        let second = try walk.follow(answer(page(0..<0), first?.next, at: 10), known: .unknown, .grid(size: 10))
        #expect(second != nil && second?.next == nil)
    }

    @Test("An answer with the last received item alone does not count as an empty page")
    func lastItemAlone() throws {
        var walk = PositionWalk()
        var next = walk.head(page(0..<10), .offsets).next
        for _ in 0..<9 {
            let page = try walk.follow(
                answer(page(9..<10), next, at: 10, repeated: 1), known: .unknown, .offsets)
            #expect(page?.content.isEmpty == true)
            next = page?.next
            #expect(next != nil)
        }
    }

    @Test("An origin that repeats its last page forever does not keep the walk going")
    func repeatedPage() throws {
        var walk = PositionWalk()
        var next = walk.head(page(0..<10), .offsets).next
        var requests = 0
        while let cursor = next, requests < 100 {
            next = try walk.follow(answer(page(5..<10), cursor, at: 10, repeated: 5), known: .unknown, .offsets)?.next
            requests += 1
        }
        #expect(requests <= 12)
    }

    @Test("A total that as many items reach is the end, and more items than it counts are not")
    func total() throws {
        var walk = PositionWalk()
        #expect(walk.head(page(0..<10, total: .exact(10)), .offsets).next == nil)
        #expect(walk.head(page(0..<10, total: .exact(9)), .offsets).next != nil)
        #expect(walk.head(page(0..<10, total: .exact(11)), .offsets).next != nil)
    }

    @Test("When new items follow all counted positions, empty pages do not end the walk to the total")
    func totalOfVisibleItems() throws {
        var walk = PositionWalk()
        let total = ListTotal.exact(12)
        var next = walk.head(page(0..<4, total: total), .grid(size: 4)).next
        for number in 1...2 {
            next = try walk.follow(answer(page(0..<0, total: total), next, at: 4), known: total, .grid(size: 4))?.next
            #expect(next == PositionCursor.page(number + 1).cursor)
        }
        next = try walk.follow(answer(page(4..<6, total: total), next, at: 4), known: total, .grid(size: 4))?.next
        let behind = try walk.follow(answer(page(6..<8, total: total), next, at: 6), known: total, .grid(size: 4))
        next = behind?.next
        for _ in 0..<5 {
            next = try walk.follow(answer(page(0..<0, total: total), next, at: 8), known: total, .grid(size: 4))?.next
            #expect(next != nil)
        }
    }

    @Test("Once answers have said that more items follow, one that does not say so is the last")
    func silence() throws {
        var walk = PositionWalk()
        let head = walk.head(page(0..<10, hasMore: true), .grid(size: 10))
        let last = try walk.follow(answer(page(10..<20), head.next, at: 10), known: .unknown, .grid(size: 10))
        #expect(last?.next == nil && last?.hasMore == false)
    }

    @Test("Full pages show no hidden items; a short page before others does, until the walk begins again")
    func hidden() throws {
        var walk = PositionWalk()
        var next = walk.head(page(0..<10), .grid(size: 10)).next
        next = try walk.follow(answer(page(10..<20), next, at: 10), known: .unknown, .grid(size: 10))?.next
        next = try walk.follow(answer(page(20..<26), next, at: 20), known: .unknown, .grid(size: 10))?.next
        #expect(!walk.sawHidden)
        _ = try walk.follow(answer(page(26..<36), next, at: 26), known: .unknown, .grid(size: 10))
        #expect(walk.sawHidden)
        walk.restart()
        #expect(!walk.sawHidden && walk.span == 10)
    }
}
