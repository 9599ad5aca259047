import PageModel
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import PagedRepository

/// Origins that put the items of a page in another order in each answer (R18, R21).
@Suite("Pages without an order")
struct PageOrderTests {
    private let clock = ManualClock()

    private func observed(_ names: [String], at offset: Int, held: [String: Int]) -> ObservedPage {
        let content = named(names)
        let places = zip(names, content.identities).compactMap { name, identity in
            held[name].map { (identity.key, ItemPlace(position: $0, content: identity.content)) }
        }
        return ObservedPage(
            offset: offset, content: content, places: Dictionary(places, uniquingKeysWith: { first, _ in first }),
            isEnd: false)
    }

    @Test("Two other orders of page one prove that its order says nothing, unless its items change between them")
    func proof() {
        var order = PageOrder()
        let first = order.observe([1, 2, 3], after: [])
        let moved = order.observe([3, 1, 2], after: [1, 2, 3])
        let same = order.observe([3, 1, 2], after: [3, 1, 2])
        #expect([first, moved, same] == [false, false, false] && !order.isArbitrary)
        var other = order
        let isProof = order.observe([2, 1, 3], after: [3, 1, 2])
        #expect(isProof && order.isArbitrary)
        let isOtherList = other.observe([4, 1, 3], after: [3, 1, 2])
        let isOne = other.observe([1, 3, 4], after: [4, 1, 3])
        #expect(!isOtherList && !isOne && !other.isArbitrary)
    }

    @Test("Pages without an order are requested at the same positions each time")
    func placing() {
        var belief = ListBelief()
        belief.sizes.observe(pageOne: 3, requested: nil, isWhole: false, isSure: true)
        #expect(belief.access(.offsets) == .offsets)
        _ = belief.pageOrder.observe([3, 1, 2], after: [1, 2, 3])
        _ = belief.pageOrder.observe([2, 1, 3], after: [3, 1, 2])
        #expect(belief.access(.offsets) == .grid(size: 3))
        #expect(belief.access(.chain) == .chain && belief.access(.grid(size: 5)) == .grid(size: 5))
        belief.sizes.observe(pageOne: 3, requested: nil, isWhole: false, isSure: false)
        #expect(belief.access(.offsets) == .offsets, "the size of a page is not known for sure")
    }

    @Test("Only the items that are held at exactly these positions are the same page in another order")
    func reordered() {
        let held = ["a": 3, "b": 4, "c": 5, "d": 6]
        #expect(observed(["c", "a", "b"], at: 3, held: held).isReordered)
        #expect(!observed(["a", "b", "c"], at: 3, held: held).isReordered, "in order")
        #expect(!observed(["c", "a", "new"], at: 3, held: held).isReordered, "an insert")
        #expect(!observed(["d", "a", "b"], at: 3, held: held).isReordered, "an item from behind")
        #expect(!observed(["b", "a", "a"], at: 3, held: held).isReordered, "an item twice")
        #expect(!observed([], at: 3, held: held).isReordered)
    }

    @Test("A page in another order fills gaps only if it has all items held there, and none from elsewhere (R5)")
    func ordering() throws {
        let held = ["a": 3, "b": 4]
        let ordered = try #require(observed(["new", "b", "a"], at: 3, held: held).ordering(held: 2))
        guard case .written(let page, from: let from) = ordered.pieces[1] else {
            Issue.record("\(ordered)")
            return
        }
        #expect(ordered.pieces.first == .kept(0..<3) && ordered.pieces.last == .kept(6..<Int.max))
        #expect(page.offset == 3 && page.content.ids == ["new", "b", "a"] && from == [nil, 4, 3])
        #expect(observed(["new", "b", "other"], at: 3, held: held).ordering(held: 2) == nil, "one is gone")
        let elsewhere = held.merging(["c": 9]) { one, _ in one }
        #expect(observed(["c", "b", "a"], at: 3, held: elsewhere).ordering(held: 2) == nil, "one has moved")
        #expect(observed(["new", "b", "new"], at: 3, held: held).ordering(held: 1) == nil, "one repeats")
    }

    @Test("A list whose pages have another order each time is complete after one run, and a refresh is one request")
    func load() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        origin.state.withLock { $0.reorders = true }
        func sync(_ work: SyncOptions.Work) async throws -> SyncReport {
            var options = SyncOptions()
            options.work = work
            options.concurrency = 1
            clock.advance(by: .seconds(1))
            return try await ListSync(
                storage: bench.store, source: origin, key: bench.key, options: options, clock: clock, jitter: { 0.5 }
            ).run()
        }
        func expectPages() async throws {
            let held = try await bench.held
            try #require(held.count == 48)
            for start in stride(from: 0, to: 48, by: 10) {
                let page = start..<min(start + 10, 48)
                #expect(Set(held[page].compactMap { $0 }) == Set(names(page)), "page at \(start)")
            }
        }
        let report = try await sync(.everything)
        #expect(report.outcome == .complete, "\(report.warnings)")
        try await expectPages()
        // Page one, an overlap that shows another item, page one twice, and four pages.
        #expect(origin.requests.count <= 8, "\(origin.requests.count)")
        let before = origin.requests.count
        #expect(try await sync(.everything).outcome == .complete)
        #expect(origin.requests.count == before + 1)
        let sweep = try await sync(.sweep)
        #expect(sweep.outcome == .complete && sweep.reconciliation == .swept, "\(sweep.warnings)")
        try await expectPages()
    }
}
