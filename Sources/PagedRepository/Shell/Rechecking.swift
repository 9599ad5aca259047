import PageModel

/// Requests held pages again, some of them in each run. So changes are found that leave page one and the total as they
/// were (R54).
extension SyncRun {
    /// The check of one held page.
    struct Recheck {
        var range: Range<Int>
    }

    /// Checks the pages that are due in this run. A page with other items than stored restarts the pass, and the run
    /// then verifies every page. A page with changed contents is stored.
    func recheck() async throws(StorageError) -> FetchQueue.Ending {
        guard options.work == .everything, !hasRechecked, !isUnproven, givenUp.isEmpty, options.maxPages == nil,
            let period = options.recheckEvery, let earlier, let query
        else { return .drained }
        hasRechecked = true
        // No page of a younger list can be due. Such a list costs no read.
        guard (storageTime - earlier.registered) * 4 >= period,
            let record = try await storage.excerpt(of: query, 0..<0)?.record, let end = record.end,
            !record.allowsDuplicates
        else { return .drained }
        defer { rechecked = nil }
        for range in RecheckPlan.passed(end: end, from: earlier.confirmed, to: storageTime, period: period) {
            guard let list = try await storage.excerpt(of: query, range) else { return .drained }
            for page in RecheckPlan.due(list.heldPages, in: range, period: period, now: list.readAt) {
                let ending = try await recheck(page, query)
                if pass.mustRestart { verifyEveryPage(because: page) }
                if ending != .drained || pass.mustRestart || headFailure != nil { return ending }
            }
        }
        return .drained
    }

    private func recheck(_ page: PageSummary, _ query: QueryID) async throws(StorageError) -> FetchQueue.Ending {
        let around = max(0, page.offset - 1)..<page.range.upperBound
        guard let list = try await storage.excerpt(of: query, around),
            list.heldPages.contains(where: { $0.range == page.range })
        else { return .drained }
        rechecked = Recheck(range: page.range)
        if access == .chain {
            guard let cursor = list.heldPages.first(where: { $0.range.upperBound == page.offset })?.cursorOut else {
                return .drained
            }
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
        _ page: FetchedPage, _ sighting: Sighting, _ edits: [ListEdit], of range: Range<Int>, _ list: ListOutline
    ) async throws(StorageError) {
        let after = sighting.range.upperBound
        guard sighting.isInPlace, page.hasMore != false || list.record.end == after else {
            return try await listMovedInSweep(list)
        }
        var edits = edits
        if after >= range.upperBound { edits.append(.confirm(offset: range.lowerBound, validator: nil)) }
        guard try await commit(edits, [], list) else { return sweeping.isDone = true }
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
