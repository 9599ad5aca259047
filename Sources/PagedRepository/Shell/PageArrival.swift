import Logging
import PageModel

extension SyncRun {
    // MARK: Pages asked for by position

    /// The items from `range.lowerBound` on, and `overlap` known ones before them, were answered.
    /// - Parameter looks: how often others have stored parts of it while it was looked at.
    func spanArrived(_ answer: PageAnswer, _ range: Range<Int>, overlap: Int, looks: Int = 0) async throws(StorageError)
    {
        guard let query else { return }
        guard !pass.mustRestart else { return keepAsEvidence(answer, at: range.lowerBound - overlap) }
        guard case .page(let page) = answer, page.content.count > overlap else {
            guard try await isStillThere(query) else { return }
            return try await nothingThere(answer, range, overlap, query)
        }
        let start = range.lowerBound - overlap
        let arrived = start..<start + page.content.count
        guard let list = try await storage.excerpt(of: query, arrived), isStillThere(list) else { return }
        guard !list.record.total.contradicts(page.total) else { return listMoved(page, at: start, isCounted: true) }
        let missing = list.coverage.gaps(in: arrived)
        let identities = page.content.identities
        guard try await agrees(identities, arrived, missing, list) else {
            return try await disagrees(page, at: start, of: range, query)
        }
        var edits = page.writes(missing, from: start).map { write in
            recent.keep(identities[write.range.lowerBound - start..<write.range.upperBound - start])
            return ListEdit.put(write)
        }
        // R21: what was received with what is held proves the seams between them.
        edits.append(.verify(arrived))
        let ending = EndOfList.decide(page.knowing(list.record.total), at: start, full: fullPage, access: source.access)
        if case .end(let position) = ending,
            list.record.total.exactCount == nil || position == list.record.total.exactCount
        {
            // R20: one short answer does not take away what is held behind it.
            let last = try await storage.excerpt(of: query, position..<Int.max)?.coverage.runs.last?.upperBound ?? 0
            if last > position, !pass.doubtful.contains(range.lowerBound) {
                pass.doubtful.insert(range.lowerBound)
                return queue.addFirst(.span(range, overlap: overlap))
            }
            edits.append(.setEnd(position))
        } else if let end = list.record.end, arrived.upperBound > end {
            edits.append(.setEnd(nil))
        }
        if let total = list.record.total.count, arrived.upperBound > total {
            // R20: more items than the origin counts.
            edits.append(.setTotal(.estimate(arrived.upperBound)))
        } else if ending == .more, page.saysMore, list.record.total.exactCount == arrived.upperBound {
            // R24: the origin's own word that more follows wins over a total that is reached.
            edits.append(.setTotal(.estimate(arrived.upperBound + 1)))
        }
        switch try await store(edits, page, at: start, range, query, list, mayLookAgain: looks < 8) {
        case .stored: spanStored(page, arrived, of: range, missing, list)
        case .notStored: break
        case .changed: try await spanArrived(answer, range, overlap: overlap, looks: looks + 1)
        }
    }

    /// Stores what came together and is what was to be expected, and takes the leases of what is asked for next with
    /// it. False where the storage refuses: then nothing has been done (R1).
    func store(_ batch: SpanBatch, _ list: ListOutline) async throws(StorageError) -> Bool {
        guard case .committed = try await apply(batch.commit, leasingNext: true) else { return false }
        pagesWithoutNews = 0
        for part in batch.parts { spanStored(part.page, part.arrived, of: part.range, part.missing, list) }
        return true
    }

    private func spanStored(
        _ page: FetchedPage, _ arrived: Range<Int>, of range: Range<Int>, _ missing: [Range<Int>], _ list: ListOutline
    ) {
        pagesFetched += 1
        if missing.isEmpty { pass.fruitless.insert(range.lowerBound) }
        if case .grid(let size) = source.access, missing.isEmpty, page.content.count < size,
            list.record.total.exactCount ?? 0 > arrived.upperBound
        {
            // R20: what of this page was counted and is not there did not come twice.
            pass.emptyFrom = min(arrived.upperBound, pass.emptyFrom ?? .max)
        }
        announce(arrived, news: missing.reduce(0) { $0 + $1.count })
    }

    /// How many items a page has that is not the last; nil when that is not known for sure. Where pages lie on a grid,
    /// it says.
    var fullPage: Int? {
        if case .grid(let size) = source.access { return size }
        return isPageSizeSure ? pageSize : nil
    }

    /// R4: whether the list is the one that the place was chosen in. An answer for a place that has moved is dropped,
    /// and what is missing is planned anew.
    private func isStillThere(_ query: QueryID) async throws(StorageError) -> Bool {
        guard asked.under != nil else { return true }
        return try await storage.excerpt(of: query, 0..<0).map(isStillThere) ?? false
    }

    func isStillThere(_ list: ListOutline) -> Bool { asked.under.map { $0 == list.record.version } ?? true }

