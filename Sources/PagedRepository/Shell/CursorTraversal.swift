import PageModel

/// Chains, where each page contains the cursor of the next page. A walk continues until it meets held items (R22), or
/// to the end (R23).
extension SyncRun {
    /// Handles a page one of a chain that does not explain the changes (R22). Stores the page, and continues the walk
    /// after it.
    func walkFromHead(_ head: ObservedPage, _ page: FetchedPage, _ list: ListOutline) async throws(StorageError) {
        if list.coverage.headEnd > 0, belief.pageOne.isEmptyAgain(page) {
            // The walk after this page has shown which items follow. A gap before these items would start the walk
            // again.
            guard try await commitHead([], page, list) else {
                pass.mustRestart = true
                return
            }
            counts.pagesUnchanged += 1
            return try await firstPageCommitted(page, .unchanged, list, isChanged: false)
        }
        if head.places.allSatisfy({ $0 == nil }), list.coverage.count > 0 { pass.isHeadNew = true }
        let walk = CursorMerge(
            head, at: 0, segments: list.coverage.segments,
            replacedTo: head.replacedEnd(of: nil, page.next, at: 0, in: list), keepsHole: true)
        var edits = walk.edits(head, list)
        let end = end(of: page)
        if let end { edits.append(.truncate(at: end)) }
        edits += [
            .setTotal(page.total.believed(reached: page.content.count)), .setEnd(end ?? keptEnd(walk, page, list)),
        ]
        guard try await commitHead(edits, page, list) else {
            guard belief.drift.contradicted() else { return try await replace(with: page) }
            return askAgain()
        }
        // A page one that this run has already received with the same items in the same places does not start a walk.
        let isMoved = belief.pageOne.isMoved(page)
        // If the list has no proven end, its items have no fixed order. Known items then do not show which items
        // follow.
        if list.hasNoProvenEnd { pass.walk.mode = .whole }
        try await firstPageCommitted(page, walk.hasMet ? .spliced : .shifted, list)
        if options.work == .refresh { return try await noteStaleTail() }
        // No exact total shows whether the list still ends where it did (R24).
        if end == nil, page.total.exactCount == nil, walk.hasMet { pass.check.isDue = true }
        guard isMoved, !(pass.mustRestart && pass.walk.mode == .whole), let query, let next = page.next, end == nil,
            try await walksOn(walk, at: page.content.count, query)
        else { return }
        pass.walk.follow(pageOne: page.content.count)
        queue.add([.cursor(next, offset: page.content.count)])
    }

    /// Returns the end of the list after a changed page one that names a next page. Returns nil when the end is not
    /// known. A refresh requests no other page, so it cannot show that the list still ends with page one, or before its
    /// exact total (R24).
    private func keptEnd(_ walk: CursorMerge, _ page: FetchedPage, _ list: ListOutline) -> Int? {
        guard let end = walk.endOfChain(list) else { return nil }
        guard options.work == .refresh else { return end }
        return end <= page.content.count || end < page.total.exactCount ?? 0 ? nil : end
    }

