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
        if pass.selfLink == cursor, list.record.total.exactCount != position {
            let ledger = LedgerEdit.succeeded(offset: offset, lease: leases[offset])
            guard try await commit(edits + [.setEnd(nil)], [ledger], list), let query,
                let list = try await storage.excerpt(of: query, position..<position)
            else { return }
            return try await originLoops("the origin's next page is the same page again", position, list)
        }
        // A stored cursor may belong to an earlier state of the list, so only a walk from page one proves the end. This
        // walk is one if it came here without a break and the total matches.
        let isWalk = pass.unbrokenTo == offset || pass.hasRewalked && pass.walkedTo == offset
        if isWalk, areItemsRepeated(total: list.record.total.exactCount, end: position) {
            return try await repeatsIDs(at: offset, list)
        }
        // Items that move during the walk may have been missed. Such a walk does not disprove a total (R20).
        let hasMoved = pass.hasChanged || !pass.pushes.isEmpty && !pass.pushes.hasKeys(of: lastPushes)
        let isProven = pass.unbrokenTo == offset && !hasMoved && list.record.total.exactCount == position
        if list.pages.contains(where: { $0.range.upperBound > position }) {
            if tailWalk != .whole, !isProven { return walkAllAgain() }
            if !isWitnessed(offset, end: position) {
                return askWitness(for: .follow(cursor, offset: offset), end: position)
            }
        } else if edits.isEmpty, list.record.total.exactCount != position, pass.oldEnd != position,
            !isWitnessed(offset, end: position)
        {
            // The cursor of the page before led to no items. A single such answer does not prove a new end.
            return askWitness(for: .follow(cursor, offset: offset), end: position)
        }
        pass.rechecksEnd = false
        if pass.isDisordered, list.record.total.exactCount != position {
            return try await disorderedEnd(at: offset, list, edits: edits)
        }
        wholeWalk = isWalk && !hasMoved ? WholeWalk(end: position, total: pageOne.total.count) : nil
        sweeping.isAtEnd = true
        let ending: [ListEdit] = [.truncate(at: position), .setEnd(position)]
        let lease = leases[offset]
        let ledger: LedgerEdit =
            edits.isEmpty ? .forgotten(offset: offset, lease: lease) : .succeeded(offset: offset, lease: lease)
        guard try await commit(edits + ending, [ledger], list) else { return }
        if pass.unbrokenTo == offset { pass.unbrokenTo = position }
        if !edits.isEmpty {
            counts.pagesFetched += 1
            pass.newPages += 1
            pagesWithoutNews = 0
            announce(offset..<position, news: isNews ? position - offset : 0)
        }
    }

    /// Handles the end of a walk in which items arrived again that no insert can have moved there (R24). Such a walk
    /// does not prove that it has received every item. It makes the list unproven if it is the third in this run, or if
    /// the list already had no proven end.
    private func disorderedEnd(at offset: Int, _ list: ListOutline, edits: [ListEdit]) async throws(StorageError) {
        if !pass.repeats.isEmpty, pass.repeats == lastRepeats { return try await repeatsIDs(at: offset, list) }
        let lease = leases[offset]
        let ledger: LedgerEdit =
            edits.isEmpty ? .forgotten(offset: offset, lease: lease) : .succeeded(offset: offset, lease: lease)
        guard try await commit(edits + [.setEnd(nil)], [ledger], list) else { return }
        if !edits.isEmpty { counts.pagesFetched += 1 }
        // An earlier run has made its three walks.
        disorderedWalks = disorderedWalks == 0 && list.hasNoProvenEnd ? SyncRun.disorderedWalks : disorderedWalks + 1
        if disorderedWalks < SyncRun.disorderedWalks { return walkAllAgain() }
        warn("the origin returns the items in another order each time; some may be missing")
        isUnproven = true
    }

    /// Whether the list repeats items at the heads of answers (R25): two walks received the same ones there. Their
    /// content differs from the items before, or only some answers begin with them, or the total counts them.
    private func areItemsRepeated(total: Int?, end: Int) -> Bool {
        let pushes = pass.pushes
        guard !pushes.isEmpty, total != end, pushes.hasKeys(of: lastPushes) else { return false }
        return pushes.hasOthers && pushes == lastPushes || !pushes.isInclusive || total == pass.received
    }

    /// Begins a walk with page one, as it was received in this pass.
    func walkBegins(behind page: FetchedPage, isNews: Bool) {
        // A page one that arrives unchanged, to confirm a doubted position, does not interrupt the walk.
        if isNews || pass.unbrokenTo == nil {
            pass.unbrokenTo = page.content.count
            pass.received = page.content.count
        }
        if isNews { wholeWalk = nil }
        if end(of: page) != nil { wholeWalk = WholeWalk(end: page.content.count, total: page.total.count) }
    }

    /// Whether the chain was walked completely to `end`, and the total of page one is the same as then.
    func isWalkedWhole(to end: Int) -> Bool { wholeWalk == WholeWalk(end: end, total: pageOne.total.count) }

    /// Restarts the pass with a walk from page one to the end, through held items.
    func walkAllAgain() {
        tailWalk = .whole
        pagesWithoutNews = 0
        pass.mustRestart = true
    }

    /// Handles an answer without new items. Empty pages with a next cursor are valid, and so are pages of known items.
    /// Too many consecutive ones are a loop (R24).
    func nothingNew(_ page: FetchedPage, at offset: Int, _ list: ListOutline) async throws(StorageError) {
        guard rechecked == nil else { return pass.mustRestart = true }
        if page.content.isEmpty { pass.emptyAnswers += 1 } else { pagesWithoutNews += 1 }
        // R24: an exact total that is reached, and nothing new behind it: the chain ends, or begins from the start again.
        let isCountReached = list.record.total.exactCount == offset && page.hasMore != true
        guard let next = page.next, !isCountReached else {
            pass.rechecksEnd = false
            if pass.isDisordered, list.record.total.exactCount != offset {
                return try await disorderedEnd(at: offset, list, edits: [])
            }
            sweeping.isAtEnd = true
            // Held items from this position on arrived again, so they are not behind the end (R14, R25).
            let known = try await storage.outline(of: list.record.id)?.coverage.runs.first { $0.contains(offset) }
            _ = try await commit(
                [.setEnd(known?.upperBound ?? offset)], [.forgotten(offset: offset, lease: leases[offset])], list)
            return
        }
        // Where an earlier run has found a loop, one answer of known items shows that it is still there. A sweep counts
        // anew.
        let hasLooped = loops.contains(offset) && options.work != .sweep
        let limit = hasLooped ? 1 : options.loopGuard
        guard pagesWithoutNews < limit, pass.emptyAnswers < options.emptyPageLimit else {
            // A stored cursor may belong to an earlier state of the list and lead through held items. Then the
            // repetition is no loop.
            if tailWalk != .whole, pass.walkedTo == 0, pass.unbrokenTo != offset, !hasLooped,
                list.record.validatedAt != nil, !page.content.isEmpty
            {
                return walkAllAgain()
            }
            let count = max(pagesWithoutNews, pass.emptyAnswers)
            return try await originLoops("\(count) consecutive pages had no new items", offset, list)
        }
        leases.keep(offset)
        queue.add([.follow(next, offset: offset)])
    }

    func originLoops(_ message: String, _ offset: Int, _ list: ListOutline) async throws(StorageError) {
        let failure = FetchFailure(.loop, message, isRetryable: false)
        isUnproven = true
        failures.givenUp.insert(offset)
        progress(.failed(offset: offset, failure, nextAttemptAt: nil))
        _ = try await commit(
            [], [.failed(offset: offset, failure: failure, nextAttemptIn: nil, lease: leases[offset])], list)
    }

    /// Handles a cursor that the origin no longer accepts (R22). The list is walked again from page one with new
    /// cursors. Held items are kept, and verified on the way.
    func cursorWasRejected(_ failure: FetchFailure, at offset: Int) {
        guard restarts < options.restarts, rechecked?.isRetry != true else { return }
        warn("the origin no longer takes a stored cursor (\(failure.message)); walking again from page one")
        failures.givenUp.remove(offset)
        tailWalk = .whole
        asksUnconditionally = true
        pass.mustRestart = true
    }

    /// Returns the fetch that walks a list without gaps again from page one. Returns an empty array unless a new walk
    /// is required, or the end of the list does not match the total.
    func rewalk(of list: ListOutline) -> [FetchTarget] {
        guard access == .chain, !pass.hasRewalked, let next = pageOne.next,
            let end = list.record.end ?? (tailWalk == .whole ? .max : nil), end > pageOne.count
        else { return [] }
        if tailWalk != .whole {
            // A walk of this pass is not repeated before page one has been fetched once more.
            guard list.coverage.headEnd == end, !list.isExplained, !isWalkedWhole(to: end), pass.unbrokenTo != end
            else { return [] }
            tailWalk = .untilExplained
        }
        pass.hasRewalked = true
        pass.walkedTo = pageOne.count
        pass.unbrokenTo = pageOne.count
        return [.follow(next, offset: pageOne.count)]
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
