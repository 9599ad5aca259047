import Logging
import PageModel

extension SyncRun {
    // MARK: Pages by position

    /// Handles the answer for the items from `range.lowerBound` on, and for the `overlap` known items before them.
    /// - Parameters:
    ///   - answer: the answer.
    ///   - range: the requested positions, without the overlap.
    ///   - overlap: the number of known items that were requested again.
    ///   - isCut: whether items that belong to other positions were cut off the end of the answer. Such a page is not
    ///     short. Defaults to false.
    ///   - looks: how often the list around the page has been read again for this answer. Defaults to 0.
    func spanArrived(
        _ answer: PageAnswer, _ range: Range<Int>, overlap: Int, isCut: Bool = false, looks: Int = 0
    ) async throws(StorageError) {
        guard let query else { return }
        guard !pass.mustRestart else { return belief.drift.keep(answer, at: range.lowerBound - overlap) }
        let start = range.lowerBound - overlap
        if let look = pass.fill.looks[start] { return try await looked(answer, at: start, look, query) }
        if case .page(let page) = answer {
            // An answer that is longer than a page of the grid shows that page one lacks items. The size of the grid is
            // then wrong, and requests by position would skip items.
            if case .grid(let size) = source.access, page.content.count > size { return walkByPosition() }
            if !isCut, belief.isShort(page, at: start, known: range.lowerBound, source.access) {
                return lookAgain(at: page, from: start, .range(range, overlap: overlap))
            }
        }
        guard case .page(let page) = answer, page.content.count > overlap else {
            guard try await isStillThere(query) else { return }
            return try await nothingThere(answer, range, overlap, query)
        }
        let arrived = start..<start + page.content.count
        guard let list = try await storage.excerpt(of: query, arrived), isStillThere(list) else { return }
        if list.record.total.contradicts(page.total) {
            guard let (earlier, start) = try await beforeInserts(page, at: start, of: range, list) else {
                return listMoved(page, at: start, isCounted: true)
            }
            pass.isOutgrown = true
            return try await spanArrived(
                .page(earlier), range, overlap: range.lowerBound - start, isCut: true, looks: looks)
        }
        switch try await beyondTotal(page, at: start, of: range, list) {
        case .page(let page, let start):
            return try await spanArrived(
                .page(page), range, overlap: range.lowerBound - start, isCut: true, looks: looks)
        case .undecided: return
        case nil: break
        }
        let missing = list.coverage.gaps(in: arrived)
        let identities = page.content.identities
        guard try await agrees(identities, arrived, missing, list) else {
            if belief.pageOrder.isArbitrary, looks < 8, try await takesOrder(of: page, at: start, missing, list) {
                return try await spanArrived(answer, range, overlap: overlap, isCut: isCut, looks: looks + 1)
            }
            return try await disagrees(page, at: start, of: range, query)
        }
        if try await isEndlessRepetition(page.content, arrived, missing, list) {
            return try await originLoops(
                "\(belief.repeats.repetitions) consecutive pages had no new items", range.lowerBound, list)
        }
        let place = SpanPlace(range: range, overlap: overlap, list: list, source: source.access)
        var heldEnd = 0
        if let end = place.end(of: page, belief) {
            heldEnd = try await storage.excerpt(of: query, end..<Int.max)?.heldEnd ?? 0
        }
        let step = place.step(page, missing, heldEnd: heldEnd, &pass, &belief)
        queue.add(pass.fill.takeLooks())
        guard case .store(var edits) = step else { return queue.addFirst(.range(range, overlap: overlap)) }
        if let changed = page.detectedPaging {
            edits.append(.describe(paging: changed.paging, source: changed.source))
        }
        switch try await store(edits, page, at: start, range, query, list, mayLookAgain: looks < 8) {
        case .stored: spanStored(page, arrived, of: range, missing, list)
        case .notStored: break
        case .changed: try await spanArrived(answer, range, overlap: overlap, isCut: isCut, looks: looks + 1)
        }
    }

    /// Returns an answer as the origin would have given it before the inserts since page one, with the position that
    /// its first item had then. So a list that gains items while it is loaded needs no restart for each new item.
    ///
    /// The first item of such an answer is held, and has moved exactly as far as the total has grown, so all inserts
    /// are before that item (R17). Page one shows the inserts at the end of the pass, or after half a page of inserts.
    /// Returns nil for any other answer.
    private func beforeInserts(
        _ page: FetchedPage, at start: Int, of range: Range<Int>, _ list: ListOutline
    ) async throws(StorageError) -> (page: FetchedPage, start: Int)? {
        guard options.work.refreshesHead, let now = page.total.exactCount,
            let then = list.record.total.exactCount, now > then, 2 * (now - then) <= page.content.count,
            now - then <= start, !list.record.allowsDuplicates
        else { return nil }
        let first = start - (now - then)
        guard page.content.count > range.lowerBound - first,
            let before = try await storage.excerpt(of: list.record.id, first..<start), isStillThere(before),
            before.coverage.gaps(in: first..<first + 1).isEmpty,
            try await agrees(Array(page.content.identities.prefix(1)), first..<first + 1, [], before)
        else { return nil }
        var earlier = page
        earlier.total = list.record.total
        return (earlier, first)
    }

