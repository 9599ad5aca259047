import PageModel

/// Requests held pages again, some of them in each run, to find changes that leave page one and the total as they were
/// (R54).
extension SyncRun {
    /// Checks the held pages whose last request failed, and those that are due in this run. A page with other items
    /// than stored restarts the pass, and the run then verifies every page. A page with the same items and other
    /// content is stored.
    func recheck() async throws(StorageError) -> FetchQueue.Ending {
        guard options.work == .everything, !passes.hasRechecked, !belief.isUnproven, failures.abandoned.isEmpty,
            options.maxPages == nil,
            let query
        else { return .drained }
        passes.hasRechecked = true
        defer { phase = .loading }
        let failed = try await failedPages(query)
        let due = try await duePages(query)
        let ending = try await recheck(failed + due.filter { old in !failed.contains { $0.page == old.page } }, query)
        if ending != .drained || pass.mustRestart || failures.head != nil { return ending }
        try await reopenWindow(query, due.last?.page.range.upperBound)
        if !pass.mustRestart { try await endRound(query) }
        return .drained
    }

    /// Requests the held pages again whose failure is due (R54), or whose items the caller cannot use (R7), in a run
    /// for some positions. Returns nil when no page is requested.
    func recheckHeld() async throws(StorageError) -> FetchQueue.Ending? {
        guard case .positions(let range) = options.work, options.honorsLedger || !options.again.isEmpty,
            !passes.hasRechecked, !belief.isUnproven, options.maxPages == nil, let query
        else { return nil }
        passes.hasRechecked = true
        defer { phase = .loading }
        guard options.again.isEmpty else { return try await recheckUnusable(query) }
        let failed = try await failedPages(query, in: range)
        return failed.isEmpty ? nil : try await recheck(failed, query)
    }

    /// Requests the held positions again whose items the caller cannot use. If the origin returns other items than
    /// stored, page one is requested again, and no other page is verified.
    private func recheckUnusable(_ query: QueryID) async throws(StorageError) -> FetchQueue.Ending {
        guard access != .single, let list = try await storage.outline(of: query), !list.record.allowsDuplicates else {
            return .drained
        }
        var checked = 0
        while let wanted = options.again.first(where: { $0.upperBound > checked }) {
            let start = max(checked, wanted.lowerBound)
            // The check of an earlier page may have cut or joined pages, so the page is looked up again.
            guard
                let page = try await storage.excerpt(of: query, start..<start + 1)?.heldPages.first(where: {
                    $0.range.contains(start)
                })
            else {
                checked = wanted.upperBound
                continue
            }
            let after = page.range.upperBound
            let last = options.again.last { $0.lowerBound < after }?.upperBound ?? after
            let ending = try await recheck(page, nil, query, only: start..<min(last, after))
            if ending != .drained || pass.mustRestart || failures.head != nil { return ending }
            checked = max(after, phase.sweep.position)
        }
        return .drained
    }

    private func recheck(
        _ pages: [(page: PageSummary, failure: Int?)], _ query: QueryID
    ) async throws(StorageError) -> FetchQueue.Ending {
        for (page, failure) in pages {
            let ending = try await recheck(page, failure, query)
            if pass.mustRestart { verifyEveryPage(because: page) }
            if ending != .drained || pass.mustRestart || failures.head != nil { return ending }
        }
        return .drained
    }

    /// Removes the result window at which a list ends, once in each period. The positions after the window are then
    /// requested, and a refusal stores the window again (R24). A window of one page has no page that becomes due, so
    /// the time alone decides.
    /// - Parameter checked: the end of the last page that this run has checked because of its age. `nil` means that no
    ///   page was checked.
    private func reopenWindow(_ query: QueryID, _ checked: Int?) async throws(StorageError) {
        guard let period = options.recheckEvery, let earlier = start.earlier,
            (storageTime - earlier.registered) * 4 >= period,
            let list = try await storage.outline(of: query), list.isAtResultWindow, let end = list.record.resultWindow,
            checked == end
                || RecheckPlan.passed(end: end, from: earlier.confirmed, to: storageTime, period: period)
                    .contains(where: { $0.upperBound == end })
        else { return }
        guard try await commit([.setResultWindow(nil), .setEnd(nil)], [], list) else { return }
        belief.end.openedWindow = end
        pass.mustRestart = true
    }

