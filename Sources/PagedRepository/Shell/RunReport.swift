import PageModel

extension SyncRun {
    /// Decides whether the list is complete once no more pages can be fetched, and cleans up behind it. Returns false
    /// when the list must be read again from page one.
    func settle() async throws(StorageError) -> Bool {
        guard let query, let list = try await storage.outline(of: query) else { return true }
        let record = list.record
        let reached = list.coverage.headEnd
        // Observations of this run about the end say nothing about a total that another writer has stored since.
        let isOwnTotal = record.total.count == pageOne.total.count
        if access.isRandom, let total = record.total.exactCount, reached < total,
            list.coverage.runs.count <= 1, pass.emptyFrom != nil, failures.givenUp.isEmpty,
            missingTargets(of: list).isEmpty
        {
            // The total is larger than the number of returned items, and the remaining positions are empty. The origin
            // may have lost the items just now, so page one is requested once more (R20).
            let overcount = Overcount(reached: reached, total: total)
            guard overcount == self.overcount, isOwnTotal else {
                self.overcount = overcount
                return false
            }
            if isWindow(list, end: reached, total: total) { return try await end(atWindow: reached, total, list) }
            warn("the origin counts \(total) items but gives \(reached)")
            return try await finish([.setTotal(.estimate(total)), .setEnd(reached)], list)
        }
        if access.isRandom, record.total.exactCount == nil, let refused = pass.refused.min(), refused <= reached,
            missingTargets(of: list).isEmpty
        {
            guard passCount > 0 else { return false }
            return try await end(atWindow: reached, nil, list)
        }
        if access == .chain, let end = record.end, end == reached, let total = record.total.exactCount,
            total != end
        {
            // The walk and the total disagree: the list has changed, or the total is wrong. Page one is requested once
            // more. A chain walked from its first to its last page, with the same total as before, is complete (R24).
            if list.isAtWindow, isOwnTotal { return true }
            if passCount == 0 { return false }
            if isWalkedWhole(to: end), isOwnTotal {
                if end > total, !hasConfirmedExcess {
                    // An item that was deleted behind the walk looks like one that the total does not count.
                    hasConfirmedExcess = true
                    tailWalk = .whole
                    return false
                }
                if end < total, isWindow(list, end: end, total: total) {
                    return try await self.end(atWindow: end, total, list)
                }
                warn("the origin counts \(total) items but gives \(end)")
                return try await finish([.setTotal(.estimate(total))], list)
            }
            return false
        }
        guard list.isComplete else { return true }
        try await forgetWhatIsMoot(in: 0..<Int.max, list)
        // Without a total, a move of the list between two pages stays unnoticed. So page one is requested again, until
        // it is the same as before the other pages were read.
        if source.access.isRandom, record.total.exactCount == nil, pass.newItems > 0 { return false }
        // A deletion during a walk moves an item past the position of the walk. Page one can show it.
        if access == .chain, record.total.exactCount == nil, pass.newPages > 1, walksAgain < 2 {
            walkedFrom = pageOneKeys
            return false
        }
        return try await finish(record.end == list.length ? [] : [.setEnd(list.length)], list)
    }

    /// Cleans up a complete list. Pages of older generations and items behind its end are removed (R19, R20).
    func finish(_ edits: [ListEdit], _ list: ListOutline) async throws(StorageError) -> Bool {
        let end = list.record.end ?? list.coverage.headEnd
        let leftovers = list.pages.contains { $0.generation < list.record.version.generation }
        let beyond = list.pages.contains { $0.range.upperBound > end } || list.ledger.contains { $0.offset > end }
        var edits = edits
        if case .estimate(end) = list.record.total, pageOne.total == .exact(end), edits.isEmpty {
            // The origin's total was wrong once, and is right again. It serves as a check as before (R17).
            edits.append(.setTotal(.exact(end)))
        }
        // A list that ends before its result window is not cut off by it any more.
        if let window = list.record.window, list.coverage.headEnd < window { edits.append(.setWindow(nil)) }
        if leftovers { edits.append(.dropOlderGenerations) }
        if beyond { edits.append(.truncate(at: end)) }
        if edits.isEmpty { return true }
        // The commit requires an unchanged extent, because another writer may have stored a newer length of the list.
        let record = list.record
        let outcome = try await apply(
            CommitPlan(query: record.id, version: record.version, edits: edits, extent: record.extent))
        if case .committed = outcome { return true }
        return false
    }

