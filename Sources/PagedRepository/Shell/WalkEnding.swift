import PageModel

/// Where a walk comes to an end, goes in circles, or has to begin again (R22, R24).
extension SyncRun {
    /// R24: the chain says that it ends at `position`. What is held behind that is gone; one answer alone does not take
    /// much away (R20).
    func chainEnded(
        at position: Int, _ cursor: PageCursor, _ list: ListOutline, edits: [ListEdit], from offset: Int? = nil,
        isNews: Bool = true
    ) async throws(StorageError) {
        let offset = offset ?? position
        // A stored cursor may be a place in a list that has moved on: only a walk from page one proves the end. This
        // was one, where it has come here without a break and the origin counts just as many.
        let isProven = pass.unbrokenTo == offset && !pass.hasChanged && list.record.total.exactCount == position
        if list.pages.contains(where: { $0.range.upperBound > position }) {
            if tailWalk != .whole, !isProven { return walkAllAgain() }
            if !isWitnessed(offset, end: position) {
                return askWitness(for: .follow(cursor, offset: offset), end: position)
            }
        } else if edits.isEmpty, list.record.total.exactCount != position, !isWitnessed(offset, end: position) {
            // The page before handed over to nothing: that is no end yet.
            return askWitness(for: .follow(cursor, offset: offset), end: position)
        }
        pass.rechecksEnd = false
        if pass.isDisordered, list.record.total.exactCount != position {
            return try await disorderedEnd(at: offset, list, edits: edits)
        }
        let isWalkedWhole = pass.unbrokenTo == offset || pass.hasRewalked && pass.walkedTo == offset
        wholeWalk = isWalkedWhole && !pass.hasChanged ? WholeWalk(end: position, total: pageOne.total.count) : nil
        sweeping.isAtEnd = true
        let ending: [ListEdit] = [.truncate(at: position), .setEnd(position)]
        let lease = leases[offset]
        let ledger: LedgerEdit =
            edits.isEmpty ? .forgotten(offset: offset, lease: lease) : .succeeded(offset: offset, lease: lease)
        guard try await commit(edits + ending, [ledger], list) else { return }
        if pass.unbrokenTo == offset { pass.unbrokenTo = position }
        if !edits.isEmpty {
            pagesFetched += 1
            pagesWithoutNews = 0
            announce(offset..<position, news: isNews ? position - offset : 0)
        }
    }

    /// R24: the chain ends, and on the way items came again that an insert cannot have pushed there. Such a walk does not
    /// prove that it has met every item. A third walk of that kind leaves the list without an end: unproven.
    private func disorderedEnd(
        at offset: Int, _ list: ListOutline, edits: [ListEdit]
    ) async throws(StorageError) {
        if !pass.repeats.isEmpty, pass.repeats == lastRepeats { return try await repeatsIDs(at: offset, list) }
        let lease = leases[offset]
        let ledger: LedgerEdit =
            edits.isEmpty ? .forgotten(offset: offset, lease: lease) : .succeeded(offset: offset, lease: lease)
        guard try await commit(edits + [.setEnd(nil)], [ledger], list) else { return }
        if !edits.isEmpty { pagesFetched += 1 }
        disorderedWalks += 1
        if disorderedWalks < SyncRun.disorderedWalks, !list.hasNoProvenEnd { return walkAllAgain() }
        warn("the origin returns the items in another order each time; some may be missing")
        isUnproven = true
    }

    /// Begins a walk with page one, as it was received in this pass.
    func walkBegins(behind page: FetchedPage, isNews: Bool) {
        // Page one that comes again as it was, for a witness, does not interrupt the walk.
        if isNews || pass.unbrokenTo == nil {
            pass.unbrokenTo = page.content.count
            pass.received = page.content.count
        }
        if isNews { wholeWalk = nil }
        if end(of: page) != nil { wholeWalk = WholeWalk(end: page.content.count, total: page.total.count) }
    }

    /// Whether the chain was walked whole to `end`, and page one counts as it did then.
    func isWalkedWhole(to end: Int) -> Bool { wholeWalk == WholeWalk(end: end, total: pageOne.total.count) }

    /// From page one to the end, whatever is held.
    func walkAllAgain() {
        tailWalk = .whole
        pagesWithoutNews = 0
        pass.mustRestart = true
    }

    /// R24: empty pages with a live next are legal, and so is a page of known items; too many in a row are a loop.
    func nothingNew(_ page: FetchedPage, at offset: Int, _ list: ListOutline) async throws(StorageError) {
        if page.content.isEmpty { pass.emptyAnswers += 1 } else { pagesWithoutNews += 1 }
        // R24: an exact total that is reached, and nothing new behind it: the chain ends, or begins from the start again.
        let isCountReached = list.record.total.exactCount == offset && page.hasMore != true
        guard let next = page.next, !isCountReached else {
            pass.rechecksEnd = false
            if pass.isDisordered, list.record.total.exactCount != offset {
                return try await disorderedEnd(at: offset, list, edits: [])
            }
            sweeping.isAtEnd = true
            // R14, R25: what is held from there on, and came again, is not behind the end.
            let known = try await storage.outline(of: list.record.id)?.coverage.runs.first { $0.contains(offset) }
            _ = try await commit(
                [.setEnd(known?.upperBound ?? offset)], [.forgotten(offset: offset, lease: leases[offset])], list)
            return
        }
        guard pagesWithoutNews < options.loopGuard, pass.emptyAnswers < options.emptyPageLimit else {
            // A stored cursor may be a place in a list that has moved on, over what is held: then it is no loop.
            if tailWalk != .whole, pass.walkedTo == 0, list.record.validatedAt != nil, !page.content.isEmpty {
                return walkAllAgain()
            }
            let count = max(pagesWithoutNews, pass.emptyAnswers)
            return try await originLoops("\(count) pages in a row brought nothing new", offset, list)
        }
        queue.add([.follow(next, offset: offset)])
    }

    func originLoops(_ message: String, _ offset: Int, _ list: ListOutline) async throws(StorageError) {
        let failure = FetchFailure(.loop, message, isRetryable: false)
        isUnproven = true
        givenUp.insert(offset)
        progress(.failed(offset: offset, failure, nextAttemptAt: nil))
        _ = try await commit(
            [], [.failed(offset: offset, failure: failure, nextAttemptIn: nil, lease: leases[offset])], list)
    }

    /// R22: a cursor that the origin no longer takes. The list is walked again from page one, with new cursors; what is
    /// held is kept, and verified on the way.
    func cursorWasRejected(_ failure: FetchFailure, at offset: Int) {
        guard restarts < options.restarts else { return }
        warn("the origin no longer takes a stored cursor (\(failure.message)); walking again from page one")
        givenUp.remove(offset)
        tailWalk = .whole
        asksUnconditionally = true
        pass.mustRestart = true
    }

    /// Where to walk on from, of a list without anything missing: from page one, when it has to be walked again, or
    /// when its tail is not what the origin counts.
    func rewalk(of list: ListOutline) -> [FetchTarget] {
        guard source.access == .chain, !pass.hasRewalked, let next = pageOne.next,
            let end = list.record.end ?? (tailWalk == .whole ? .max : nil), end > pageOne.count
        else { return [] }
        if tailWalk != .whole {
            // What this very pass has walked is not walked again before page one has been fetched once more.
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