    /// Records the end of a round of the recheck, once every page was checked since the round began (R54). The run
    /// reads the whole outline only if the pages that become due next were checked in this round.
    private func endRound(_ query: QueryID) async throws(StorageError) {
        guard let period = options.recheckEvery, let earlier = start.earlier,
            let began = RecheckPlan.round(
                after: earlier.audited, registered: earlier.registered, now: storageTime, period: period),
            let record = try await storage.excerpt(of: query, 0..<0)?.record, let end = record.end,
            !record.allowsDuplicates, record.lastAuditAt == earlier.audited
        else { return }
        let next = RecheckPlan.ahead(
            end: end, now: storageTime, period: period, count: SyncRun.pagesToLookBack * belief.sizes.size)
        guard let part = try await storage.excerpt(of: query, next),
            RecheckPlan.isChecked(part.heldPages, since: began),
            let list = try await storage.outline(of: query), list.isComplete || list.isAtResultWindow,
            RecheckPlan.isChecked(list.heldPages, since: began)
        else { return }
        try await apply([.audited], to: list)
    }

    /// Returns the held pages whose last request failed, and that were not validated since, with the position of the
    /// failure. The failed request was part of a walk, a sweep or a recheck.
    /// - Parameter range: the positions of the failures. `nil` means all positions of a complete list. Defaults to nil.
    private func failedPages(
        _ query: QueryID, in range: Range<Int>? = nil
    ) async throws(StorageError) -> [(page: PageSummary, failure: Int?)] {
        guard !readExtent.isSettled, let list = try await storage.outline(of: query), range != nil || list.isComplete,
            !list.record.allowsDuplicates
        else { return [] }
        let suppressed = suppressedPlaces(of: list)
        let places = list.uncheckedFailures.map(\.offset).filter {
            !failures.hasFailed($0) && !suppressed.contains($0) && range?.contains($0) ?? true
        }
        return list.heldPages.compactMap { page in places.first { page.range.contains($0) }.map { (page, $0) } }
    }

    /// The minimum number of pages that a run reads to find those that are due.
    private static let pagesToLookBack = 8

    /// Returns the pages that are due by their age, in order.
    private func duePages(_ query: QueryID) async throws(StorageError) -> [(page: PageSummary, failure: Int?)] {
        // No page of a younger list can be due, so such a list costs no read.
        guard let period = options.recheckEvery, let earlier = start.earlier,
            (storageTime - earlier.registered) * 4 >= period,
            let record = try await storage.excerpt(of: query, 0..<0)?.record, let end = record.end,
            !record.allowsDuplicates
        else { return [] }
        let now = storageTime
        // Earlier runs may have confirmed page one and checked no page, so the run reads at least some pages.
        let passed = RecheckPlan.passed(end: end, from: earlier.confirmed, to: now, period: period)
        let first = max(passed.reduce(0) { $0 + $1.count }, SyncRun.pagesToLookBack * belief.sizes.size)
        var pages: [PageSummary] = []
        for stretch in RecheckPlan.stretches(end: end, now: now, period: period, first: first) {
            var due: [PageSummary] = []
            for range in stretch {
                guard let list = try await storage.excerpt(of: query, range) else { return [] }
                due += RecheckPlan.due(list.heldPages, in: range, end: end, period: period, now: now)
            }
            if due.isEmpty { break }
            pages += due
        }
        pages.sort { $0.offset < $1.offset }
        return pages.map { ($0, nil) }
    }

