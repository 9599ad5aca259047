import PageModel

/// What a list shows of pages that are not kept: their items, in this process and for as long as the list is held.
struct UnkeptList<Value: Sendable>: Sendable {
    var pages: UnkeptPages
    /// When page one came, where it is among them.
    let servedAt: Timestamp
    /// Attempts at the page behind them that have failed, one after the other.
    var attempts = 0
    /// What was stored when the first of them came: of any other list they are no part.
    private let version: ListVersion
    private let validatedAt: Timestamp?
    private var decoded: [DecodedPage<Value>] = []

    init(_ pages: UnkeptPages, behind stored: ListSnapshot<Value>, at now: Timestamp) {
        self.pages = pages
        servedAt = now
        version = stored.version
        validatedAt = stored.validatedAt
    }

    mutating func append(_ page: DecodedPage<Value>) { decoded.append(page) }

    /// The list as it is shown: what is stored, and these pages behind it, or in its place. Nil when what is stored has
    /// become another list, or its page one a newer one.
    func laid(over stored: ListSnapshot<Value>) -> ListSnapshot<Value>? {
        let isWhole = pages.start == 0
        guard
            isWhole ? stored.validatedAt == validatedAt : stored.version == version && stored.items.count == pages.start
        else {
            return nil
        }
        var snapshot = isWhole ? ListSnapshot<Value>() : stored
        snapshot.isKept = false
        if isWhole {
            snapshot.version = stored.version
            snapshot.failingPages = stored.failingPages
            snapshot.validatedAt = servedAt
            // It is not to be used again without asking, however young it is.
            snapshot.freshness = .stale
        }
        let behind = snapshot.runs.filter { $0.offset > 0 }.compactMap { $0.part(from: pages.end) }
        snapshot.runs = snapshot.runs.filter { $0.offset == 0 }
        var position = pages.start
        for page in decoded {
            for stretch in page.stretches { snapshot.lay(stretch.values, at: position + stretch.index) }
            // R12: where an item cannot be used, a hole stays.
            for index in page.unusable { snapshot.unusable.append(position + index..<position + index + 1) }
            position += page.count
        }
        if let first = snapshot.runs.first, first.offset == 0 { snapshot.items = first.items }
        snapshot.runs += behind
        snapshot.gaps = snapshot.gaps.map { max($0.lowerBound, pages.end)..<max($0.upperBound, pages.end) }.filter {
            !$0.isEmpty
        }
        snapshot.pagesLoaded += pages.pages
        // G1: one behind the other by continuation alone.
        snapshot.inferredSeams += isWhole ? max(0, pages.pages - 1) : pages.pages
        snapshot.total = (pages.total == .unknown ? snapshot.total : pages.total).believed(reached: pages.end)
        snapshot.end = pages.isAtEnd ? pages.end : snapshot.total.exactCount
        snapshot.hasMore = !pages.isAtEnd
        return snapshot
    }
}

extension ListSnapshot {
    fileprivate mutating func lay(_ values: [Value], at position: Int) {
        if let last = runs.last, last.range.upperBound == position, last.isHeld {
            runs[runs.count - 1].items.append(values)
        } else {
            runs.append(Run(offset: position, items: PagedItems([values]), isHeld: true))
        }
    }
}

extension ListSnapshot.Run {
    /// What of it lies from `position` on; nil: nothing.
    fileprivate func part(from position: Int) -> ListSnapshot.Run? {
        guard range.upperBound > position else { return nil }
        guard offset < position else { return self }
        return ListSnapshot.Run(
            offset: position, items: PagedItems([Array(items.dropFirst(position - offset))]), isHeld: isHeld)
    }
}
