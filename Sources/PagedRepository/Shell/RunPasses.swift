import PageModel

/// The passes of a run: page one, then all missing positions, until a pass finds no further change.
extension SyncRun {
    /// Fetches page one, then the missing positions. Starts again with page one when the list moved meanwhile. A pass
    /// that stores new items is progress. After more than `options.restarts` consecutive passes without progress the
    /// run ends.
    func passes() async throws(StorageError) -> FetchQueue.Ending {
        while true {
            pass.begin()
            belief.hidden.walk.restart()
            var ending = FetchQueue.Ending.drained
            if try await !adoptHeldPageOne() { ending = try await refreshHead() }
            guard ending == .drained, failures.head == nil, let query else { return ending }
            try await compareShrunkTotal(query)
            // A page that a repair has moved, or that is fetched again, does not count as the next page.
            if passes.count > 0 {
                part.goal = max(part.goal, try await storage.excerpt(of: query, 0..<Int.max)?.coverage.headEnd ?? 0)
            }
            if options.work == .refresh { return ending }
            if try await hasNothingLeft() {
                ending = try await recheck()
                if ending != .drained || !pass.mustRestart { return ending }
            }
            while !pass.mustRestart, let stored = try await storage.outline(of: query) {
                if try await dropsDisprovedWindow(stored) { continue }
                belief.end.observe(stored)
                let list = pass.check.begin(stored).withoutPassedWindow
                guard list.heldPages.count < options.pagesPerQuery else {
                    warn("the list has more than \(options.pagesPerQuery) pages; further pages are not fetched")
                    return ending
                }
                if let most = options.mostItems, list.coverage.headEnd > most { return ending }
                if isDone(list) {
                    guard let checked = try await recheckHeld() else { return try await partlyDone(list, ending) }
                    ending = checked
                    guard !pass.mustRestart, let now = try await storage.outline(of: query) else { break }
                    return try await partlyDone(now, ending)
                }
                // The position of an unconfirmed end is not requested again before page one is answered.
                var targets: [FetchTarget] = pass.witness.isAwaited ? [.firstPage] : []
                if targets.isEmpty, options.work.refreshesHead || pass.walk.mode == .whole {
                    targets = traverseAgain(of: list)
                }
                if targets.isEmpty { targets = belief.hidden.shortAgain(furthest: belief.end.furthest) }
                if targets.isEmpty { targets = lastPageAgain(of: list) }
                if targets.isEmpty {
                    targets = wanted(missingTargets(of: list).filter { !failures.abandoned.contains($0.offset) }, list)
                }
                if targets.isEmpty { targets = looksBehind(list) }
                if targets.isEmpty { targets = tail(of: list) }
                if targets.isEmpty {
                    if !options.work.refreshesHead, !pass.mustRestart, !isStuck(list) {
                        return try await partlyDone(list, ending)
                    }
                    break
                }
                queue.add(targets)
                ending = try await drive()
                if pass.walk.isThorough, !pass.mustRestart { pass.walk.mode = nil }
                if ending != .drained || failures.head != nil { return ending }
                // The origin repeats itself, so another pass would prove nothing more.
                if belief.isUnproven { return ending }
                if try await hasLoadedNextPage() { return ending }
                if leases.isHeldElsewhere { await waitForOthers() }
            }
            if !pass.mustRestart, try await concludePass() {
                if !options.work.refreshesHead {
                    guard let list = try await storage.outline(of: query) else { return ending }
                    return try await partlyDone(list, ending)
                }
                if options.work == .sweep {
                    guard sweepOutstanding else { return ending }
                    ending = try await sweep()
                    // The sweep has confirmed held pages whose last request had failed.
                    if !sweepOutstanding, let swept = try await storage.outline(of: query) {
                        try await deleteObsoleteEntries(in: 0..<Int.max, swept)
                    }
                } else {
                    ending = try await recheck()
                }
                if ending != .drained || !pass.mustRestart { return ending }
            }
            passes.count += 1
            belief.order.ended(pass.walk)
            belief.end.suspected = pass.fill.emptyFrom
            // New items are progress, so a list that changes during each pass is still fetched.
            passes.ended(isProgress: try await hasProgressed(query), isRewrite: isRewrite)
            guard !passes.isOver(restarts: options.restarts) else {
                belief.isUnproven = true
                passes.keptChanging = passes.hasSeenChange
                let why =
                    passes.hasSeenChange
                    ? "the list kept changing while it was read"
                    : "the origin's answers contradict each other, and page one stays the same"
                warn("\(why); items may be missing")
                return ending
            }
        }
    }

