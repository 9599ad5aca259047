import PageModel

/// Reads of a list in memory.
extension MemoryList {
    /// Returns the outline of the list. With a range, returns only the pages and fetch records at these positions.
    func outline(_ range: Range<Int>? = nil, at moment: StorageMoment) -> ListOutline {
        ListOutline(
            record: record, pages: pages.filter { range.map($0.meets) ?? true }.map(\.summary),
            ledger: ledger.entries(at: moment).filter { range?.contains($0.offset) ?? true }, readAt: moment.now)
    }

    /// Returns the part of the list that a refresh reads if page one is unchanged.
    func state(at moment: StorageMoment) -> ListState {
        var state = ListState(outline(at: moment))
        state.holdings = state.holdings?.kept
        if let head = pages.first(where: { $0.offset == 0 && isHeld($0) }) {
            state.pageOne?.identities = head.content.identities
        }
        return state
    }

    func window(_ range: Range<Int>, at moment: StorageMoment) -> ListWindow {
        let parts = pages.filter { !$0.isEmpty && $0.meets(range) }.map { page in
            let wanted = page.range.clamped(to: range)
            return ListWindow.Part(
                offset: wanted.lowerBound,
                content: page.content.slice(wanted.lowerBound - page.offset..<wanted.upperBound - page.offset),
                isHeld: isHeld(page), validatedAt: page.summary.validatedAt)
        }
        return ListWindow(record: record, range: range, parts: parts, damaged: [], readAt: moment.now)
    }

    /// Returns the first held position of each key, with the hash of the item there.
    func locate(_ wanted: Set<UInt64>) -> [UInt64: ItemPlace] {
        var places: [UInt64: ItemPlace] = [:]
        for page in pages where isHeld(page) && page.keys.contains(where: wanted.contains) {
            for (index, identity) in page.content.identities.enumerated()
            where wanted.contains(identity.key) && places[identity.key] == nil {
                places[identity.key] = ItemPlace(position: page.offset + index, content: identity.content)
            }
        }
        return places
    }

    var bytes: Int { pages.reduce(0) { $0 + $1.bytes } }

    /// Whether every position, the total and the end are within the bounds of stored numbers (R46).
    var isPossible: Bool {
        let numbers = pages.map(\.range.upperBound) + ledger.offsets + [record.total.count ?? 0, record.end ?? 0]
        return numbers.allSatisfy { $0 >= 0 && $0 <= ListTotal.largest }
    }

    func candidates(isExempt: Bool) -> [EvictionPlan.Candidate] {
        pages.map { page in
            EvictionPlan.Candidate(
                query: record.id, offset: page.offset, bytes: page.bytes, usedAt: page.usedAt,
                isExempt: isExempt || record.isPinned)
        }
    }
}
