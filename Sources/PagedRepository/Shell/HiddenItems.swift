import PageModel

/// Origins that leave items out of their pages, for example because the caller may not see them (R53). A short page in
/// the middle of such a list is not an end, and a later position is larger than the number of returned items before it.
/// So the pages are requested one after the other, and their items are stored without gaps: see `PositionWalk`.
extension SyncRun {
    /// The way in which the pages of this list are requested: as a chain if the origin hides items.
    var access: PagingAccess { belief.access(source.access) }

    /// Requests the pages one after the other from now on, beginning with page one.
    func walkByPosition() {
        belief.hidden.isHiding = true
        warn("the origin leaves items out of its pages; the pages are fetched one after the other")
        belief.drift.explained()
        queue.clear()
        // The stored validator belongs to a page one without a cursor.
        belief.drift.asksUnconditionally = true
        walkAllAgain()
    }

    /// Returns page one with the cursor of the next page, if the list is walked by position. A page one without items
    /// says that the list is empty, and gets no cursor (R20).
    func withPositionCursor(_ page: FetchedPage) -> FetchedPage {
        belief.hidden.isHiding && source.access.supportsRandomAccess && !page.content.isEmpty
            ? belief.hidden.walk.head(page, source.access) : page
    }

    /// Returns the new items of an answer to a request by position, with the cursor of the next page. Returns nil when
    /// the answer shows that the list has moved.
    func newItems(
        of page: FetchedPage, behind cursor: PositionCursor, at offset: Int, _ list: ListOutline
    ) async throws(StorageError) -> FetchedPage? {
        let (query, keys) = (list.record.id, page.content.identities.map(\.key))
        let before = try await storage.window(of: query, max(0, offset - keys.count)..<offset)
        let held = (before?.parts ?? []).filter(\.isHeld).flatMap { $0.content.identities.map(\.key) }
        let repeated = cursor.repeats(keys, behind: held)
        var isKnown = false
        // Where ids repeat, a known id does not prove a known item (R25).
        if repeated == 0, !keys.isEmpty, !list.record.allowsDuplicates {
            let places = try await storage.locate(Set(keys), in: query)
            isKnown = keys.allSatisfy { places[$0].map { $0.position < offset } ?? false }
        }
        return belief.hidden.walk.follow(
            PositionWalk.Answer(page: page, cursor: cursor, offset: offset, repeated: repeated, isKnown: isKnown),
            known: list.record.total, source.access)
    }

    /// Requests pages by position again if a walk from page one to the end has found no page that lacks items (R53).
    func resumeRequestsByPosition(_ list: ListOutline) async throws(StorageError) {
        guard belief.hidden.isHiding, !belief.hidden.walk.sawHidden, belief.pageOne.count >= belief.hidden.walk.span,
            belief.pageOne.count > 0,
            let end = list.record.end, belief.isWalkedWhole(to: end), list.isComplete,
            let first = list.heldPages.first, first.offset == 0, PositionCursor(first.cursorOut) != nil,
            let content = try await storage.window(of: list.record.id, first.range)?.parts.first?.content,
            content.count == first.count
        else { return }
        let page = PageWrite(offset: 0, content: content, evidence: .verified, validator: first.validator)
        // If the same items are stored again, a held page keeps its cursor. So its positions are marked as stale first.
        if try await commit([.markStale(first.range), .insertPage(page)], [], list) { belief.hidden.isHiding = false }
        pass.mustRestart = false
    }

    /// Handles a short answer in the middle of the list. The first such answer may be a fault, so the request is
    /// repeated. The same answer again shows that the origin hides items.
    func lookAgain(at page: FetchedPage, from start: Int, _ target: FetchTarget) {
        if belief.hidden.isRepeated(short: page.content.identities, at: start) {
            walkByPosition()
        } else {
            queue.addFirst(target)
        }
    }

    // MARK: Requests after an end

    /// Returns requests after positions that the total counts, and for which the origin returned no item. If later
    /// positions have items, the origin hides items, and the total is right.
    func looksBehind(_ list: ListOutline) -> [FetchTarget] {
        guard access.supportsRandomAccess, !pass.fill.hasLookedBehind, pass.fill.refused.isEmpty,
            let from = pass.fill.emptyFrom,
            let total = list.record.total.exactCount,
            belief.end.overcount == EndBelief.Overcount(reached: list.coverage.headEnd, total: total),
            belief.sizes.size > 0
        else { return [] }
        pass.fill.hasLookedBehind = true
        var (size, first) = (belief.sizes.size, from + belief.sizes.size - 1)
        if case .grid(let grid) = source.access { (size, first) = (grid, from / grid * grid + grid) }
        // The total may not count the hidden items, so two pages after the total are requested as well.
        let behind = first + max(0, (total - first + size - 1) / size) * size
        let few = stride(from: first, to: min(behind, first + SyncRun.mostLooks * size), by: size)
        for position in Array(few) + [max(first, behind - size), behind, behind + size]
        where position < ListTotal.largest - size {
            pass.fill.looks[position] = PositionFill.Look(end: nil)
        }
        return pass.fill.looks.keys.sorted().map { .range($0..<$0 + size, overlap: 0) }
    }

    /// The maximum number of pages that are requested directly after the end, besides those around the total.
    private static let mostLooks = 3

    /// Handles the answer to a request after a supposed end.
    func looked(
        _ answer: PageAnswer, at start: Int, _ look: PositionFill.Look, _ query: QueryID
    ) async throws(StorageError) {
        if case .page(let page) = answer {
            // Items that are held show only that the origin repeats itself after the end (R24).
            let keys = Set(page.content.identities.map(\.key))
            if try await storage.locate(keys, in: query).count < keys.count { return walkByPosition() }
        }
        guard let list = try await storage.outline(of: query) else { return }
        if case .page(let page) = answer, page.content.isEmpty, page.saysMore, let end = look.end {
            // The origin says that more items follow, which takes precedence over a reached total (R24).
            pass.fill.observe(withoutNewItems: start)
            _ = try await commit(
                [.setTotal(.estimate(end + 1))], [leases.deleted(start)], list)
            return
        }
        if answer.refusesPosition { belief.end.observe(refusalOf: start, total: list.record.total) }
        try await nothingBehind(look, at: start, list)
    }

    /// Sets the end of the list, once a request after that end has returned no new item.
    func nothingBehind(_ look: PositionFill.Look, at start: Int, _ list: ListOutline) async throws(StorageError) {
        pass.fill.observe(withoutNewItems: start)
        guard let end = look.end, list.record.end != end else { return }
        // If the last page has arrived with fewer items, the items it lacks are removed: two answers lacked them, and
        // the next page is empty. An earlier run may have begun this check, and removed the end from the record.
        let rest = list.coverage.headEnd - end
        let isLastPage = list.coverage.headEnd == belief.end.heldEnd && belief.end.furthest <= end
        guard rest == 0 || rest > 0 && rest < belief.sizes.size && isLastPage else { return }
        belief.end.proven = end
        try await apply([.setEnd(end)], [leases.deleted(start)], to: list)
    }
}