    /// Stores the answers of a batch, and takes the leases of the next requests in the same transaction. Returns false
    /// when the storage refuses the commit; no change has then been made (R1).
    func store(_ batch: SpanBatch, _ list: ListOutline) async throws(StorageError) -> Bool {
        guard case .committed = try await apply(batch.commit, leasingNext: true) else { return false }
        belief.repeats.restart()
        for part in batch.parts { spanStored(part.page, part.arrived, of: part.range, part.missing, list) }
        return true
    }

    private func spanStored(
        _ page: FetchedPage, _ arrived: Range<Int>, of range: Range<Int>, _ missing: [Range<Int>], _ list: ListOutline
    ) {
        counts.pagesFetched += 1
        if missing.isEmpty {
            pass.fill.observe(withoutNewItems: range.lowerBound)
        } else {
            belief.end.observe(itemsBefore: arrived.upperBound)
        }
        if case .grid(let size) = source.access, missing.isEmpty, page.content.count < size,
            list.record.total.exactCount ?? 0 > arrived.upperBound
        {
            // The total counts the missing rest of this page, but two answers lacked it (R20).
            pass.fill.observe(emptyFrom: arrived.upperBound)
        }
        announce(arrived, newItems: missing.reduce(0) { $0 + $1.count })
    }

    /// Whether the list still has the version under which the position was chosen. Otherwise the answer is dropped, and
    /// the missing positions are planned again (R4).
    private func isStillThere(_ query: QueryID) async throws(StorageError) -> Bool {
        guard leases.requestState.under != nil else { return true }
        return try await storage.excerpt(of: query, 0..<0).map(isStillThere) ?? false
    }

    func isStillThere(_ list: ListOutline) -> Bool {
        leases.requestState.under.map { $0 == list.record.version } ?? true
    }

    /// Whether the items that arrived again equal the held ones. If not, the list moved between the two answers.
    func agrees(
        _ identities: [ItemIdentity], _ arrived: Range<Int>, _ missing: [Range<Int>], _ list: ListOutline
    ) async throws(StorageError) -> Bool {
        guard missing != [arrived] else { return true }
        if let answer = belief.recent.agree(with: identities, at: arrived, pages: list.heldPages) { return answer }
        guard let window = try await storage.window(of: list.record.id, arrived) else { return false }
        return window.parts.allSatisfy { part in
            !part.isHeld
                || part.content.identities.map(\.key)
                    == identities[part.offset - arrived.lowerBound..<part.range.upperBound - arrived.lowerBound].map(
                        \.key)
        }
    }

    /// Whether an answer without further items returned the overlap before `position` as it is held.
    private func hasKnown(
        _ answer: PageAnswer, before position: Int, _ overlap: Int, _ query: QueryID
    ) async throws(StorageError) -> Bool {
        let known = position - overlap..<position
        guard let list = try await storage.excerpt(of: query, known), list.coverage.gaps(in: known).isEmpty else {
            return true
        }
        guard case .page(let page) = answer, page.content.count == overlap else { return overlap == 0 }
        return try await agrees(page.content.identities, known, [], list)
    }

    /// Handles an answer that contradicts held items. Either the list moved (R21), or the origin returns the same items
    /// for every position (R24).
    private func disagrees(
        _ page: FetchedPage, at offset: Int, of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) {
        let places = try await storage.locate(Set(page.content.identities.map(\.key)), in: query)
        if try await isRepeatedPage(page, places, at: offset, of: range, query) { return }
        switch try await behindEnd(page, places, at: offset, of: range, query) {
        case .undecided: return
        case .elsewhere(let target): return queue.add([target])
        case .part(let part):
            return try await spanArrived(.page(part), range, overlap: range.lowerBound - offset, isCut: true)
        case nil: break
        }
        let isKnownWhole = page.content.identities.allSatisfy { places[$0.key] != nil }
        belief.repeats.observe(hasNewItems: !isKnownWhole)
        if belief.repeats.provesPositionsIgnored {
            return try await originIgnoresOffsets(at: range.lowerBound)
        }
        // Other items with the ids of held ones are not moved items (R25).
        if try await areHeldAlike(page.content, places, query),
            belief.isShiftedAgain(page.content.shifts(at: offset, places), source.access)
        {
            return walkByPosition()
        }
        listMoved(page, at: offset)
    }

