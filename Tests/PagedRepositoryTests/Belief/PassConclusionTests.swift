import PageModel
import Testing

@testable import PagedRepository

@Suite("End of a pass")
struct PassConclusionTests {
    /// Concludes a pass over `list`, with page one as it was received with the list's total.
    private func conclude(
        _ list: ListOutline, _ access: PagingAccess = .offsets, isFirstPass: Bool = false, hasMissing: Bool = false,
        belief: inout ListBelief, pass: inout RunPass
    ) -> PassConclusion {
        belief.pageOne.total = list.record.total
        return belief.conclude(
            ListBelief.PassEnd(
                list: list, access: access, isFirstPass: isFirstPass, hasMissing: hasMissing, hasAbandonedPages: false),
            &pass)
    }

    private var (belief, pass) = (ListBelief(), RunPass())

    @Test("The end of a pass changes nothing in a list with a gap")
    func gap() {
        var (belief, pass) = (belief, pass)
        #expect(conclude(held([0..<20], total: .exact(30)), belief: &belief, pass: &pass) == .unchanged)
    }

    @Test("A list with as many items as its exact total is whole and confirmed")
    func whole() {
        var (belief, pass) = (belief, pass)
        let list = held([0..<30], total: .exact(30))
        #expect(conclude(list, belief: &belief, pass: &pass) == .whole(isConfirmed: true))
    }

    @Test("A total that is larger than the returned items counts as wrong once a second page one repeats it (R20)")
    func overcount() {
        var (belief, pass) = (belief, pass)
        belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
        pass.fill.observe(emptyFrom: 24)
        let list = held([0..<24], total: .exact(30))
        #expect(conclude(list, belief: &belief, pass: &pass) == .again)
        #expect(conclude(list, belief: &belief, pass: &pass) == .miscounted(total: 30, end: 24))
        let other = held([0..<24], total: .exact(31))
        #expect(conclude(other, belief: &belief, pass: &pass) == .again, "another total is another mismatch")
        #expect(conclude(list, hasMissing: true, belief: &belief, pass: &pass) == .unchanged)
    }

    @Test("A result window ends behind a full page, or where the origin refuses positions that it counts (R24)")
    func window() {
        var (belief, pass) = (belief, pass)
        belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
        pass.fill.observe(emptyFrom: 20)
        let list = held([0..<20], total: .exact(100))
        _ = conclude(list, belief: &belief, pass: &pass)
        #expect(conclude(list, belief: &belief, pass: &pass) == .window(end: 20, total: 100))
        let short = held([0..<24], total: .exact(30))
        var refusing = belief
        refusing.end.observe(refusalOf: 24, total: .exact(30))
        _ = conclude(short, belief: &refusing, pass: &pass)
        #expect(conclude(short, belief: &refusing, pass: &pass) == .window(end: 24, total: 30))
    }

    @Test("A known window still ends a list whose items an insert has moved behind it (R24)")
    func knownWindow() {
        var (belief, pass) = (belief, pass)
        belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
        pass.fill.observe(emptyFrom: 24)
        let list = held([0..<24], total: .exact(33), window: 20)
        _ = conclude(list, belief: &belief, pass: &pass)
        #expect(conclude(list, belief: &belief, pass: &pass) == .window(end: 24, total: 33))
        var opened = belief
        opened.end.openedWindow = 20
        let isOpen = held([0..<24], total: .exact(33))
        #expect(conclude(isOpen, belief: &opened, pass: &pass) == .window(end: 24, total: 33))
        let before = held([0..<24], total: .exact(33), window: 30)
        #expect(conclude(before, belief: &belief, pass: &pass) == .miscounted(total: 33, end: 24))
    }

    @Test("No result window ends before items that the run has received (R24)")
    func noWindow() {
        var (belief, pass) = (belief, pass)
        belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
        belief.end.observe(itemsBefore: 50)
        pass.fill.observe(emptyFrom: 20)
        let list = held([0..<20], total: .exact(100))
        _ = conclude(list, belief: &belief, pass: &pass)
        #expect(conclude(list, belief: &belief, pass: &pass) == .unchanged)
    }

    @Test("Without a total, a refusal behind the items shows the window in the second pass")
    func refusal() {
        var (belief, pass) = (belief, pass)
        let list = held([0..<20])
        pass.fill.observe(refusalOf: 20)
        #expect(conclude(list, belief: &belief, pass: &pass) == .unchanged, "a single refusal is that of a page")
        pass.fill.observe(emptyFrom: 20)
        #expect(conclude(list, isFirstPass: true, belief: &belief, pass: &pass) == .again)
        #expect(conclude(list, belief: &belief, pass: &pass) == .window(end: 20, total: nil))
    }

    @Test("A chain that ends before or behind its total is walked completely before the total counts as wrong (R24)")
    func chain() {
        var (belief, pass) = (belief, pass)
        belief.sizes.observe(pageOne: 10, requested: nil, isWhole: false, isSure: true)
        let list = held([0..<30], total: .exact(28), end: 30)
        #expect(conclude(list, .chain, isFirstPass: true, belief: &belief, pass: &pass) == .again)
        #expect(conclude(list, .chain, belief: &belief, pass: &pass) == .again, "no walk has reached the end")
        belief.order.reached(end: 30, isWhole: true, total: .exact(28))
        #expect(conclude(list, .chain, belief: &belief, pass: &pass) == .again, "a second walk confirms the excess")
        #expect(pass.walk.mode == .whole)
        #expect(conclude(list, .chain, belief: &belief, pass: &pass) == .miscounted(total: 28, end: 30))
    }

    @Test("Without a total, page one confirms a list that was read in this pass")
    func confirmation() {
        var (belief, pass) = (belief, pass)
        let list = held([0..<30], end: 30)
        pass.newItems = 30
        #expect(conclude(list, belief: &belief, pass: &pass) == .whole(isConfirmed: false))
        pass.newItems = 0
        #expect(conclude(list, belief: &belief, pass: &pass) == .whole(isConfirmed: true))
    }

    @Test("Without a total, page one confirms a walk of several pages, unless it has been repeated twice")
    func walk() {
        var (belief, pass) = (belief, pass)
        let list = held([0..<30], end: 30)
        belief.pageOne.received = [1, 2, 3]
        pass.walk.newPages = 2
        for _ in 0..<2 {
            #expect(conclude(list, .chain, belief: &belief, pass: &pass) == .whole(isConfirmed: false))
            #expect(belief.order.awaitsConfirmation)
            #expect(belief.order.isWalkAgainNeeded(after: [1, 3]) == true, "item 2 has left page one")
            belief.order.endConfirmation()
        }
        #expect(conclude(list, .chain, belief: &belief, pass: &pass) == .whole(isConfirmed: true))
    }
}