    /// Compares page one with a smaller total that a later page has stated. If page one states another total, the
    /// totals of this origin may not show deletions. The total is then unknown, and the list is not walked because of
    /// it. The next run that reads the whole list compares the total of its page one.
    private func compareShrunkTotal(_ query: QueryID) async throws(StorageError) {
        guard let shrunk = belief.end.shrunkTo else { return }
        belief.end.shrunkTo = nil
        guard belief.pageOne.total.exactCount ?? shrunk != shrunk, let list = try await storage.outline(of: query)
        else {
            return
        }
        pass.walk.mode = nil
        _ = try await commit([.setTotal(.unknown)], [], list)
    }

    /// Whether a load of the next page has found no items at a position that the total counts. Page one then shows
    /// whether the list ends there, and the pages after the position show whether items are hidden (R20, R53). A walk
    /// by position from page one to the end has requested these pages already.
    private func isStuck(_ list: ListOutline) -> Bool {
        guard options.work == .next, source.access.supportsRandomAccess, let total = list.record.total.exactCount else {
            return false
        }
        let end = list.coverage.headEnd
        guard end < total else { return false }
        if access == .chain { return list.record.end == end && belief.isWalkedWhole(to: end) }
        return pass.fill.emptyFrom ?? .max <= end && failures.abandoned.isEmpty && pass.fill.refused.isEmpty
    }

    /// Whether the walk of this pass through a held chain has received no held item.
    private var isRewrite: Bool { pass.isHeadNew && !pass.hasKnownItems && !pass.hasReplaced }

    /// Whether the pass has stored more items than any pass before.
    private func hasProgressed(_ query: QueryID) async throws(StorageError) -> Bool {
        if pass.hasReplaced { passes.replaced() }
        guard pass.newItems > 0, !pass.hasReplaced else { return false }
        guard let list = try await storage.excerpt(of: query, 0..<Int.max) else { return true }
        let isWhole = list.coverage.segments.count == 1 && list.record.end == list.coverage.headEnd
        return passes.isProgress(held: list.coverage.count, isWhole: isWhole)
    }

    /// Returns the fetch that continues a chain whose end is unknown and whose last page has no cursor. The walk
    /// continues from the last page with a cursor. Held items after that page stay held, even if the walk has no result
    /// (R14).
    private func tail(of list: ListOutline) -> [FetchTarget] {
        guard access == .chain, !list.isComplete, failures.abandoned.isEmpty,
            let target = LoadPlan.tailWithoutCursor(of: list), pass.walk.reopens()
        else { return [] }
        // Without a total, only an item at another position shows a change before the last page (R24).
        if pass.check.oldEnd != nil, pass.walk.mode == .untilExplained {
            pass.check.readsLastPage(of: list, pageOne: belief.pageOne.count)
            pass.walk.mode = .checkingEnd
        }
        return [target]
    }

