import PageModel
import Testing

@testable import PagedRepository

/// Held items that the answers of a walk pass over, at an origin whose totals change (R22).
extension ChainPlaceTests {
    @Test("Held items that an answer passes over stay if the totals before and after them differ (R22)")
    func passedOver() {
        var walk = Walk()
        walk.list = held([0..<40], total: .exact(42), cursors: true)
        walk.belief.pageOne.total = .exact(42)
        let shorter = answer(22..<32, total: .exact(40), next: "c30")
        guard case .store(let kept) = walk.receive(shorter, known: 0..<40) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(kept.range == 22..<32 && kept.merge.isSame)
        #expect(walk.pass.walk.hasPassedOver && walk.pass.walk.hasChanged)
        var steady = Walk()
        steady.list = walk.list
        steady.belief.pageOne.total = .exact(40)
        guard case .store(let removed) = steady.receive(shorter, known: 0..<40) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(removed.range == 20..<30 && !removed.merge.isSame)
        #expect(!steady.pass.walk.hasPassedOver)
    }

    @Test("While totals alternate, a place whose answer passes over held items is requested again, eight times at most")
    func passedOverAgain() {
        var walk = Walk()
        walk.list = held([0..<40], total: .estimate(67), cursors: true)
        walk.belief.pageOne.total = .exact(67)
        for number in 0..<6 { _ = walk.belief.observe(total: 65 + 2 * (number % 2), askedBehind: number) }
        #expect(walk.belief.areTotalsUnsteady)
        let shorter = answer(22..<32, total: .estimate(65), next: "c30")
        for _ in 0..<8 { #expect(walk.receive(shorter, known: 0..<40) == .follow(PageCursor("c20"))) }
        #expect(walk.pass.walk.received == 20, "these answers are not part of the walk")
        guard case .store(let kept) = walk.receive(shorter, known: 0..<40) else {
            Issue.record("the page was not stored")
            return
        }
        #expect(kept.range == 22..<32)
    }

    @Test(
        "A walk that has passed over held items while totals alternate is unproven at its end",
        arguments: [true, false])
    func passedOverAtEnd(isUnsteady: Bool) {
        var walk = Walk()
        walk.list = held([0..<20], total: .estimate(30), cursors: true)
        for number in 0..<6 {
            _ = walk.belief.observe(total: isUnsteady ? 28 + 2 * (number % 2) : 28, askedBehind: number)
        }
        walk.pass.walk.passOver()
        guard case .end = walk.receive(answer(20..<30, total: .estimate(30))) else {
            Issue.record("the chain did not end")
            return
        }
        #expect(walk.belief.isUnproven == isUnsteady)
    }
}