    /// Whether what was received twice is what is held: otherwise the list moved between the two answers.
    private func agrees(
        _ identities: [ItemIdentity], _ arrived: Range<Int>, _ missing: [Range<Int>], _ list: ListOutline
    ) async throws(StorageError) -> Bool {
        guard missing != [arrived] else { return true }
        if let answer = recent.agree(with: identities, at: arrived, pages: list.heldPages) { return answer }
        guard let window = try await storage.window(of: list.record.id, arrived) else { return false }
        return window.parts.allSatisfy { part in
            !part.isHeld
                || part.content.identities.map(\.key)
                    == identities[part.offset - arrived.lowerBound..<part.range.upperBound - arrived.lowerBound].map(
                        \.key)
        }
    }

    /// Whether the items that were asked for again, before `position`, came as they are held, though nothing behind
    /// them.
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

    /// R21, R24: the list moved; or whatever is asked for, the same items come.
    private func disagrees(
        _ page: FetchedPage, at offset: Int, of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) {
        let places = try await storage.locate(Set(page.content.identities.map(\.key)), in: query)
        if try await isClamped(page, places, of: range, query) { return }
        let isKnownWhole = page.content.identities.allSatisfy { places[$0.key] != nil }
        pagesWithoutNews = isKnownWhole ? pagesWithoutNews + 1 : 0
        guard pagesWithoutNews < SyncRun.sameAnswers else {
            return try await originIgnoresOffsets(at: range.lowerBound)
        }
        listMoved(page, at: offset)
    }

    /// R24: whatever is asked for, the same items come. Nothing that is held gives way to that.
    func originIgnoresOffsets(at offset: Int) async throws(StorageError) {
        guard let query, let list = try await storage.excerpt(of: query, offset..<offset) else { return }
        queue.clear()
        try await originLoops("the origin answers different positions with the same items", offset, list)
        // Nothing behind it is any better.
        pass.emptyFrom = min(offset, pass.emptyFrom ?? .max)
    }

    /// The total, or an item received twice, says that the list is not the one we began to read. What is held is kept;
    /// page one is asked again, and the `Reconciler` finds out what moved (R21).
    /// - Parameters:
    ///   - isEnd: whether it is sure that nothing follows what was answered.
    ///   - isCounted: whether the total alone has changed. Where page one explains the new total, nothing else is in
    ///     doubt.
    func listMoved(_ page: FetchedPage, at offset: Int, isEnd: Bool = false, isCounted: Bool = false) {
        evidence = page.content.isEmpty && !isEnd ? [] : [Clue(offset: offset, page: page, isEnd: isEnd)]
        pass.mustRestart = true
        if !isCounted { isSuspicious = true }
        driftsSeen += 1
        queue.clear()
        pagesFetched += 1
        logger.debug("the list moved while it was read")
    }

    /// Keeps an answer that was requested before the list was seen to have moved. Where it counts what page one counts
    /// afterwards, it shows the same state of the list, and its items are stored with the repair (R21).
    private func keepAsEvidence(_ answer: PageAnswer, at offset: Int) {
        guard case .page(let page) = answer, !page.content.isEmpty, page.total.exactCount != nil, !evidence.isEmpty,
            evidence.count < SyncRun.mostEvidence
        else { return }
        evidence.append(Clue(offset: offset, page: page, isEnd: false))
        pagesFetched += 1
    }

    /// R24: an empty answer, or a refusal beyond the end, is the end where nothing else is known.
    private func nothingThere(
        _ answer: PageAnswer, _ range: Range<Int>, _ overlap: Int, _ query: QueryID
    ) async throws(StorageError) {
        guard let list = try await storage.outline(of: query) else { return }
        // R21: what was asked for before it is not there either.
        guard try await hasKnown(answer, before: range.lowerBound, overlap, query) else {
            return listMoved(FetchedPage(content: PageContent()), at: range.lowerBound)
        }
        if let total = list.record.total.exactCount, range.lowerBound < total {
            // R20: one bad answer proves nothing.
            guard pass.doubtful.contains(range.lowerBound) else {
                pass.doubtful.insert(range.lowerBound)
                return queue.addFirst(.span(range, overlap: overlap))
            }
            pass.emptyFrom = min(range.lowerBound, pass.emptyFrom ?? .max)
            queue.clear(from: range.lowerBound)
        } else if list.record.total.exactCount == nil,
            list.pages.contains(where: { $0.range.upperBound > range.lowerBound }),
            !isWitnessed(range.lowerBound, end: range.lowerBound)
        {
            return askWitness(for: .span(range, overlap: overlap), end: range.lowerBound)
        } else if list.record.total.exactCount == nil, source.access.isRandom,
            list.heldPages.contains(where: { $0.range.upperBound > range.lowerBound })
        {
            // Said twice, it is true; and what is held there may have moved up as well as gone (G6): that is found out.
            return listMoved(
                FetchedPage(content: PageContent(), total: pageOne.total), at: range.lowerBound, isEnd: true)
        }
        pass.fruitless.insert(range.lowerBound)
        var edits: [ListEdit] = []
        if list.record.total.exactCount == nil, list.coverage.headEnd == range.lowerBound {
            edits = [.setEnd(range.lowerBound)]
        } else if case .page(let page) = answer, let now = page.total.exactCount,
            let then = list.record.total.exactCount,
            now != then
        {
            return listMoved(page, at: range.lowerBound)
        }
        _ = try await apply(
            CommitPlan(
                query: list.record.id, version: list.record.version, edits: edits,
                ledger: [.forgotten(offset: range.lowerBound, lease: leases[range.lowerBound])]))
    }
}
