import PageModel
import Testing

@testable import PagedRepository

@Suite("Comparison of page one")
struct FirstPageDiffTests {
    /// Decides about an answer with the names `answer`, compared with a cached list of the names `cached`.
    private func decide(
        _ answer: [String], total: Int?, cached: [String], cachedTotal: Int?, end: Int? = nil, readable: Int? = nil,
        confirmed: Bool = false
    ) -> FirstPageDiff.Result {
        FirstPageDiff.decide(
            FetchedPage(content: named(answer), total: total.map { .exact($0) } ?? .unknown), end: end,
            cached: FirstPageDiff.Cached(
                total: cachedTotal.map { .exact($0) } ?? .unknown, headEnd: cached.count, isEmpty: cached.isEmpty,
                readableEnd: readable ?? cached.count,
                headIdentities: Array(named(cached).identities.prefix(answer.count))),
            isConfirmed: confirmed)
    }

    private let list = (0..<20).map { "i\($0)" }

    @Test("Page one is unchanged when it has the same items at the same positions and the same total (R16)")
    func unchanged() {
        #expect(decide(Array(list.prefix(5)), total: 20, cached: list, cachedTotal: 20) == .unchanged)
        #expect(decide(Array(list.prefix(5)), total: nil, cached: list, cachedTotal: nil) == .unchanged)
    }

    @Test("Another item, another order or another total is a change")
    func changed() {
        #expect(decide(["new"] + list.prefix(4), total: 20, cached: list, cachedTotal: 20) == .changed)
        #expect(decide(["i1", "i0", "i2"], total: 20, cached: list, cachedTotal: 20) == .changed)
        #expect(decide(Array(list.prefix(5)), total: 21, cached: list, cachedTotal: 20) == .changed)
    }

    @Test("With no held items, page one is a first load")
    func firstLoad() {
        #expect(decide(["a"], total: 1, cached: [], cachedTotal: nil) == .firstLoad)
    }

    @Test("Without totals, an end before half of the held items is unconfirmed (R20)")
    func earlyEnd() {
        #expect(decide(["i0", "i1"], total: nil, cached: list, cachedTotal: nil, end: 2) == .unconfirmed)
        #expect(decide(["i0", "i1"], total: nil, cached: list, cachedTotal: nil, end: 2, confirmed: true) == .changed)
        #expect(decide(Array(list.prefix(15)), total: nil, cached: list, cachedTotal: nil, end: 15) == .changed)
    }

    @Test("A list that shrinks by more than half, or to zero items, is unconfirmed (R20)")
    func doubt() {
        #expect(decide(Array(list.prefix(5)), total: 9, cached: list, cachedTotal: 20) == .unconfirmed)
        #expect(decide(Array(list.prefix(5)), total: 10, cached: list, cachedTotal: 20) == .changed)
        #expect(
            decide([], total: nil, cached: [], cachedTotal: nil, end: 0, readable: 500) == .unconfirmed,
            "the items of an older generation could be lost")
        #expect(decide([], total: nil, cached: [], cachedTotal: nil, end: 0) == .firstLoad)
    }

    @Test("A confirmed empty page one is a change while items are readable, also where position 0 is not held")
    func emptied() {
        let cached = FirstPageDiff.Cached(
            total: .unknown, headEnd: 0, isEmpty: false, readableEnd: 19, headIdentities: [])
        let answer = FetchedPage(content: named([]))
        #expect(FirstPageDiff.decide(answer, end: 0, cached: cached, isConfirmed: false) == .unconfirmed)
        #expect(FirstPageDiff.decide(answer, end: 0, cached: cached, isConfirmed: true) == .changed)
    }
}
