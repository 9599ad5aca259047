/// Decides whether a page is fetched ahead, by the last visible position. Pure logic, without I/O.
struct Prefetch: Equatable {
    /// The extent of a list, as a screen shows it.
    struct Extent: Equatable {
        var items: Int
        var pages: Int
        /// Whether more items can follow. Otherwise no page can be fetched ahead.
        var canGrow: Bool
    }

    /// The number of pages to hold ahead of the furthest visible item.
    let distance: Int
    /// The maximum number of pages that are fetched before another item appears.
    let limit: Int
    private var position = -1
    private var fetched = 0

    /// - Parameters:
    ///   - distance: the number of pages. A value of 0 or less fetches only when the last item is visible.
    ///   - limit: the number of pages. A value below 1 counts as 1.
    init(distance: Int, limit: Int) {
        self.distance = max(0, distance)
        self.limit = max(1, limit)
    }

    mutating func itemAppeared(at position: Int) {
        self.position = max(self.position, position)
        fetched = 0
    }

    /// The furthest visible position. `nil` means that no item has appeared since the last restart.
    var furthest: Int? { position < 0 ? nil : position }

    mutating func began() { fetched += 1 }

    /// Removes the last prefetch from the count that `limit` bounds, because it added no item that could appear next.
    mutating func addedNothing() { fetched = max(0, fetched - 1) }

    /// Prepares for a refresh. The furthest position is forgotten, unless the last item is visible and more items can
    /// follow. An item that stays visible does not appear again.
    mutating func willRefresh(_ list: Extent) {
        if !list.canGrow || !isAtTheEnd(of: list) { restart() }
    }

    /// Limits the furthest position to the list as it is after a refresh.
    mutating func refreshed(_ list: Extent) { position = min(position, list.items - 1) }

    mutating func restart() {
        position = -1
        fetched = 0
    }

    func wantsMore(of list: Extent) -> Bool {
        let page = max(1, list.items / max(1, list.pages))
        // A distance longer than any list must not overflow.
        let (ahead, isBeyond) = distance.multipliedReportingOverflow(by: page)
        return list.canGrow && fetched < limit && (isBeyond || itemsAhead(in: list) <= ahead)
    }

    func isAtTheEnd(of list: Extent) -> Bool { itemsAhead(in: list) <= 0 }

    private func itemsAhead(in list: Extent) -> Int { list.items - 1 - position }
}

extension ListSnapshot {
    var extent: Prefetch.Extent {
        Prefetch.Extent(items: items.count, pages: pagesLoaded, canGrow: isLoaded && hasMore && !isAtItemLimit)
    }
}
