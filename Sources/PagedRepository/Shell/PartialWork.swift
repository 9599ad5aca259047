import PageModel

/// The state of a run that fetches a part of a list.
struct PartialWork: Equatable {
    /// The end of the head segment when the work began. A run with `Work.next` is done once the head segment ends
    /// later.
    var goal = 0
    /// Whether the requested part of the list is held.
    var isDone = false
}

/// Runs that fetch a part of a list without refreshing page one: the next page, or some positions.
extension SyncRun {
    /// Uses the held page one, for work that does not refresh page one. Returns false when page one must be requested,
    /// because it is not held or the list has moved.
    func adoptHeldPageOne() async throws(StorageError) -> Bool {
        guard !options.work.refreshesHead, passes.count == 0, let query,
            let list = try await storage.outline(of: query),
            list.record.validatedAt != nil, let head = list.heldPages.first, head.offset == 0
        else { return false }
        adopt(head, list)
        part.goal = list.coverage.headEnd
        return true
    }

    /// Whether the requested part of the list is held.
    func isDone(_ list: ListOutline) -> Bool {
        let coverage = list.coverage
        switch options.work {
        case .everything, .refresh, .sweep:
            return false
        case .next:
            return coverage.headEnd > part.goal
        case .positions(let range):
            let known = range.clamped(
                to: 0..<max(range.lowerBound, list.record.end ?? list.record.total.exactCount ?? .max))
            return access.supportsRandomAccess ? coverage.gaps(in: known).isEmpty : coverage.headEnd >= known.upperBound
        }
    }

    /// Whether the next page is stored and the list continues, as the list's state alone shows. The run then ends
    /// without another read of the pages. A list that has become complete is read, so that the run can clean up.
    func hasLoadedNextPage() async throws(StorageError) -> Bool {
        guard options.work == .next, !options.checksStoredBytes, !options.reportsOutline, start.isSound,
            start.earlier != nil, passes.count == 0, !pass.mustRestart, pass.newItems > 0, !pass.check.isDue,
            !pass.witness.isAwaited, failures.abandoned.isEmpty, let query,
            let state = try await storage.state(of: key), state.record.id == query, state.record.resultWindow == nil,
            let holdings = state.holdings, state.failures != nil, state.isComplete == false,
            holdings.held.headEnd > part.goal, holdings.pages < options.pagesPerQuery
        else { return false }
        part.isDone = true
        readExtent = .settled(state)
        return true
    }

    /// Whether a chain that is held up to `end` needs no further page.
    func isEnough(_ end: Int) -> Bool {
        switch options.work {
        case .everything: options.mostItems.map { end > $0 } ?? false
        case .refresh, .sweep: false
        case .next: end > part.goal
        case .positions(let range): end >= range.upperBound
        }
    }

    /// Returns the missing pages that belong to the requested part of the list.
    func wanted(_ missing: [FetchTarget], _ list: ListOutline) -> [FetchTarget] {
        switch options.work {
        case .everything:
            return missing.filter { $0.offset <= options.mostItems ?? .max }
        case .refresh, .sweep:
            return missing
        case .next:
            let end = list.coverage.headEnd
            return Array(missing.filter { $0.covers(end) }.prefix(1))
        case .positions(let range):
            guard access.supportsRandomAccess else { return missing }
            return missing.filter { target in
                guard case .range(let span, _) = target else { return true }
                return span.overlaps(range)
            }
        }
    }

    /// Ends a run that fetches a part of the list. Cleans up a list that has become complete.
    func partlyDone(_ list: ListOutline, _ ending: FetchQueue.Ending) async throws(StorageError) -> FetchQueue.Ending {
        part.isDone = isDone(list) || list.isComplete
        if case .positions(let range) = options.work {
            try await deleteObsoleteEntries(in: range, list)
            if options.honorsLedger, list.hasUncheckedFailure(in: range) { part.isDone = false }
        }
        if list.isComplete { _ = try await finish([], list) }
        return ending
    }
}

extension SyncRun {
    /// Deletes ledger entries that no longer matter. These are failures at positions after the end of the list,
    /// failures of held pages that were validated since, and due retries at missing positions where no page begins any
    /// more. The entry of page one is kept, and so are failures of this run.
    func deleteObsoleteEntries(in range: Range<Int>, _ list: ListOutline) async throws(StorageError) {
        let now = list.readAt
        let known = list.coverage
        let end = list.record.end ?? list.record.total.exactCount ?? .max
        let moot = list.ledger.filter { entry in
            guard range.contains(entry.offset), entry.offset > 0, !failures.hasFailed(entry.offset), entry.awaitsRetry
            else {
                return false
            }
            if entry.offset >= end { return true }
            if known.gaps(in: entry.offset..<entry.offset + 1).isEmpty {
                return list.record.allowsDuplicates || list.isChecked(since: entry)
            }
            return entry.nextAttemptAt.map { $0 <= now } ?? false
        }
        guard !moot.isEmpty else { return }
        try await record(moot.map { .deleted(offset: $0.offset) }, for: list.record.id)
    }
}

extension ListOutline {
    /// Whether the held page at the position of a failure was validated after the failure. Otherwise the page may have
    /// changed, because the request that would have shown the change has failed.
    func isChecked(since failure: LedgerEntry) -> Bool {
        guard let page = heldPages.first(where: { $0.range.contains(failure.offset) }) else { return false }
        return failure.lastAttemptAt.map { page.validatedAt > $0 } ?? true
    }

    /// Whether the last request for a held page of these positions failed.
    func hasUncheckedFailure(in range: Range<Int>) -> Bool {
        !record.allowsDuplicates && uncheckedFailures.contains { range.contains($0.offset) }
    }

    /// The failures of held pages after page one that were not validated since.
    var uncheckedFailures: [LedgerEntry] {
        ledger.filter { entry in
            entry.awaitsRetry && entry.offset > 0 && !isChecked(since: entry)
                && heldPages.contains { $0.range.contains(entry.offset) }
        }
    }
}

extension LedgerEntry {
    /// Whether the page has failed, or was about to be fetched again when its run ended.
    var awaitsRetry: Bool { state.isFailure || nextAttemptAt != nil && state != .inFlight }
}

extension FetchTarget {
    fileprivate func covers(_ position: Int) -> Bool {
        switch self {
        case .range(let range, _): range.contains(position)
        case .cursor(_, let offset): offset == position
        case .firstPage, .probe, .sweep: false
        }
    }
}