    /// Reports a change that a refresh alone cannot locate (R22).
    private func noteStaleTail() async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query), !list.isExplained else { return }
        reconciled(.staleTail, list)
        warn("the list changed after page one; a refresh alone does not find these changes")
    }

    /// Handles the answer for the cursor of the page before `offset`.
    func followerArrived(_ answer: PageAnswer, _ cursor: PageCursor, at offset: Int) async throws(StorageError) {
        guard let query, let near = try await nearbyOutline(of: offset, query) else { return }
        let list = pass.check.opened(near)
        guard leases.requestState.under == list.record.version else {
            // Another writer has moved the position since the request (R4).
            pass.mustRestart = true
            return
        }
        let place = ChainPlace(
            cursor: cursor, offset: offset, list: list, phase: phase, remembersLoops: options.work != .sweep,
            loopGuard: options.loopGuard, emptyPageLimit: emptyPageLimit(of: cursor),
            isPart: !options.work.refreshesHead)
        try await perform(try await step(answer, at: place), at: place)
    }

    /// The number of consecutive pages without items after which the walk ends. A load of the next page stops earlier
    /// when the cursor is a position that the run has computed itself.
    private func emptyPageLimit(of cursor: PageCursor) -> Int {
        options.work == .next && PositionCursor(cursor) != nil
            ? min(options.emptyPageLimit, SyncRun.mostEmptyAnswers) : options.emptyPageLimit
    }

    private static let mostEmptyAnswers = 20

    /// Returns the meaning of an answer. Looks up the positions at which the list holds the items of the answer.
    private func step(_ answer: PageAnswer, at place: ChainPlace) async throws(StorageError) -> ChainStep {
        let (list, query) = (place.list, place.list.record.id)
        let position = PositionCursor(place.cursor)
        guard case .page(var page) = answer else {
            let refused = position?.offset(source.access) ?? place.offset
            belief.end.observe(refusalOf: refused, total: list.record.total)
            return place.step(withoutItems: nil, &pass, &belief)
        }
        let isFull = page.content.count >= belief.sizes.size
        if belief.hidden.isHiding, let position {
            guard let rest = try await newItems(of: page, behind: position, at: place.offset, list) else {
                // The list moved during the walk.
                counts.driftsDetected += 1
                belief.drift.contradicted()
                return .walkAgain
            }
            page = rest
            if belief.ignoresPositions(behind: place.offset, list.record.total), !list.record.allowsDuplicates {
                return phase.recheck == nil
                    ? .loop("the origin answers different positions with the same items") : .restart
            }
        }
        page = place.readable(page, &pass.walk)
        guard !page.content.isEmpty else { return place.step(withoutItems: page, &pass, &belief) }
        var observed = try await observed(
            page, at: place.offset, query, isEnd: page.next == nil, asked: nil, cursor: place.cursor)
        if page.next != nil, !list.record.allowsDuplicates, let cut = observed.beginningAgain(behind: place.offset) {
            page.content = page.content.slice(0..<cut)
            observed = try await self.observed(
                page, at: place.offset, query, isEnd: false, asked: nil, cursor: place.cursor)
        }
        page.content = observed.content
        if isFull, page.hasMore == false { belief.end.observe(endByFullPage: place.offset + page.content.count) }
        return place.step(observed, page, &pass, &belief)
    }

    private func perform(_ step: ChainStep, at place: ChainPlace) async throws(StorageError) {
        let (offset, list) = (place.offset, place.list)
        switch step {
        case .store(let page): try await store(page, at: place)
        case .storeUnaligned(let page): try await store(page, at: place)
        case .follow(let next):
            leases.keep(offset)
            queue.add([.cursor(next, offset: offset)])
        case .end(let end): try await endChain(end, list)
        case .endBehindKnown:
            phase.reachedEnd()
            // Held items from this position on arrived again, so they are not after the end (R14, R25).
            let known = try await storage.outline(of: list.record.id)?.coverage.segments.first { $0.contains(offset) }
            _ = try await commit(
                [.setEnd(known?.upperBound ?? offset)], [leases.deleted(offset)], list)
        case .endInDisorder(let end): try await endInDisorder(end, list)
        case .loopOnItself(let end):
            let ledger = leases.succeeded(end.offset)
            guard try await commit(end.edits + [.setEnd(nil)], [ledger], list) else { return }
            try await originLoops("the next page that the origin names is the same page", at: end.position)
        case .loop(let message):
            if pass.walk.emptyAnswers > 0, emptyPageLimit(of: place.cursor) < options.emptyPageLimit {
                return try await endUnproven(.withoutItems(pages: pass.walk.emptyAnswers), at: offset, list)
            }
            try await originLoops(message, offset, list)
        case .confirmEnd(let end): requestWitness(for: .cursor(place.cursor, offset: offset), end: end)
        case .repeatIDs:
            // The list is read again from page one, and its pages are stored as they arrive (R25).
            warn("the origin repeats item ids, or equal items without ids; repeated items are kept")
            let ledger = leases.deleted(offset)
            if try await commit([.setAllowsDuplicates(true)], [ledger], list) { walkAllAgain() }
        case .walkAgain:
            // If a sweep fails twice at its stored position, the position belongs to an earlier state of the list
            // (R31).
            if phase.isChainSweep, passes.sweep.failed(at: offset) { _ = try await commit([.setSweep(nil)], [], list) }
            walkAllAgain()
        case .restart: pass.mustRestart = true
        }
    }

    /// Stores a page of a chain, and continues after it.
    private func store(_ page: ChainPage, at place: ChainPlace) async throws(StorageError) {
        let (offset, after) = (place.offset, page.range.upperBound)
        let ledger = leases.succeeded(offset)
        guard try await commit(page.edits, [ledger], place.list) else { return }
        pass.walk.advance(from: offset, to: after)
        counts.count(isSame: page.merge.isSame)
        if !page.merge.isSame { pass.walk.newPages += 1 }
        belief.repeats.observe(hasNewItems: !page.isRepetition || phase.isChainSweep)
        guard belief.repeats.pagesWithoutNewItems < options.loopGuard else { return try await originLoops(at: after) }
        announce(page.range, newItems: page.merge.isSame ? 0 : page.range.count)
        if page.merge.hasMet, !pass.walk.isThorough, counts.reconciliation != .firstLoad {
            reconciled(.spliced, place.list)
            // No exact total shows whether the list still ends where it did (R24).
            if pass.walk.unbrokenTo == after, place.list.record.total.exactCount == nil { pass.check.isDue = true }
        }
        guard counts.pages < options.pagesPerQuery else {
            return warn("the list has more than \(options.pagesPerQuery) pages; further pages are not fetched")
        }
        guard !isEnough(after), try await walksOn(page.merge, at: after, place.list.record.id) else { return }
        queue.add([.cursor(page.next, offset: after)])
    }

    /// Stores a page of a list with repeated ids unchanged (R25).
    private func store(_ page: UnalignedChainPage, at place: ChainPlace) async throws(StorageError) {
        let (offset, after) = (place.offset, page.range.upperBound)
        if !page.isStored, case .insertPage(let write) = page.edits.first {
            let keys = Set(write.content.identities.map(\.key))
            let known = try await storage.locate(keys, in: place.list.record.id).count
            belief.repeats.observe(hasNewItems: known < keys.count)
            guard belief.repeats.pagesWithoutNewItems < options.loopGuard else {
                return try await originLoops(belief.repeats.message, offset, place.list)
            }
        }
        let ledger = leases.succeeded(offset)
        guard try await commit(page.edits, [ledger], place.list) else { return }
        if page.next == nil { phase.reachedEnd() }
        counts.count(isSame: page.isSame)
        announce(page.range, newItems: page.isStored ? 0 : page.range.count)
        if let next = page.next, !isEnough(after) { queue.add([.cursor(next, offset: after)]) }
    }

    /// Whether the walk continues. The walk ends where it has met held items, unless the total shows a change after
    /// them (R22). The rest of an incomplete list is then fetched from its first gap on.
    private func walksOn(_ walk: CursorMerge, at position: Int, _ query: QueryID) async throws(StorageError) -> Bool {
        guard !pass.walk.isThorough else { return true }
        guard walk.hasMet else {
            // The answer has not met the items that are held at this position. The walk continues through them.
            let there = try await storage.excerpt(of: query, position..<position + 1)
            if there?.coverage.count ?? 0 > 0 { pass.walk.mode = .untilExplained }
            return true
        }
        guard let list = try await storage.outline(of: query) else { return false }
        guard let end = list.record.end, list.coverage.segments.count <= 1, !list.isExplained else { return false }
        // If later answers count items that were added since page one, page one is requested again, and shows these
        // items.
        if list.coverage.headEnd == end, belief.pageOne.total == .exact(end) { return false }
        pass.walk.mode = .untilExplained
        return true
    }

    /// Reads the pages at `offset`, and the next segment after it, which may be far away.
    private func nearbyOutline(of offset: Int, _ query: QueryID) async throws(StorageError) -> ListOutline? {
        let near = try await storage.excerpt(of: query, max(0, offset - 1)..<offset + 4 * belief.sizes.size)
        if let near, near.coverage.segments.contains(where: { $0.upperBound > offset }) { return near }
        return try await storage.excerpt(of: query, max(0, offset - 1)..<Int.max)
    }

    func commit(
        _ edits: [ListEdit], _ ledger: [LedgerEdit], _ list: ListOutline
    ) async throws(StorageError) -> Bool {
        if case .committed = try await apply(edits, ledger, to: list) { return true }
        pass.mustRestart = true
        return false
    }
}