    func report(_ ending: FetchQueue.Ending) async throws(StorageError) -> SyncReport {
        if let state = try await stateToReport() { return report(ending, state) }
        var list: ListOutline?
        if let query { list = try await storage.outline(of: query) }
        // Pages that did not exist when the run began were stored since.
        let kept = start.storedSince.map { since in list?.heldPages.count { $0.validatedAt < since } ?? 0 } ?? 0
        let state = list.map { ListState($0) }
        var found = outcome(ending, state)
        if query != nil, list == nil { found = .purged }
        if let query, list != nil, found != .failed {
            let damage = try await storage.damage(of: query, thoroughly: options.checksStoredBytes)
            if !damage.isNone { found = .damaged }
        }
        return report(found, list, state, kept: kept)
    }

    /// Returns the report of a list whose pages were not read.
    private func report(_ ending: FetchQueue.Ending, _ state: ListState) -> SyncReport {
        let held = state.holdings?.pages ?? 0
        let isHeadNew = state.pageOne.map { $0.summary.validatedAt >= start.storedSince ?? start.at } ?? false
        return report(outcome(ending, state), nil, state, kept: isHeadNew ? held - 1 : held)
    }

    private func report(
        _ outcome: SyncReport.Outcome, _ list: ListOutline?, _ state: ListState?, kept: Int
    ) -> SyncReport {
        var report = SyncReport(
            outcome: outcome, reconciliation: counts.reconciliation, list: list, usage: source.usage,
            pagesFetched: counts.pagesFetched, pagesUnchanged: counts.pagesUnchanged, pagesKept: kept,
            warnings: counts.warnings,
            headFailure: failures.head, duration: clock.now() - start.at)
        report.state = state
        report.driftsSeen = counts.driftsSeen
        report.pagesNotStored = counts.pagesNotStored
        if hidesItems, state?.isComplete == true, let end = state?.record.end, let total = state?.record.total.count {
            report.hiddenItems = max(0, total - end)
        }
        report.wasHeard = counts.wasHeard
        return report
    }

    private func outcome(_ ending: FetchQueue.Ending, _ state: ListState?) -> SyncReport.Outcome {
        // An origin that counts items and returns none hides them, or is failing.
        let isVoid = state?.holdings?.held.count == 0 && (state?.record.total.count ?? 0) > 0
        let isWhole = state?.isComplete == true && !isUnproven && !keptChanging && !isVoid
        switch ending {
        case .offline:
            // An origin that answered a request of this run is not offline. The ledger names the pages without an answer.
            return counts.wasHeard ? .incomplete : .offline
        case .limited:
            // The last answers may have shown a change, so that page one would be requested once more.
            return isWhole && !asksUnconditionally && !isSuspicious && evidence.isEmpty ? .complete : .limited
        case .retryLater, .stopped:
            return .incomplete
        case .drained:
            if let failure = failures.head { return failure.isRetryable ? .incomplete : .failed }
            if !options.work.refreshesHead { return isPartDone ? .complete : .incomplete }
            if isUnproven || keptChanging || state?.isComplete == true && isVoid { return .unproven }
            // The answer shows more items, and no request can fetch them.
            if source.access == .single, state?.isComplete == false { return .unproven }
            // A refresh alone does not locate changes behind page one (R22).
            if options.work == .refresh, access == .chain, state?.contradictsItself == true { return .incomplete }
            let hasFailures = state?.failures?.isEmpty != true && options.work != .refresh
            if state?.isAtWindow == true, !hasFailures { return .limited }
            return isWhole && !hasFailures ? .complete : .incomplete
        }
    }
}