    /// Whether a list with repeated ids has received many pages in a row that repeat at least nine in ten items, after
    /// the positions that an exact total counts (R24). Such a list has no end that this run could reach.
    private func isEndlessRepetition(
        _ content: PageContent, _ arrived: Range<Int>, _ missing: [Range<Int>], _ list: ListOutline
    ) async throws(StorageError) -> Bool {
        guard list.record.allowsDuplicates, !missing.isEmpty,
            arrived.upperBound > list.record.total.exactCount ?? 0
        else { return false }
        let keys = content.identities.map(\.key)
        let held = try await storage.locate(Set(keys), in: list.record.id)
        let known = keys.count { held[$0] != nil }
        belief.repeats.observe(known: known, of: keys.count)
        return belief.repeats.repetitions >= options.loopGuard
    }

    /// Handles an origin that returns the same items for every position (R24). Removes no held item.
    func originIgnoresOffsets(at offset: Int) async throws(StorageError) {
        guard let query, let list = try await storage.excerpt(of: query, offset..<offset) else { return }
        queue.clear()
        try await originLoops("the origin returns the same items for different positions", offset, list)
        // Requests for later positions would return the same items.
        pass.fill.observe(emptyFrom: offset)
    }

    /// Restarts the pass, because the total or an item shows that the list changed during the run. Held items are kept.
    /// The next pass requests page one again, and the `Reconciler` finds the change (R21).
    /// - Parameters:
    ///   - page: the answer that shows the change.
    ///   - offset: the position of the answer's first item.
    ///   - isEnd: whether the list certainly ends with the answer. Defaults to false.
    ///   - isCounted: whether only the total has changed. If page one explains the new total, the rest of the list need
    ///     not be checked. Defaults to false.
    func listMoved(_ page: FetchedPage, at offset: Int, isEnd: Bool = false, isCounted: Bool = false) {
        belief.drift.moved(page, at: offset, isEnd: isEnd, isCounted: isCounted)
        pass.mustRestart = true
        counts.driftsDetected += 1
        queue.clear()
        telemetry.logger.debug("the list moved while it was read")
    }

    /// Handles an empty answer, or a refusal after the end. Without other evidence, the list ends there (R24).
    private func nothingThere(
        _ answer: PageAnswer, _ range: Range<Int>, _ overlap: Int, _ query: QueryID
    ) async throws(StorageError) {
        guard let list = try await storage.outline(of: query) else { return }
        let isRefused = overlap > 0 ? answer.refusesPosition : answer == .pastEnd
        if let aligned = realigned(isRefused: isRefused, range, overlap, list) { return queue.addFirst(aligned) }
        // The request was planned before the source learned that its origin accepts only multiples of the page size.
        // The positions are planned again. If another answer has returned these items in the meantime, the refusal says
        // nothing.
        if answer.refusesPosition, isBetweenPages(.range(range, overlap: overlap)),
            source.access != .offsets || list.coverage.gaps(in: range.lowerBound..<range.lowerBound + 1).isEmpty
        {
            return
        }
        // The answer must contain the known items before the position (R21). After a result window, these items are
        // always missing.
        var isExpected = range.lowerBound - overlap >= list.record.resultWindow ?? .max
        if !isExpected { isExpected = try await hasKnown(answer, before: range.lowerBound, overlap, query) }
        guard isExpected else {
            return listMoved(FetchedPage(content: PageContent()), at: range.lowerBound)
        }
        let place = SpanPlace(range: range, overlap: overlap, list: list, source: source.access)
        let step = place.step(nothingIn: answer, &pass, &belief)
        queue.add(pass.fill.takeLooks())
        switch step {
        case .again: queue.addFirst(.range(range, overlap: overlap))
        case .walkByPosition: walkByPosition()
        case .confirmEnd: requestWitness(for: .range(range, overlap: overlap), end: range.lowerBound)
        case .moved(let page, let isEnd): listMoved(page, at: range.lowerBound, isEnd: isEnd)
        case .lookBehind: break
        case .store(let edits), .forget(let edits):
            // Positions after an empty one that the total counts are not requested.
            if range.lowerBound < list.record.total.exactCount ?? 0 { queue.clear(from: range.lowerBound) }
            try await apply(edits, [leases.deleted(range.lowerBound)], to: list)
        }
    }
}
