/// Whether a page is to be fetched before somebody gets there, from how far they have looked: pure (X13).
struct Prefetch: Equatable {
    /// What of a list can be shown, as far as it matters here.
    struct Extent: Equatable {
        var items: Int
        var pages: Int
        /// Nothing can be fetched ahead of what is not there.
        var canGrow: Bool
    }

    /// How many pages ahead of the item that is looked at are wanted.
    let distance: Int
    /// How many pages come by themselves before somebody looks again.
    let limit: Int
    private var position = -1
    private var fetched = 0

    /// - Parameters:
    ///   - distance: pages. 0: only when the last item is seen.
    ///   - limit: pages; less than 1 counts as 1.
    init(distance: Int, limit: Int) {
        self.distance = distance
        self.limit = max(1, limit)
    }

    mutating func looked(at position: Int) {
        self.position = max(self.position, position)
        fetched = 0
    }

    mutating func began() { fetched += 1 }

    mutating func restart() {
        position = -1
        fetched = 0
    }

    func wantsMore(of list: Extent) -> Bool {
        let page = max(1, list.items / max(1, list.pages))
        return list.canGrow && fetched < limit && itemsAhead(in: list) <= distance * page
    }

    func isAtTheEnd(of list: Extent) -> Bool { itemsAhead(in: list) <= 0 }

    private func itemsAhead(in list: Extent) -> Int { list.items - 1 - position }
}

extension ListSnapshot {
    var extent: Prefetch.Extent {
        Prefetch.Extent(items: items.count, pages: pagesLoaded, canGrow: isLoaded && hasMore)
    }
}
