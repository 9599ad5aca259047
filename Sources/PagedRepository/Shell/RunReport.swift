import PageModel

extension SyncRun {
    /// Decides whether the list is complete, once no more pages can be fetched, and cleans up a complete list. Returns
    /// false when the list must be read again from page one.
    func concludePass() async throws(StorageError) -> Bool {
        guard let query, let list = try await storage.outline(of: query) else { return true }
        let end = ListBelief.PassEnd(
            list: list, access: source.access, isFirstPass: passes.count == 0,
            hasMissing: !missingTargets(of: list).isEmpty, hasAbandonedPages: !failures.abandoned.isEmpty)
        switch belief.conclude(end, &pass) {
        case .unchanged: return true
        case .again: return false
        case .window(let end, let total): return try await self.end(atWindow: end, total, list)
        case .miscounted(let total, let end):
            warnOfMiscount(total, end)
            let ending: [ListEdit] = access == .chain ? [] : [.setEnd(end)]
            return try await finish([.setTotal(.estimate(total))] + ending, list)
        case .whole(let isConfirmed):
            try await deleteObsoleteEntries(in: 0..<Int.max, list)
            guard isConfirmed else { return false }
            return try await finish(list.record.end == list.length ? [] : [.setEnd(list.length)], list)
        }
    }

    private func warnOfMiscount(_ total: Int, _ end: Int) {
        warn("the origin counts \(total) items but returned \(end)")
    }

    /// Cleans up a complete list. Pages of older generations and items after its end are removed (R19, R20).
    func finish(_ edits: [ListEdit], _ list: ListOutline) async throws(StorageError) -> Bool {
        let end = list.record.end ?? list.coverage.headEnd
        let leftovers = list.pages.contains { $0.generation < list.record.version.generation }
        let beyond = list.pages.contains { $0.range.upperBound > end } || list.ledger.contains { $0.offset > end }
        var edits = edits
        if case .estimate(end) = list.record.total, belief.pageOne.total == .exact(end), edits.isEmpty {
            // The origin's total was wrong once, and is right again. It is stored as exact again, and serves as a check
            // as before (R17).
            edits.append(.setTotal(.exact(end)))
        }
        // A list that ends before its result window is no longer cut off.
        if !edits.contains(where: \.isResultWindow), let window = list.record.resultWindow,
            list.coverage.headEnd < window
        {
            edits.append(.setResultWindow(nil))
        }
        if leftovers { edits.append(.dropOlderGenerations) }
        if beyond { edits.append(.truncate(at: end)) }
        if edits.isEmpty { return true }
        // The commit requires an unchanged extent, because another writer may have stored a newer length of the list.
        let record = list.record
        let outcome = try await apply(
            CommitPlan(query: record.id, version: record.version, edits: edits, expectedLength: record.extent))
        if case .committed = outcome { return true }
        return false
    }

    func report(_ ending: FetchQueue.Ending) async throws(StorageError) -> SyncReport {
        let report = try await reportOfStored(ending)
        // The commit has changed the record, so the report is made again with the new record.
        return try await storesVerdict(of: report) ? try await reportOfStored(ending) : report
    }

    /// Stores the outcome for readers that start no run: whether the list is unproven, and that no result window cuts off
    /// a complete list (R24). Returns false when the record needs no change, and when the run did not decide the question.
    private func storesVerdict(of report: SyncReport) async throws(StorageError) -> Bool {
        guard options.work.refreshesHead, let record = report.state?.record, report.state?.isComplete == true else {
            return false
        }
        switch report.outcome {
        case .unproven, .complete: break
        case .limited, .incomplete, .offline, .failed, .damaged, .purged: return false
        }
        let isUnproven = report.outcome == .unproven
        var edits: [ListEdit] = record.isUnproven == isUnproven ? [] : [.setUnproven(isUnproven)]
        if report.outcome == .complete, record.resultWindow != nil { edits.append(.setResultWindow(nil)) }
        guard !edits.isEmpty else { return false }
        _ = try await apply(CommitPlan(query: record.id, version: record.version, edits: edits))
        return true
    }

