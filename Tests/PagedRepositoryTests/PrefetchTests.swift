import Testing

@testable import PagedRepository

@Suite("Prefetching")
struct PrefetchTests {
    private let tenPages = Prefetch.Extent(items: 100, pages: 10, canGrow: true)

    @Test("Prefetching starts the given number of pages before the end, and not one item sooner", arguments: [0, 1, 3])
    func distance(_ pages: Int) {
        var prefetch = Prefetch(distance: pages, limit: 9)
        prefetch.itemAppeared(at: 99 - pages * 10 - 1)
        #expect(!prefetch.wantsMore(of: tenPages))
        prefetch.itemAppeared(at: 99 - pages * 10)
        #expect(prefetch.wantsMore(of: tenPages))
        #expect(prefetch.isAtTheEnd(of: tenPages) == (pages == 0))
    }

    @Test(
        "An item that appears prefetches no more pages than the limit, and a limit below 1 counts as 1 (X13)",
        arguments: [(-3, 1), (1, 1), (4, 4)])
    func limit(_ limit: Int, _ pages: Int) {
        var prefetch = Prefetch(distance: 100, limit: limit)
        prefetch.itemAppeared(at: 0)
        for _ in 0..<pages {
            #expect(prefetch.wantsMore(of: tenPages))
            prefetch.began()
        }
        #expect(!prefetch.wantsMore(of: tenPages))
        prefetch.itemAppeared(at: 0)
        #expect(prefetch.wantsMore(of: tenPages))
    }

    @Test("An earlier item that appears does not reset the furthest position, and a restart does")
    func back() {
        var prefetch = Prefetch(distance: 0, limit: 9)
        prefetch.itemAppeared(at: 99)
        prefetch.itemAppeared(at: 3)
        #expect(prefetch.wantsMore(of: tenPages))
        prefetch.restart()
        #expect(!prefetch.wantsMore(of: tenPages))
    }

    @Test("A refresh keeps the furthest position only if it is the last one and more can follow")
    func refresh() {
        var prefetch = Prefetch(distance: 1, limit: 2)
        prefetch.itemAppeared(at: 99)
        prefetch.began()
        prefetch.willRefresh(tenPages)
        #expect(prefetch.furthest == 99 && prefetch.wantsMore(of: tenPages))
        prefetch.began()
        #expect(!prefetch.wantsMore(of: tenPages), "the limit counts on")
        prefetch.addedNothing()
        #expect(prefetch.wantsMore(of: tenPages))
        prefetch.refreshed(Prefetch.Extent(items: 20, pages: 2, canGrow: true))
        #expect(prefetch.furthest == 19, "the list is shorter")
        prefetch.willRefresh(tenPages)
        #expect(prefetch.furthest == nil, "further items can appear")
        prefetch.itemAppeared(at: 99)
        prefetch.willRefresh(Prefetch.Extent(items: 100, pages: 10, canGrow: false))
        #expect(prefetch.furthest == nil)
    }

    @Test("Prefetching stops at the end of a list")
    func ended() {
        var prefetch = Prefetch(distance: 100, limit: 9)
        prefetch.itemAppeared(at: 5)
        #expect(!prefetch.wantsMore(of: Prefetch.Extent(items: 100, pages: 10, canGrow: false)))
        #expect(
            prefetch.wantsMore(of: Prefetch.Extent(items: 0, pages: 0, canGrow: true)), "an empty page is not an end")
    }
}
