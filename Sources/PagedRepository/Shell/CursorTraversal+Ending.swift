import PageModel

/// The end of a walk, endless walks, and walks that start again (R22, R24).
extension SyncRun {
    /// Handles a chain that ends at `position` (R24). Held items behind it are removed only after a second answer has
    /// repeated the end (R20).
    func chainEnded(
        at position: Int, _ cursor: PageCursor, _ list: ListOutline, edits: [ListEdit], from offset: Int? = nil,
        isNews: Bool = true
    ) async throws(StorageError) {
        let offset = offset ?? position
        if pass.walk.selfLink == cursor, list.record.total.exactCount != position {
            let ledger = LedgerEdit.succeeded(offset: offset, lease: leases[offset])
            guard try await commit(edits + [.setEnd(nil)], [ledger], list), let query,
                let list = try await storage.excerpt(of: query, position..<position)
            else { return }
            return try await originLoops("the origin's next page is the same page again", position, list)
        }
        // A stored cursor may belong to an earlier state of the list, so only a walk from page one proves the end. This
        // walk is one if it came here without a break and the total matches.
        let isWalk = pass.walk.isFromPageOne(to: offset)
        if isWalk, belief.order.areItemsRepeated(pass.walk, total: list.record.total.exactCount, end: position) {
            return try await repeatsIDs(at: offset, list)
        }
        // Items that move during the walk may have been missed. Such a walk does not disprove a total (R20).
        let hasMoved = belief.order.hasMoved(pass.walk)
        let isProven = pass.walk.unbrokenTo == offset && !hasMoved && list.record.total.exactCount == position
        if list.pages.contains(where: { $0.range.upperBound > position }) {
            if pass.walk.mode != .whole, !isProven { return walkAllAgain() }
            if !pass.witness.confirms(offset, end: position) {
                return askWitness(for: .follow(cursor, offset: offset), end: position)
            }
        } else if edits.isEmpty, list.record.total.exactCount != position, pass.check.oldEnd != position,
            !pass.witness.confirms(offset, end: position)
        {
            // The cursor of the page before led to no items. A single such answer does not prove a new end.
            return askWitness(for: .follow(cursor, offset: offset), end: position)
        }
        pass.check.isDue = false
        if pass.walk.isDisordered, list.record.total.exactCount != position {
            return try await disorderedEnd(at: offset, list, edits: edits)
        }
        belief.order.reached(end: position, isWhole: isWalk && !hasMoved, total: belief.pageOne.total)
        phase.reachedEnd()
        let ending: [ListEdit] = [.truncate(at: position), .setEnd(position)]
        let lease = leases[offset]
        let ledger: LedgerEdit =
            edits.isEmpty ? .forgotten(offset: offset, lease: lease) : .succeeded(offset: offset, lease: lease)
        guard try await commit(edits + ending, [ledger], list) else { return }
        pass.walk.end(from: offset, at: position)
        if !edits.isEmpty {
            counts.pagesFetched += 1
            pass.walk.newPages += 1
            belief.repeats.restart()
            announce(offset..<position, news: isNews ? position - offset : 0)
        }
    }

    /// Handles the end of a walk in which items arrived again that no insert can have moved there (R24). Such a walk
    /// does not prove that it has received every item. It makes the list unproven if it is the third in this run, or if
    /// the list already had no proven end.
    private func disorderedEnd(at offset: Int, _ list: ListOutline, edits: [ListEdit]) async throws(StorageError) {
        if belief.order.hasRepeatedAlike(pass.walk) { return try await repeatsIDs(at: offset, list) }
        let lease = leases[offset]
        let ledger: LedgerEdit =
            edits.isEmpty ? .forgotten(offset: offset, lease: lease) : .succeeded(offset: offset, lease: lease)
        guard try await commit(edits + [.setEnd(nil)], [ledger], list) else { return }
        if !edits.isEmpty { counts.pagesFetched += 1 }
        guard belief.order.disordered(hadNoProvenEnd: list.hasNoProvenEnd) else { return walkAllAgain() }
        warn("the origin returns the items in another order each time; some may be missing")
        belief.isUnproven = true
    }

    /// Begins a walk with page one, as it was received in this pass.
    func walkBegins(behind page: FetchedPage, isNews: Bool) {
        // A page one that arrives unchanged, to confirm a doubted position, does not interrupt the walk.
        if isNews || pass.walk.unbrokenTo == nil { pass.walk.begin(behind: page.content.count) }
        belief.order.begins(isNews: isNews, end: end(of: page).map { _ in page.content.count }, total: page.total)
    }

    /// Restarts the pass with a walk from page one to the end, through held items.
    func walkAllAgain() {
        belief.repeats.restart()
        pass.walkAgain()
    }