    /// Requests a held page again.
    /// - Parameter part: the positions of the page that are verified, if the origin accepts positions. `nil` means the
    ///   whole page. Defaults to nil.
    private func recheck(
        _ page: PageSummary, _ failure: Int?, _ query: QueryID, only part: Range<Int>? = nil
    ) async throws(StorageError) -> FetchQueue.Ending {
        let around = max(0, page.offset - 1)..<page.range.upperBound
        guard let list = try await storage.excerpt(of: query, around),
            list.heldPages.contains(where: { $0.range == page.range })
        else { return .drained }
        let range = access == .chain ? page.range : part ?? page.range
        phase = .rechecking(RunPhase.Recheck(range: range, failure: failure, isPart: range != page.range))
        if access == .chain {
            guard let cursor = list.heldPages.first(where: { $0.range.upperBound == page.offset })?.cursorOut else {
                return .drained
            }
            // The failed request was part of a walk, which continues here.
            if failure != nil { pass.walk.mode = .whole }
            defer { pass.walk.mode = nil }
            queue.add([.cursor(cursor, offset: page.offset)])
            return try await drive()
        }
        if let failure, try await !takesLease(of: failure, query) { return .drained }
        phase.sweep = PositionSweep(
            position: range.lowerBound, start: range.lowerBound, version: list.record.version)
        while !phase.sweep.isDone, !pass.mustRestart {
            queue.add([.sweep(nextSweepRequest)])
            let ending = try await drive()
            phase.sweep.answers.removeAll()
            if ending != .drained || failures.head != nil || leases.isHeldElsewhere { return ending }
        }
        return .drained
    }

    /// Returns the position of the ledger entry for a failed request that was to verify held items, under a lease that
    /// counts the attempt (R26). Returns nil for other requests, and when another owner has the page in flight.
    func leasedPlace(ofCheck target: FetchTarget) async throws(StorageError) -> Int? {
        guard case .sweep(let range) = target, !leases.keepsHead, let query else { return nil }
        let place = phase.recheck?.failure ?? placeInSweep(of: range)
        if leases[place] != nil { return place }
        return try await takesLease(of: place, query) ? place : nil
    }

    /// Returns the edits that remove the failures at positions that an answer has verified. The failure of page one is
    /// kept.
    func failuresAnswered(in range: Range<Int>, of list: ListOutline) -> [LedgerEdit] {
        list.ledger.filter { $0.awaitsRetry && $0.offset > 0 && range.contains($0.offset) }
            .map { leases.deleted($0.offset) }
    }

    /// Takes the lease of a failed page, so that the ledger counts the attempt (R30). Returns false when another owner
    /// has the page in flight.
    private func takesLease(of place: Int, _ query: QueryID) async throws(StorageError) -> Bool {
        let request = LeaseRequest([place], for: options.lease, by: leases.owner)
        let grant = try await storage.claim(request, of: query)
        leases.take(grant, request, at: clock.now())
        return grant.offsets.contains(place)
    }

    /// Handles the answer to a recheck at an origin that accepts positions.
    func handleCheckedPage(
        _ swept: SweptPage, _ page: FetchedPage, of recheck: RunPhase.Recheck, _ list: ListOutline
    ) async throws(StorageError) {
        let (range, after) = (recheck.range, swept.range.upperBound)
        // An answer with more items than the page does not show whether the list ends after the page.
        let isCut = nextSweepRequest.lowerBound + page.content.count > after
        guard swept.isInPlace, isCut || page.hasMore != false || list.record.end == after else {
            return try await listMovedInSweep(list)
        }
        var edits = swept.edits
        if after >= range.upperBound, !recheck.isPart {
            edits.append(.touchPage(offset: range.lowerBound, validator: nil))
        }
        let places = list.ledger.filter { $0.awaitsRetry && range.contains($0.offset) }.map(\.offset)
        let failures = Set(places + [recheck.failure].compactMap(\.self)).sorted()
        let ledger = failures.map { leases.deleted($0) }
        guard try await commit(edits, after >= range.upperBound ? ledger : [], list) else {
            return phase.sweep.isDone = true
        }
        if after >= range.upperBound { for place in failures { leases.drop(place) } }
        phase.sweep.position = after
        phase.sweep.isDone = after >= range.upperBound
    }

    private func verifyEveryPage(because page: PageSummary) {
        warn("items from \(page.offset) on changed although page one did not; checking every page")
        options.work = .sweep
        // Background work starts no sweep. This sweep is an exception, because a check has found a changed page.
        passes.sweep.isBegun = true
        belief.drift.asksUnconditionally = true
        readExtent = .whole
        belief.drift.suspect()
        queue.clear()
    }
}
