import PageModel

/// The unstored pages that a list shows. Their items exist only in this process, while the list is in use.
struct NoStoreList<Value: Sendable>: Sendable {
    var pages: EphemeralPages
    /// The time at which page one arrived last, if page one is among these pages.
    private(set) var servedAt: Timestamp
    /// The number of consecutive failed attempts to fetch the next page.
    var attempts = 0
    /// The version of the stored list when the first of these pages arrived. The pages do not fit a list of another
    /// version.
    private let version: ListVersion
    private let validatedAt: Timestamp?
    /// The fingerprint and the total of the first of these pages.
    private let first: (fingerprint: UInt64, total: ListTotal)
    private var decoded: [DecodedPage<Value>] = []

    init(
        _ pages: EphemeralPages, behind stored: ListSnapshot<Value>, from first: FetchedPage, at now: Timestamp
    ) {
        self.pages = pages
        self.first = (first.content.fingerprint, first.total)
        servedAt = now
        version = stored.version
        validatedAt = stored.validatedAt
    }

    /// Confirms the list by a page one that equals the known one. Returns false when the pages differ, or when page one
    /// is not among these pages.
    mutating func confirm(_ page: FetchedPage, at now: Timestamp) -> Bool {
        guard pages.start == 0, first == (page.content.fingerprint, page.total) else { return false }
        servedAt = now
        return true
    }

    mutating func append(_ page: DecodedPage<Value>) { decoded.append(page) }

    /// Returns the list to show: the stored items, with these pages after them or in their place. Returns nil when the
    /// stored list has changed since the first of these pages arrived, or has a newer page one.
    /// - Parameters:
    ///   - stored: the snapshot of the stored list.
    ///   - skips: whether `ListSnapshot.items` leaves out items that do not decode.
    ///   - limit: the position after the last item to show.
    func merged(over stored: ListSnapshot<Value>, skips: Bool, limit: Int) -> ListSnapshot<Value>? {
        let isWhole = pages.start == 0
        guard
            isWhole ? stored.validatedAt == validatedAt : stored.version == version && stored.headEnd == pages.start
        else {
            return nil
        }
        var snapshot = isWhole ? ListSnapshot<Value>() : stored
        snapshot.isStored = false
        if isWhole {
            snapshot.version = stored.version
            snapshot.failingPages = stored.failingPages
            snapshot.validatedAt = servedAt
            // Such a list must not be served without a request, however recent it is.
            snapshot.freshness = .stale
        }
        let behind = snapshot.segments.compactMap { $0.part(from: pages.end) }
        snapshot.segments = snapshot.segments.filter { $0.range.upperBound <= pages.start }
        var position = pages.start
        for whole in decoded where position < limit {
            let page = whole.prefix(limit - position)
            for stretch in page.stretches {
                snapshot.segments.add(stretch.values, at: position + stretch.index, isHeld: true)
            }
            for index in page.unusable { snapshot.unusable.append(position: position + index) }
            for index in page.undecodable { snapshot.undecodable.append(position: position + index) }
            position += whole.count
        }
        snapshot.isAtItemLimit = pages.end > limit || pages.end == limit && !pages.isAtEnd
        snapshot.collectItems(skipping: skips ? snapshot.undecodable : [])
        snapshot.segments += behind
        snapshot.gaps = snapshot.gaps.map { max($0.lowerBound, pages.end)..<max($0.upperBound, pages.end) }.filter {
            !$0.isEmpty
        }
        if pages.allowsDuplicates { snapshot.allowsDuplicates = true }
        snapshot.pagesLoaded += pages.pages
        // Only the order of the requests connects these pages, so their seams are inferred (G1).
        snapshot.inferredSeams += isWhole ? max(0, pages.pages - 1) : pages.pages
        snapshot.total = (pages.total == .unknown ? snapshot.total : pages.total).believed(reached: pages.end).raised(
            to: pages.end)
        snapshot.end = pages.isAtEnd ? pages.end : snapshot.total.exactCount
        snapshot.hasMore = !pages.isAtEnd || snapshot.isAtItemLimit || pages.end == 0 && snapshot.total.count ?? 0 > 0
        if snapshot.hasMore, snapshot.end == pages.end { snapshot.end = nil }
        // `items` may end before an item that does not decode.
        if snapshot.itemsEnd < pages.end { snapshot.hasMore = true }
        return snapshot
    }
}

extension ListSnapshot.Segment {
    /// Returns the part of the segment from `position` on. Returns nil when no item is there.
    fileprivate func part(from position: Int) -> ListSnapshot.Segment? {
        guard range.upperBound > position else { return nil }
        guard offset < position else { return self }
        return ListSnapshot.Segment(
            offset: position, items: PagedItems([Array(items.dropFirst(position - offset))]), isHeld: isHeld)
    }
}
