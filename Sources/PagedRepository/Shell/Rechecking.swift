import PageModel

/// Requests held pages again, some of them in each run. So changes are found that leave page one and the total as they
/// were (R54).
extension SyncRun {
    /// The check of one held page.
    struct Recheck {
        var range: Range<Int>
        /// Whether the last request for the page failed. A cursor that the origin refuses again then starts no new walk.
        var isRetry: Bool
    }

    /// Checks the held pages whose last request failed, and those that are due in this run. A page with other items than
    /// stored restarts the pass, and the run then verifies every page. A page with changed contents is stored.
    func recheck() async throws(StorageError) -> FetchQueue.Ending {
        guard options.work == .everything, !hasRechecked, !isUnproven, givenUp.isEmpty, options.maxPages == nil,
            let query
        else { return .drained }
        hasRechecked = true
        defer { rechecked = nil }
        let failed = try await failedPages(query)
        for page in try await failed + duePages(query) {
            let ending = try await recheck(page, isRetry: failed.contains(page), query)
            if pass.mustRestart { verifyEveryPage(because: page) }
            if ending != .drained || pass.mustRestart || headFailure != nil { return ending }
        }
        try await reopenWindow(query)
        return .drained
    }

    /// Opens a list that ends at a result window again, once in each period. The positions behind the window are
    /// requested, and a refusal stores the window again (R24).
    private func reopenWindow(_ query: QueryID) async throws(StorageError) {
        guard let period = options.recheckEvery, let earlier, (storageTime - earlier.registered) * 4 >= period,
            let list = try await storage.outline(of: query), list.isAtWindow, let end = list.record.window,
            RecheckPlan.passed(end: end, from: earlier.confirmed, to: storageTime, period: period)
                .contains(where: { $0.upperBound == end })
        else { return }
        if try await commit([.setWindow(nil), .setEnd(nil)], [], list) { pass.mustRestart = true }
    }

    /// Returns the held pages whose last request failed, and that were not confirmed since. A walk or a sweep requested
    /// them because the list had changed.
    private func failedPages(_ query: QueryID) async throws(StorageError) -> [PageSummary] {
        guard settledState == nil, let list = try await storage.outline(of: query), list.isComplete,
            !list.record.allowsDuplicates
        else { return [] }
        let failures = list.ledger.filter { entry in
            entry.awaitsRetry && entry.offset > 0 && attempts[entry.offset] == nil && !list.isChecked(since: entry)
                && (!options.honorsLedger || entry.nextAttemptAt.map { $0 <= list.readAt } ?? false)
        }
        return list.heldPages.filter { page in failures.contains { page.range.contains($0.offset) } }
    }

    /// Returns the pages that are due by their age.
    private func duePages(_ query: QueryID) async throws(StorageError) -> [PageSummary] {
        // No page of a younger list can be due. Such a list costs no read.
        guard let period = options.recheckEvery, let earlier,
            (storageTime - earlier.registered) * 4 >= period,
            let record = try await storage.excerpt(of: query, 0..<0)?.record, let end = record.end,
            !record.allowsDuplicates
        else { return [] }
        var pages: [PageSummary] = []
        for range in RecheckPlan.passed(end: end, from: earlier.confirmed, to: storageTime, period: period) {
            guard let list = try await storage.excerpt(of: query, range) else { return pages }
            pages += RecheckPlan.due(list.heldPages, in: range, period: period, now: list.readAt)
        }
        return pages
    }

    private func recheck(
        _ page: PageSummary, isRetry: Bool, _ query: QueryID
    ) async throws(StorageError) -> FetchQueue.Ending {
        let around = max(0, page.offset - 1)..<page.range.upperBound
        guard let list = try await storage.excerpt(of: query, around),
            list.heldPages.contains(where: { $0.range == page.range })
        else { return .drained }
        rechecked = Recheck(range: page.range, isRetry: isRetry)
        if access == .chain {
            guard let cursor = list.heldPages.first(where: { $0.range.upperBound == page.offset })?.cursorOut else {
                return .drained
            }
            // The failed request was a step of a walk, which continues here.
            if isRetry { tailWalk = .whole }
            defer { tailWalk = nil }
            queue.add([.follow(cursor, offset: page.offset)])
            return try await drive()
        }
        sweeping.answers.removeAll()
        (sweeping.position, sweeping.isDone, sweeping.version) = (page.offset, false, list.record.version)
        while !sweeping.isDone, !pass.mustRestart {
            queue.add([.sweep(question(sweeping.position))])
            let ending = try await drive()
            sweeping.answers.removeAll()
            if ending != .drained || headFailure != nil || isElsewhere { return ending }
        }
        return .drained
    }

    /// Handles an answer for a page that is checked, and for an origin that accepts positions.
    func laid(
        _ page: FetchedPage, _ sighting: ObservedPage, _ edits: [ListEdit], of range: Range<Int>, _ list: ListOutline
    ) async throws(StorageError) {
        let after = sighting.range.upperBound
        guard sighting.isInPlace, page.hasMore != false || list.record.end == after else {
            return try await listMovedInSweep(list)
        }
        var edits = edits
        if after >= range.upperBound { edits.append(.confirm(offset: range.lowerBound, validator: nil)) }
        let failures = list.ledger.filter { $0.awaitsRetry && range.contains($0.offset) }
        guard try await commit(edits, failures.map { .forgotten(offset: $0.offset) }, list) else {
            return sweeping.isDone = true
        }
        sweeping.position = after
        sweeping.isDone = after >= range.upperBound
    }

    private func verifyEveryPage(because page: PageSummary) {
        warn("the items from \(page.offset) on have changed although page one has not; every page is checked")
        options.work = .sweep
        (asksUnconditionally, isConfirmedAtAGlance, settledState) = (true, false, nil)
        isSuspicious = true
        queue.clear()
    }
}
