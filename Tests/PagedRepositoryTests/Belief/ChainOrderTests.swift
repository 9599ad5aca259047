import PageModel
import Testing

@testable import PagedRepository

@Suite("Order of a chain")
struct ChainOrderTests {
    @Test(
        "Three walks in disorder show that the list has no order; after an earlier run without a proven end, one does")
    func disorder() {
        var order = ChainOrder()
        let walks = (0..<3).map { _ in order.disordered(hadNoProvenEnd: false) }
        #expect(walks == [false, false, true])
        var later = ChainOrder()
        #expect(later.disordered(hadNoProvenEnd: true) == true)
    }

    @Test("A walk to the end counts until page one changes, or has another total")
    func wholeWalk() {
        var order = ChainOrder()
        order.reached(end: 30, isWhole: true, total: .exact(30))
        #expect(order.isWalkedWhole(to: 30, total: .exact(30)))
        #expect(!order.isWalkedWhole(to: 30, total: .exact(31)) && !order.isWalkedWhole(to: 29, total: .exact(30)))
        order.begins(isChanged: false, end: nil, total: .exact(30))
        #expect(order.isWalkedWhole(to: 30, total: .exact(30)))
        order.begins(isChanged: true, end: nil, total: .exact(30))
        #expect(!order.isWalkedWhole(to: 30, total: .exact(30)))
        order.begins(isChanged: true, end: 10, total: .unknown)
        #expect(order.isWalkedWhole(to: 10, total: .unknown))
    }

    @Test(
        "Known items at the heads of answers in two walks come from an inclusive cursor, unless the total counts them (R25)"
    )
    func pushes() {
        var walk = ChainWalk()
        walk.begin(behind: 10)
        for offset in [10, 20] {
            let page = ObservedPage(
                offset: offset, content: named(offset - 1..<offset + 9), places: places(0..<offset), isEnd: false)
            #expect(walk.receive(page, at: offset) == [])
        }
        var order = ChainOrder()
        #expect(!order.areItemsRepeated(walk, total: nil, end: 28), "one walk shows nothing")
        #expect(order.hasMoved(walk))
        order.ended(walk)
        #expect(!order.hasMoved(walk), "the next walk received the same items again")
        #expect(!order.areItemsRepeated(walk, total: nil, end: 28), "each answer begins with one known item")
        #expect(order.areItemsRepeated(walk, total: 30, end: 28), "the total counts the repeated items")
    }

    @Test("A walk is repeated if page one has lost an item since, and not if page one has only inserts")
    func confirmation() {
        var order = ChainOrder()
        order.awaitConfirmation(of: [1, 2, 3])
        #expect(order.isWalkAgainNeeded(after: [1, 2, 3]) == false)
        #expect(order.isWalkAgainNeeded(after: [9, 1, 2]) == false, "an insert pushes the last item off")
        #expect(order.isWalkAgainNeeded(after: [1, 3, 4]) == true)
        #expect(order.isWalkAgainNeeded(after: [4, 5, 6]) == true)
        #expect(order.isWalkAgainNeeded(from: [1, 2, 3], to: [2, 3, 4]) == false, "two walks are made again at most")
        var doubted = ChainOrder()
        #expect(doubted.isWalkAgainNeeded(from: [1, 2, 3], to: [9, 1, 2]) == false)
        #expect(doubted.isWalkAgainNeeded(from: [1, 2, 3], to: [1, 2, 3]) == false)
        #expect(doubted.isWalkAgainNeeded(from: [], to: [1, 2, 3]) == false)
        #expect(doubted.isWalkAgainNeeded(from: [1, 2, 3], to: [3, 4, 5]) == true)
        #expect(!order.mayConfirm)
    }
}
