import PageModel

/// The meaning of the end of a pass, once no more pages can be fetched (R20, R24).
enum PassConclusion: Equatable {
    /// The record of the list stays as it is: the list is incomplete, or cut off by its result window.
    case unchanged
    /// Page one must be requested again.
    case again
    /// A result window cuts the list off.
    case window(end: Int, total: Int?)
    /// The total differs from the number of items.
    case miscounted(total: Int, end: Int)
    /// Every position is held. Page one is requested once more unless `isConfirmed` is true.
    case whole(isConfirmed: Bool)
}

extension ListBelief {
    /// The circumstances of the end of a pass.
    struct PassEnd {
        var list: ListOutline
        /// The way in which pages can be requested from the origin.
        var access: PagingAccess
        var isFirstPass: Bool
        /// Whether a position is missing that the run may still request.
        var hasMissing: Bool
        /// Whether some positions have failed permanently, so that this run does not request them again.
        var hasAbandonedPages: Bool
    }

    /// Decides whether the list is complete. Records what the next pass has to check.
    mutating func conclude(_ end: PassEnd, _ pass: inout RunPass) -> PassConclusion {
        let record = end.list.record
        let access = access(end.access)
        if access.supportsRandomAccess, let total = record.total.exactCount, end.list.coverage.headEnd < total,
            end.list.coverage.segments.count <= 1, pass.fill.emptyFrom != nil, !end.hasAbandonedPages, !end.hasMissing
        {
            return concludeOvercount(total, end, pass)
        }
        let refused = pass.fill.refused.filter { !pass.fill.isBeforeEmpty($0) }
        if access.supportsRandomAccess, record.total.exactCount == nil, let first = refused.min(),
            first <= end.list.coverage.headEnd, !end.hasMissing
        {
            return end.isFirstPass ? .again : .window(end: end.list.coverage.headEnd, total: nil)
        }
        if access == .chain, let last = record.end, last == end.list.coverage.headEnd,
            let total = record.total.exactCount, total != last
        {
            return concludeChain(endingAt: last, total, end, &pass)
        }
        guard end.list.isComplete else { return .unchanged }
        if access == .chain, pass.walk.hasShrunk, !areTotalsUnsteady, order.confirmsShrink() {
            pass.walk.mode = .whole
            return .again
        }
        guard record.total.exactCount == nil else { return .whole(isConfirmed: !pass.isOutgrown) }
        // Without a total, a move of the list between two pages stays unnoticed. So page one is requested again, until
        // no item of it has changed since the other pages were read.
        if end.access.supportsRandomAccess, pass.newItems > 0 { return .whole(isConfirmed: false) }
        // A deletion during a walk can move an item to a page that was fetched already. Page one can show the deletion.
        guard access == .chain, pass.walk.newPages > 1, order.mayConfirm else { return .whole(isConfirmed: true) }
        order.awaitConfirmation(of: pageOne.received)
        return .whole(isConfirmed: false)
    }

    /// Decides what a total means that is larger than the number of returned items, while the remaining positions are
    /// empty. The origin may have lost the items just now, so page one is requested once more (R20).
    private mutating func concludeOvercount(_ total: Int, _ end: PassEnd, _ pass: RunPass) -> PassConclusion {
        let reached = end.list.coverage.headEnd
        let overcount = EndBelief.Overcount(reached: reached, total: total)
        guard overcount == self.end.overcount, isOwnTotal(end.list.record) else {
            self.end.overcount = overcount
            return .again
        }
        if isWindow(end.list, end: reached, total: total, end.access, pass.fill) {
            return window(end: reached, total: total)
        }
        return .miscounted(total: total, end: reached)
    }

    /// Decides what a walk means whose end differs from the total. The list has changed, or the total is wrong, so page
    /// one is requested once more. If the total is the same then, a chain that was walked from its first to its last
    /// page is complete (R24).
    private mutating func concludeChain(
        endingAt last: Int, _ total: Int, _ end: PassEnd, _ pass: inout RunPass
    ) -> PassConclusion {
        let isOwnTotal = isOwnTotal(end.list.record)
        if end.list.isAtResultWindow, isOwnTotal { return .unchanged }
        guard !end.isFirstPass, isWalkedWhole(to: last), isOwnTotal else { return .again }
        if last > total, order.confirmsExcess() {
            pass.walk.mode = .whole
            return .again
        }
        // No empty page has shown the end, so the total may be right.
        if last < total, hidden.isHiding, hidden.walk.repeatsLastPage { return .window(end: last, total: total) }
        // A request that begins before a window can return items after it. So earlier answers with items after this end
        // do not disprove the window.
        if last < total, hidden.isHiding, !hidden.walk.hasSeenHidden, isWindowStated(at: last, total: total) {
            return .window(end: last, total: total)
        }
        if last < total, isWindow(end.list, end: last, total: total, end.access, pass.fill) {
            return window(end: last, total: total)
        }
        return .miscounted(total: total, end: last)
    }

    /// Whether the total is the one of this run's page one. If another writer has stored another total since, this
    /// run's observations about the end say nothing about it.
    private func isOwnTotal(_ record: QueryRecord) -> Bool { record.total.count == pageOne.total.count }

    /// Whether the chain was walked completely to `end`, and the total of page one is the same as then.
    func isWalkedWhole(to end: Int) -> Bool { order.isWalkedWhole(to: end, total: pageOne.total) }

    /// Returns the conclusion for a list that a result window seems to cut off. If this run has received items after
    /// that position, no window ends there, and the list is incomplete.
    private func window(end: Int, total: Int) -> PassConclusion {
        self.end.furthest > end ? .unchanged : .window(end: end, total: total)
    }

    /// Whether a full page states the end of the list, although the total counts more. A result window then cuts off
    /// the pages after it. After a short page, the total would be wrong. A much larger total makes the list unproven
    /// instead (R24).
    private func isWindowStated(at end: Int, total: Int) -> Bool {
        self.end.isStatedByFullPage(end) && total - end <= max(2 * sizes.size, end)
    }

    /// Whether a result window cut off a list whose items end before its total. Each of these facts shows a window:
    /// - A known window ends at this position or before.
    /// - The origin refuses the position.
    /// - A full page states that the list ends there.
    /// - The origin returns no item there although the previous page is full, and the total counts at least one full
    ///   page more.
    ///
    /// If none of them holds, the list ends there, and the total is wrong.
    private func isWindow(
        _ list: ListOutline, end: Int, total: Int, _ source: PagingAccess, _ fill: PositionFill
    ) -> Bool {
        guard end > 0 else { return false }
        // An insert moves held items beyond a window. It does not move the window.
        if let known = list.record.resultWindow ?? self.end.openedWindow, known <= end { return true }
        // The origin counts these positions, and refuses them. A wrong total looks the same, and `limited` is the safer
        // result.
        if self.end.hasRefusal(from: end, before: total) { return true }
        // A walk by position that has found no hidden item shows as much as requests by position.
        guard !hidden.isHiding || !hidden.walk.hasSeenHidden else { return false }
        if let refused = fill.refused.min(), refused <= end { return true }
        if isWindowStated(at: end, total: total) { return true }
        guard let last = list.heldPages.last, last.range.upperBound == end,
            source != .chain || list.heldPages.count > 1 && last.count >= sizes.size
        else { return false }
        return EndOfList.isCutOff(at: end, total: total, size: sizes.size, lastPage: last.count)
    }
}
