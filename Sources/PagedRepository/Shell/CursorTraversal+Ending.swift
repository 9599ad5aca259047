import PageModel

/// The end of a walk, endless walks, and walks that start again (R22, R24).
extension SyncRun {
    /// Stores the end of a chain, and removes the held items after it (R20, R24).
    func endChain(_ end: ChainEnd, _ list: ListOutline) async throws(StorageError) {
        phase.reachedEnd()
        let ending: [ListEdit] = [.truncate(at: end.position), .setEnd(end.position)]
        guard try await commit(end.edits + ending, [answered(end)], list) else { return }
        pass.walk.end(from: end.offset, at: end.position)
        guard end.isWithPage else { return }
        counts.pagesFetched += 1
        pass.walk.newPages += 1
        belief.repeats.restart()
        announce(end.offset..<end.position, newItems: end.isChanged ? end.position - end.offset : 0)
    }

    /// Handles the end of a walk whose items arrived in an order that no insert explains. The list is unproven if this
    /// walk is the third one of the run, or if the list already had no proven end (R24). Otherwise the list is walked
    /// again.
    func endInDisorder(_ end: ChainEnd, _ list: ListOutline) async throws(StorageError) {
        guard try await commit(end.edits + [.setEnd(nil)], [answered(end)], list) else { return }
        if end.isWithPage { counts.pagesFetched += 1 }
        guard belief.order.disordered(hadNoProvenEnd: list.hasNoProvenEnd) else { return walkAllAgain() }
        warn("the origin returns the items in a different order each time; some items may be missing")
        belief.isUnproven = true
    }

    /// Returns the ledger edit for the last request of a chain.
    private func answered(_ end: ChainEnd) -> LedgerEdit {
        end.isWithPage ? leases.succeeded(end.offset) : leases.deleted(end.offset)
    }

    /// Begins a walk with the page one that was received in this pass.
    func walkBegins(behind page: FetchedPage, isChanged: Bool) {
        // A page one that was requested to confirm an end, and arrives unchanged, does not interrupt the walk.
        if isChanged || pass.walk.unbrokenTo == nil { pass.walk.begin(behind: page.content.count) }
        belief.order.begins(isChanged: isChanged, end: end(of: page).map { _ in page.content.count }, total: page.total)
    }

    /// Restarts the pass with a walk from page one to the end, also through held items.
    func walkAllAgain() {
        belief.repeats.restart()
        pass.walkAgain()
    }

    /// Handles an origin that repeats itself from a position on, after the pages before that position were stored
    /// (R24).
    /// - Parameter message: the message of the failure. `nil` means a message that too many pages had no new items.
    ///   Defaults to nil.
    func originLoops(_ message: String? = nil, at offset: Int) async throws(StorageError) {
        guard let query, let list = try await storage.excerpt(of: query, offset..<offset) else { return }
        try await originLoops(message ?? belief.repeats.message, offset, list)
    }

    /// Handles an origin that repeats itself (R24).
    func originLoops(_ message: String, _ offset: Int, _ list: ListOutline) async throws(StorageError) {
        try await endUnproven(FetchFailure(.loop, message, isRetryable: false), at: offset, list)
    }

    /// Ends the run as unproven, with a failure at a position.
    func endUnproven(_ failure: FetchFailure, at offset: Int, _ list: ListOutline) async throws(StorageError) {
        belief.isUnproven = true
        failures.abandoned.insert(offset)
        telemetry.progress(.failed(offset: offset, failure, nextAttemptAt: nil))
        _ = try await commit(
            [], [.failed(offset: offset, failure: failure, nextAttemptIn: nil, lease: leases[offset])], list)
    }

    /// Handles a cursor that the origin no longer accepts (R22). The list is walked again from page one with new
    /// cursors. Held items are kept, and verified during the walk.
    func cursorWasRejected(_ failure: FetchFailure, at offset: Int) {
        guard passes.restarts < options.restarts, phase.recheck?.isRetry != true else { return }
        warn("the origin rejects a stored cursor (\(failure.message)); reading again from page one")
        failures.abandoned.remove(offset)
        belief.drift.asksUnconditionally = true
        pass.walkAgain()
    }

    /// Returns the first fetch of a new walk from page one, if such a walk is required, or if a list without gaps does
    /// not end at its total. Otherwise returns an empty array.
    func traverseAgain(of list: ListOutline) -> [FetchTarget] {
        guard access == .chain, !pass.walk.hasWalkedAgain, let next = belief.pageOne.next,
            let end = list.record.end ?? (pass.walk.mode == .whole ? .max : nil), end > belief.pageOne.count
        else { return [] }
        if pass.walk.mode != .whole {
            // A walk that this pass has made is not repeated before page one has been fetched once more.
            guard list.coverage.headEnd == end, !list.isExplained, !belief.isWalkedWhole(to: end),
                pass.walk.unbrokenTo != end, belief.pageOne.total != .exact(end)
            else { return [] }
            pass.walk.mode = .untilExplained
        }
        pass.walk.walkAgain(behind: belief.pageOne.count)
        return [.cursor(next, offset: belief.pageOne.count)]
    }
}

extension ListOutline {
    /// Whether the last page of a chain has been received, and the chain was not proven to end there (R24).
    var hasNoProvenEnd: Bool {
        record.end == nil && record.validatedAt != nil && coverage.segments.count == 1
            && heldPages.last.map { $0.cursorOut == nil && $0.offset > 0 } ?? false
    }

    /// Whether the end and the total differ without a result window. A run was then stopped before it found the reason.
    var contradictsItself: Bool {
        record.endContradictsTotal && !isAtResultWindow
    }

    /// Whether the list is one segment up to its known end, and the end equals the total if there is one.
    var isExplained: Bool {
        guard let end = record.end, coverage.segments.count <= 1, coverage.headEnd == end else { return false }
        return isAtResultWindow || record.total.exactCount.map { $0 == end } ?? true
    }
}

extension ListState {
    /// Whether the end and the total differ, as for `ListOutline.contradictsItself`.
    var contradictsItself: Bool { record.endContradictsTotal && isAtResultWindow != true }
}

extension QueryRecord {
    fileprivate var endContradictsTotal: Bool {
        guard let end, let total = total.exactCount else { return false }
        return end != total
    }
}
