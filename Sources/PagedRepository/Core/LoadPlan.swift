import PageModel

/// What is still to be fetched of a list, from what is held of it: pure.
enum LoadPlan {
    /// No plan is longer than this; when it is done, the next one is made. A total, which may be a lie, thus never
    /// drives an allocation (R44).
    static let longest = 1_024

    /// The fetches that bring in what is missing; empty when nothing is, or nothing more can be asked for.
    ///
    /// - Parameters:
    ///   - size: how many items a page of this origin has.
    ///   - overlap: how many known items are asked for again, where any offset can be asked for: with which pages,
    ///     `Overlap` says (R21).
    static func targets(for list: ListOutline, access: PagingAccess, size: Int, overlap: Int = 0) -> [FetchTarget] {
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
            return [.follow(cursor, offset: coverage.headEnd)]
        case .offsets, .grid:
            guard let length = list.record.end ?? list.record.total.exactCount ?? list.record.window else {
                // Nobody knows where the list ends: one page at a time, and the answer tells.
                let end = coverage.runs.last?.upperBound ?? 0
                return spans(coverage.gaps(below: end), access, size, overlap, list)
                    + openEnd(end, access, size, overlap, list)
            }
            let gaps = coverage.gaps(below: min(length, list.record.window ?? .max))
            return spans(gaps, access, size, overlap, list)
        }
    }

    /// The positions that an automatic trigger leaves alone now (R33): their next attempt is not due, or they failed
    /// for good.
    /// - Parameters:
    ///   - pause: after that much time, what was given up though it could be tried again is tried again; and no
    ///     back-off is longer.
    ///   - longest: what an origin asks for (Retry-After) is no longer than this. Later moments are a clock that was
    ///     set back (R29).
    static func barred(_ ledger: [LedgerEntry], now: Timestamp, pause: Duration, longest: Duration) -> Set<Int> {
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

    /// The end of a chain's head run that no cursor leads behind: it has to be asked for again for the walk to go on,
    /// or to see whether it still ends there. Nil when the last cursor is the last page's, or page one is all there is.
    static func tailWithoutCursor(of list: ListOutline) -> FetchTarget? {
        let end = list.coverage.headEnd
        guard let last = list.heldPages.last(where: { $0.cursorOut != nil && $0.range.upperBound <= end }),
            let cursor = last.cursorOut, last.range.upperBound < end
        else { return nil }
        return .follow(cursor, offset: last.range.upperBound)
    }

    /// The page that would begin at or hold `position`, where the list may go on.
    private static func openEnd(
        _ position: Int, _ access: PagingAccess, _ size: Int, _ overlap: Overlap, _ list: ListOutline
    ) -> [FetchTarget] {
        switch access {
        case .grid(let grid):
            let start = position / grid * grid
            return [.span(start..<start + grid, overlap: 0)]
        case .offsets, .chain, .single:
            return overlap.spans(position..<Int.max, size: size, most: 1)
        }
    }

    private static func spans(
        _ gaps: [Range<Int>], _ access: PagingAccess, _ size: Int, _ overlap: Overlap, _ list: ListOutline
    ) -> [FetchTarget] {
        switch access {
        case .grid(let grid):
            // Gaps are asked for on the origin's own grid (R21); two gaps in one of its pages are one request.
            var starts: [Int] = []
            for gap in gaps {
                let grids = stride(from: gap.lowerBound / grid * grid, to: gap.upperBound, by: grid)
                for start in grids.prefix(longest - starts.count) where starts.last.map({ $0 < start }) ?? true {
                    starts.append(start)
                }
            }
            return starts.map { .span($0..<$0 + grid, overlap: 0) }
        case .offsets, .chain, .single:
            var targets: [FetchTarget] = []
            for gap in gaps where targets.count < longest {
                targets += overlap.spans(gap, size: size, most: longest - targets.count)
            }
            return targets
        }
    }
}