    /// Handles an answer without new items. Empty pages with a next cursor are valid, and so are pages of known items.
    /// Too many consecutive ones are a loop (R24).
    func nothingNew(_ page: FetchedPage, at offset: Int, _ list: ListOutline) async throws(StorageError) {
        guard phase.recheck == nil else { return pass.mustRestart = true }
        if page.content.isEmpty { pass.walk.emptyAnswers += 1 } else { belief.repeats.observe(isNews: false) }
        // R24: an exact total that is reached, and nothing new behind it: the chain ends, or begins from the start again.
        let isCountReached = list.record.total.exactCount == offset && page.hasMore != true
        guard let next = page.next, !isCountReached else {
            pass.check.isDue = false
            if pass.walk.isDisordered, list.record.total.exactCount != offset {
                return try await disorderedEnd(at: offset, list, edits: [])
            }
            phase.reachedEnd()
            // Held items from this position on arrived again, so they are not behind the end (R14, R25).
            let known = try await storage.outline(of: list.record.id)?.coverage.runs.first { $0.contains(offset) }
            _ = try await commit(
                [.setEnd(known?.upperBound ?? offset)], [.forgotten(offset: offset, lease: leases[offset])], list)
            return
        }
        // Where an earlier run has found a loop, one answer of known items shows that it is still there. A sweep counts
        // anew.
        let hasLooped = belief.end.loops.contains(offset) && options.work != .sweep
        let limit = hasLooped ? 1 : options.loopGuard
        guard belief.repeats.pagesWithoutNews < limit, pass.walk.emptyAnswers < options.emptyPageLimit else {
            // A stored cursor may belong to an earlier state of the list and lead through held items. Then the
            // repetition is no loop.
            if pass.walk.mode != .whole, pass.walk.walkedTo == 0, pass.walk.unbrokenTo != offset, !hasLooped,
                list.record.validatedAt != nil, !page.content.isEmpty
            {
                return walkAllAgain()
            }
            let count = max(belief.repeats.pagesWithoutNews, pass.walk.emptyAnswers)
            return try await originLoops("\(count) consecutive pages had no new items", offset, list)
        }
        leases.keep(offset)
        queue.add([.follow(next, offset: offset)])
    }

    func originLoops(_ message: String, _ offset: Int, _ list: ListOutline) async throws(StorageError) {
        let failure = FetchFailure(.loop, message, isRetryable: false)
        belief.isUnproven = true
        failures.givenUp.insert(offset)
        telemetry.progress(.failed(offset: offset, failure, nextAttemptAt: nil))
        _ = try await commit(
            [], [.failed(offset: offset, failure: failure, nextAttemptIn: nil, lease: leases[offset])], list)
    }

    /// Handles a cursor that the origin no longer accepts (R22). The list is walked again from page one with new
    /// cursors. Held items are kept, and verified on the way.
    func cursorWasRejected(_ failure: FetchFailure, at offset: Int) {
        guard passes.restarts < options.restarts, phase.recheck?.isRetry != true else { return }
        warn("the origin no longer takes a stored cursor (\(failure.message)); walking again from page one")
        failures.givenUp.remove(offset)
        belief.drift.asksUnconditionally = true
        pass.walkAgain()
    }

    /// Returns the fetch that walks a list without gaps again from page one. Returns an empty array unless a new walk
    /// is required, or the end of the list does not match the total.
    func rewalk(of list: ListOutline) -> [FetchTarget] {
        guard access == .chain, !pass.walk.hasWalkedAgain, let next = belief.pageOne.next,
            let end = list.record.end ?? (pass.walk.mode == .whole ? .max : nil), end > belief.pageOne.count
        else { return [] }
        if pass.walk.mode != .whole {
            // A walk of this pass is not repeated before page one has been fetched once more.
            guard list.coverage.headEnd == end, !list.isExplained, !belief.isWalkedWhole(to: end),
                pass.walk.unbrokenTo != end
            else { return [] }
            pass.walk.mode = .untilExplained
        }
        pass.walk.walkAgain(behind: belief.pageOne.count)
        return [.follow(next, offset: belief.pageOne.count)]
    }
}

extension ListOutline {
    /// Whether the last page of a chain has been received, and the chain was not proven to end there (R24).
    var hasNoProvenEnd: Bool {
        record.end == nil && record.validatedAt != nil && coverage.runs.count == 1
            && heldPages.last.map { $0.cursorOut == nil && $0.offset > 0 } ?? false
    }

    /// Whether the end and the total differ. A run was then stopped before it found the reason.
    var contradictsItself: Bool {
        record.endContradictsTotal && !isAtWindow
    }

    /// Whether the list is one segment up to its known end, and the end equals the total if there is one.
    var isExplained: Bool {
        guard let end = record.end, coverage.runs.count <= 1, coverage.headEnd == end else { return false }
        return isAtWindow || record.total.exactCount.map { $0 == end } ?? true
    }
}

extension ListState {
    /// Whether the end and the total differ, as for `ListOutline.contradictsItself`.
    var contradictsItself: Bool { record.endContradictsTotal && isAtWindow != true }
}

extension QueryRecord {
    fileprivate var endContradictsTotal: Bool {
        guard let end, let total = total.exactCount else { return false }
        return end != total
    }
}