    private func reportOfStored(_ ending: FetchQueue.Ending) async throws(StorageError) -> SyncReport {
        if let state = try await stateToReport() { return report(ending, state) }
        var list: ListOutline?
        if let query { list = try await storage.outline(of: query) }
        // If no list was stored when the run began, no page was kept.
        let kept = start.storedSince.map { since in list?.heldPages.count { $0.validatedAt < since } ?? 0 } ?? 0
        let state = list.map { ListState($0) }
        var found = outcome(ending, state)
        if query != nil || start.lacksList, list == nil { found = .purged }
        // A load of the next page has checked the other pages when it began, so they are not checked again.
        let isChecked = options.work == .next && start.isSound && !options.checksStoredBytes
        if let query, list != nil, found != .failed, !isChecked {
            let damage = try await storage.damage(of: query, thoroughly: options.checksStoredBytes)
            if !damage.isNone { found = .damaged }
        }
        return report(found, list, state, kept: kept)
    }

    /// Returns the report of a list whose pages were not read.
    private func report(_ ending: FetchQueue.Ending, _ state: ListState) -> SyncReport {
        let held = state.holdings?.pages ?? 0
        if options.work == .next {
            return report(outcome(ending, state), nil, state, kept: max(0, held - counts.pagesFetched))
        }
        return report(outcome(ending, state), nil, state, kept: isHeadNew(state) ? held - 1 : held)
    }

    private func isHeadNew(_ state: ListState?) -> Bool {
        state?.pageOne.map { $0.summary.validatedAt >= start.storedSince ?? start.at } ?? false
    }

    private func report(
        _ outcome: SyncReport.Outcome, _ list: ListOutline?, _ state: ListState?, kept: Int
    ) -> SyncReport {
        if outcome == .limited, let record = state?.record, let window = record.resultWindow {
            warnOfWindow(window, record.total.count.flatMap { $0 > window ? $0 : nil })
        }
        if outcome == .unproven, let over = belief.overcount(state, source.access) {
            warnOfMiscount(over.total, over.reached)
        }
        var report = SyncReport(
            outcome: outcome, reconciliation: counts.reconciliation, list: list, usage: source.usage,
            pagesFetched: counts.pagesFetched, pagesUnchanged: counts.pagesUnchanged, pagesKept: kept,
            warnings: counts.warnings,
            headFailure: failures.head, duration: clock.now() - start.at)
        report.state = state
        report.driftsDetected = counts.driftsDetected
        report.pagesNotStored = counts.pagesNotStored
        if belief.hidden.isHiding, state?.isComplete == true, let end = state?.record.end,
            let total = state?.record.total.count
        {
            report.hiddenItems = max(0, total - end)
        }
        report.pageOneCount = belief.pageOne.received.count
        report.originAnswered = counts.originAnswered
        if options.work == .refresh, source.access == .chain, failures.head == nil {
            report.isTailContradicted = start.isContradicted(by: state)
        }
        if options.work == .next, failures.head == nil, let state, let end = state.record.end,
            end == state.holdings?.end
        {
            report.isTailContradicted = state.hasOtherEndThanTotal
        }
        report.keptChanging = passes.keptChanging
        report.repetitions = belief.repeats.repetitions
        report.unverified = failures.unverified
        return report
    }

    private func outcome(_ ending: FetchQueue.Ending, _ state: ListState?) -> SyncReport.Outcome {
        belief.outcome(
            state,
            ListBelief.RunEnding(
                fetching: ending, work: options.work, isPartDone: part.isDone, headFailure: failures.head,
                isHeadNew: isHeadNew(state), originAnswered: counts.originAnswered, access: source.access))
    }
}

extension ListEdit {
    /// Whether the edit sets or removes the result window.
    fileprivate var isResultWindow: Bool { if case .setResultWindow = self { true } else { false } }
}