    /// Returns the fetch for the last page of a list whose end is checked. The last page is fetched if it is full and
    /// the next page does not overlap with it, or if it has a cursor. The next page is then empty, and does not show a
    /// deletion before the end (R24).
    private func lastPageAgain(of list: ListOutline) -> [FetchTarget] {
        let page =
            switch access {
            case .grid(let size): size
            case .offsets: overlap == 0 || belief.sizes.size == 1 ? belief.sizes.size : nil as Int?
            case .chain, .single: nil as Int?
            }
        // Later passes of a run have read the page themselves.
        if let size = page, let end = pass.check.oldEnd, end > size, end % size == 0, !pass.check.hasReadLastPage,
            list.coverage.headEnd == end, passes.count == 0
        {
            pass.check.hasReadLastPage = true
            return [.range(end - size..<end, overlap: 0)]
        }
        guard access == .chain, pass.check.oldEnd != nil, !pass.check.hasReadLastPage, pass.walk.mode == nil,
            let target = LoadPlan.lastPage(of: list, pageOne: (belief.pageOne.count, belief.pageOne.next))
        else { return [] }
        pass.check.readsLastPage(of: list, pageOne: belief.pageOne.count)
        pass.walk.mode = .checkingEnd
        return [target]
    }

    /// The number of known items to request again with a page. A load of the whole list without an exact total also
    /// overlaps where planned pages otherwise do not, because no other answer shows a deletion (R21).
    private var overlap: Int {
        let isCounted = belief.pageOne.total.exactCount != nil || options.work == .next
        return min(options.overlap, source.mayRepeatLast && !isCounted ? .max : source.largestOverlap ?? .max)
    }

    /// Returns the fetches for missing positions. Positions that the ledger suppresses are left out (R33), and so are
    /// positions whose requests can return no further item, as earlier answers have shown.
    func missingTargets(of list: ListOutline) -> [FetchTarget] {
        let suppressed = suppressedPlaces(of: list)
        return LoadPlan.targets(
            for: list, access: access, size: belief.sizes.size, overlap: overlap, isCheck: pass.check.oldEnd != nil,
            again: itemsAgain(of: list)
        ).filter {
            !suppressed.contains($0.offset) && pass.fill.admits($0.offset, suspected: belief.end.suspected)
        }
    }

    /// Returns the number of held items to request again with the first page that continues a list without an exact
    /// total, or with the check of its end. No other answer shows a deletion before these items since the last run
    /// (R21).
    private func itemsAgain(of list: ListOutline) -> Int {
        guard list.record.total.exactCount == nil, source.mayRepeatLast, pass.newItems == 0, start.earlier != nil,
            passes.count == 0 && counts.reconciliation != .replaced || pass.check.oldEnd != nil
        else { return 0 }
        return min(options.overlap, 1)
    }

    /// Returns the positions that this run must not request now (R33). Empty unless `SyncOptions.honorsLedger` is true.
    func suppressedPlaces(of list: ListOutline) -> Set<Int> {
        guard options.honorsLedger else { return [] }
        let longest = max(options.retry.cap, options.retry.longestRetryAfter)
        return LoadPlan.suppressed(list.ledger, now: list.readAt, pause: options.retry.cap, longest: longest)
    }

    /// Requests page one. If another owner has it in flight, uses the answer that the owner stores (R30).
    private func refreshHead() async throws(StorageError) -> FetchQueue.Ending {
        while true {
            queue.add([.firstPage])
            let ending = try await drive()
            guard leases.isHeldElsewhere, ending == .drained else { return ending }
            await waitForOthers()
            if Task.isCancelled { return .stopped }
            guard let query, let list = try await storage.outline(of: query) else { return ending }
            // The other owner may have been the first to learn how the origin's pages are requested.
            guard isOurs(list.record) else { return ending }
            // The other owner's answer suffices if a total or a cursor shows the end. If only a short page shows the
            // end, this run must fetch that page itself. An answer from before an invalidation does not suffice.
            if let validatedAt = list.record.validatedAt, validatedAt >= start.storedSince ?? validatedAt,
                !list.record.isInvalidated, options.work != .sweep,
                list.record.total.exactCount != nil || access == .chain, access != .single || list.isComplete
            {
                if let head = list.heldPages.first(where: { $0.offset == 0 }) { adopt(head, list) }
                reconciled(.unchanged, list)
                return ending
            }
        }
    }
}
