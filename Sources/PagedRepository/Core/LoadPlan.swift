import PageModel

/// Plans the fetches for the positions of a list that are not held. Pure logic, without I/O.
enum LoadPlan {
    /// The maximum number of fetches for gaps in a plan. The next plan is made when these are done. So a false total
    /// never causes a large allocation (R44).
    static let longest = 1_024
    /// From this page size on, each page after the held items overlaps if the list has no total. The overlaps cost up
    /// to 11 %.
    private static let smallestUncounted = 10

    /// Returns the fetches for the missing positions. Returns an empty array when no position is missing, or when no
    /// further request is possible.
    ///
    /// - Parameters:
    ///   - list: the held positions, and the known end of the list.
    ///   - access: how the origin's pages can be requested.
    ///   - size: the number of items of a full page of this origin.
    ///   - overlap: the number of known items to request again, for an origin that accepts any offset. `Overlap`
    ///     decides which pages include them (R21). Defaults to 0.
    ///   - isCheck: whether an earlier end of the list is checked. The request after the held items then begins with
    ///     the last known items. They show a deletion before them, and cost no further request. Defaults to false.
    ///   - again: the number of known items to request again with the page after the last known one, for an origin that
    ///     accepts any offset. Defaults to 0.
    static func targets(
        for list: ListOutline, access: PagingAccess, size: Int, overlap: Int = 0, isCheck: Bool = false, again: Int = 0
    ) -> [FetchTarget] {
        let overlap = Overlap(overlap, size: size)
        let coverage = list.coverage
        switch access {
        case .single:
            return []
        case .chain:
            guard list.record.end != coverage.headEnd,
                let last = list.heldPages.last(where: { $0.range.upperBound == coverage.headEnd }),
                let cursor = last.cursorOut
            else { return [] }
            return [.cursor(cursor, offset: coverage.headEnd)]
        case .offsets, .grid:
            guard let length = list.record.end ?? list.record.total.exactCount ?? list.record.resultWindow else {
                // The end of the list is unknown. One page is requested after the held items, and its answer shows
                // whether the list continues. No total shows an item that is removed meanwhile, so more pages overlap
                // (R21).
                let end = coverage.segments.last?.upperBound ?? 0
                let again = max(again, isCheck || size >= smallestUncounted ? overlap.items : 0)
                // Without an overlap, the check of the end requests the last page from its start, if that page is not
                // full. The items of the page then show a change before them.
                let isPart = isCheck && access == .offsets && again == 0 && end > size && end % size > 0
                return spans(coverage.gaps(below: end), access, size, overlap, list)
                    + openEnd(end, isPart ? .grid(size: size) : access, size, overlap, again: again)
            }
            let gaps = coverage.gaps(below: min(length, list.record.resultWindow ?? .max))
            return spans(gaps, access, size, overlap, list)
        }
    }

    /// Returns the positions that an automatic trigger must not fetch now (R33): their next attempt is not due, or they
    /// failed permanently.
    /// - Parameters:
    ///   - ledger: the ledger entries of the list.
    ///   - now: the storage's time.
    ///   - pause: the time after which a retryable page that has used up its attempts is fetched again. It is also the
    ///     longest back-off.
    ///   - longest: the longest pause that an origin can request (`Retry-After`). A later retry time was set under
    ///     another clock setting, and does not count (R29).
    static func suppressed(_ ledger: [LedgerEntry], now: Timestamp, pause: Duration, longest: Duration) -> Set<Int> {
        Set(
            ledger.filter { entry in
                guard entry.state.isFailure else { return false }
                if let next = entry.nextAttemptAt {
                    return next > now && next - now <= (entry.retryAfterUntil == nil ? pause : longest)
                }
                guard entry.state == .failedRetryable, let last = entry.lastAttemptAt else { return true }
                return last <= now && last + pause > now
            }.map(\.offset))
    }

    /// Returns the fetch that follows the last page with a cursor in the head segment of a chain. Held pages without a
    /// cursor must come after that page. The fetch continues the chain, or shows that the chain still ends there.
    ///
    /// Returns nil when no page has a cursor, or when the last page of the segment has one.
    static func tailWithoutCursor(of list: ListOutline) -> FetchTarget? {
        let end = list.coverage.headEnd
        guard let last = list.heldPages.last(where: { $0.cursorOut != nil && $0.range.upperBound <= end }),
            let cursor = last.cursorOut, last.range.upperBound < end
        else { return nil }
        return .cursor(cursor, offset: last.range.upperBound)
    }

    /// Returns the fetch for the last page of a chain whose last page has a cursor. The request uses the cursor of the
    /// page before the last one. Returns nil when the list is one page, or when its last page has no cursor.
    /// - Parameters:
    ///   - list: the held pages.
    ///   - pageOne: the number of items of page one as the origin cuts it, and its cursor. A held page one may have
    ///     been joined with others.
    static func lastPage(of list: ListOutline, pageOne: (count: Int, next: PageCursor?)) -> FetchTarget? {
        let end = list.coverage.headEnd
        guard list.heldPages.contains(where: { $0.range.upperBound == end && $0.cursorOut != nil }) else { return nil }
        let before = list.heldPages.last { $0.cursorOut != nil && $0.range.upperBound < end }
        let place = before?.range.upperBound ?? 0
        if let next = pageOne.next, pageOne.count < end, pageOne.count >= place {
            return .cursor(next, offset: pageOne.count)
        }
        return before?.cursorOut.map { .cursor($0, offset: place) }
    }

    /// Returns the request for the page that begins at `position` or contains it, where the list may continue.
    private static func openEnd(
        _ position: Int, _ access: PagingAccess, _ size: Int, _ overlap: Overlap, again: Int
    ) -> [FetchTarget] {
        switch access {
        case .grid(let grid):
            let start = position / grid * grid
            return [.range(start..<start + grid, overlap: 0)]
        case .offsets, .chain, .single:
            let known = min(again, position, size - 1)
            if known > 0 { return [.range(position..<position + size - known, overlap: known)] }
            return overlap.spans(position..<Int.max, size: size, most: 1)
        }
    }

    private static func spans(
        _ gaps: [Range<Int>], _ access: PagingAccess, _ size: Int, _ overlap: Overlap, _ list: ListOutline
    ) -> [FetchTarget] {
        switch access {
        case .grid(let grid):
            // Gaps are requested on the origin's own grid (R21). Two gaps in one page of the grid are one request.
            var starts: [Int] = []
            for gap in gaps {
                let grids = stride(from: gap.lowerBound / grid * grid, to: gap.upperBound, by: grid)
                for start in grids.prefix(longest - starts.count) where starts.last.map({ $0 < start }) ?? true {
                    starts.append(start)
                }
            }
            return starts.map { .range($0..<$0 + grid, overlap: 0) }
        case .offsets, .chain, .single:
            var targets: [FetchTarget] = []
            for gap in gaps where targets.count < longest {
                targets += overlap.spans(gap, size: size, most: longest - targets.count)
            }
            return targets
        }
    }
}
