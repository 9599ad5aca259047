import PageModel

/// Chains, where each page contains the cursor of the next one. They are walked until they meet held items (R22), or to
/// the end (R23).
extension SyncRun {
    /// Handles a page one of a chain that does not explain the changes (R22). The page is stored, and the walk
    /// continues behind it.
    func walkFromHead(_ head: ObservedPage, _ page: FetchedPage, _ list: ListOutline) async throws(StorageError) {
        let walk = CursorMerge(head, at: 0, runs: list.coverage.runs, keepsHole: true)
        var edits = walk.edits(head, list)
        let end = end(of: page)
        if let end { edits.append(.truncate(at: end)) }
        edits += [.setTotal(page.total.believed(reached: page.content.count)), .setEnd(end ?? walk.end(list))]
        guard try await commitHead(edits, page, list) else {
            guard belief.drift.contradicted() else { return try await replace(with: page) }
            return askAgain()
        }
        // Page one with the same items in the same places says no more than before if this run has received it already.
        let isMoved = belief.pageOne.isMoved(page)
        // Without a proven end, no order was found in the list. Known items then do not show which items follow.
        if list.hasNoProvenEnd { pass.walk.mode = .whole }
        try await settled(page, walk.hasMet ? .spliced : .shifted, list)
        if options.work == .refresh { return try await noteStaleTail() }
        // No exact total shows whether the list still ends where it did (R24).
        if end == nil, page.total.exactCount == nil, walk.hasMet { pass.check.isDue = true }
        guard isMoved, let query, let next = page.next, end == nil,
            try await walksOn(walk, at: page.content.count, query)
        else { return }
        pass.walk.follow(pageOne: page.content.count)
        queue.add([.follow(next, offset: page.content.count)])
    }

    /// Reports a change that a refresh alone cannot locate (R22).
    private func noteStaleTail() async throws(StorageError) {
        guard let query, let list = try await storage.outline(of: query), !list.isExplained else { return }
        reconciled(.staleTail, list)
        warn("something behind page one is not as it was; a synchronisation without --refresh finds out what")
    }

    /// Handles the answer for the cursor of the page before `offset`.
    func followerArrived(_ answer: PageAnswer, _ cursor: PageCursor, at offset: Int) async throws(StorageError) {
        guard let query, let near = try await surroundings(of: offset, query) else { return }
        let list = pass.check.opened(near)
        guard leases.asked.under == list.record.version else {
            // Another writer has moved the position since the request (R4).
            pass.mustRestart = true
            return
        }
        guard case .page(var page) = answer else {
            let position = PositionCursor(cursor)?.offset(source.access) ?? offset
            belief.end.observe(refusalOf: position, total: list.record.total)
            return try await chainEnded(at: offset, cursor, list, edits: [])
        }
        if belief.hidden.isHiding, let position = PositionCursor(cursor) {
            guard let rest = try await newItems(of: page, behind: position, at: offset, list) else {
                return movedDuringPositionWalk()
            }
            page = rest
        }
        // An explicit `hasMore` takes precedence over a next cursor (R24).
        if page.hasMore == false { page.next = nil }
        if page.next == cursor {
            // An empty page with the same cursor again is the end of the chain (R24). The items of any other such page are
            // the last ones, and the total decides whether they are all.
            page.next = nil
            if !page.content.isEmpty { pass.walk.selfLink = cursor }
        }
        guard !page.content.isEmpty else {
            // A reached exact total and an empty page behind it are the end, even with a next cursor (R24).
            if list.record.total.exactCount == offset, page.hasMore != true { page.next = nil }
            if page.next == nil { return try await chainEnded(at: offset, cursor, list, edits: []) }
            return try await nothingNew(page, at: offset, list)
        }
        let sighting = try await sighting(page, at: offset, query, isEnd: page.next == nil, asked: nil, cursor: cursor)
        pass.walk.emptyAnswers = 0
        page.content = sighting.content
        guard sighting.places.contains(where: { $0.map { $0.position >= offset } ?? true }) else {
            // All items of the answer were received before. Many such answers are a loop (R24). A last page of this
            // kind shows a list in another order.
            if page.next == nil, list.pages.contains(where: { $0.range.upperBound > offset }) { return walkAllAgain() }
            if !sighting.isPushed(to: offset) { pass.walk.isDisordered = true }
            return try await nothingNew(page, at: offset, list)
        }
        if list.record.allowsDuplicates { return try await followUnaligned(page, cursor, at: offset, list) }
        let repeats = pass.walk.receive(sighting, at: offset)
        // Two walks received the same items again at the same positions (R25).
        if !repeats.isEmpty, belief.order.hasRepeatedAlike(pass.walk, atLeast: sighting.repeatsItems ? 1 : 3) {
            return try await repeatsIDs(at: offset, list)
        }
        // An answer that repeats an id must also arrive twice.
        if sighting.repeatsItems { return walkAllAgain() }
        // A held page that was fetched with the cursor of this answer follows it.
        let next = list.heldPages.first { $0.offset >= offset && $0.cursorIn != nil && $0.cursorIn == page.next }
        let walk = CursorMerge(sighting, at: offset, runs: list.coverage.runs, following: next?.offset, keepsHole: true)
        let position = walk.position
        if phase.recheck != nil, position != offset || !sighting.isInPlace { return pass.mustRestart = true }
        let after = position + page.content.count
        var edits = walk.edits(sighting, list)
        if pass.walk.mode == .checkingEnd, !sighting.isInPlace(before: pass.check.oldEnd ?? .max) {
            return walkAllAgain()
        }
        // If the walk exceeds the total, either the total is false or the list has changed. A second walk decides; see
        // `settle`.
        if page.total != .unknown, page.total.count != list.record.total.count {
            edits.append(.setTotal(page.total))
            pass.walk.hasChanged = true
            // The validator of page one confirms the earlier total only.
            belief.drift.asksUnconditionally = true
        }
        if page.next == nil {
            return try await chainEnded(at: after, cursor, list, edits: edits, from: offset, isNews: !walk.isSame)
        }
        // The list keeps its end until the check of the end is over.
        if pass.walk.mode != .checkingEnd || after > pass.check.oldEnd ?? 0 { edits.append(.setEnd(walk.end(list))) }
        if phase.isChainSweep, let next = page.next {
            let startedAt = list.record.sweep?.startedAt ?? list.readAt
            edits.append(.setSweep(SweepProgress(position: after, cursor: next, startedAt: startedAt)))
        }
        guard try await commit(edits, [.succeeded(offset: offset, lease: leases[offset])], list) else { return }
        pass.walk.advance(from: offset, to: after)
        count(page, walk)
        // A page with at least nine in ten items received before counts as a page without new items (R24).
        let isRepetition = repeats.count * 10 >= page.content.count * 9
        belief.repeats.observe(isNews: !isRepetition || phase.isChainSweep)
        guard belief.repeats.pagesWithoutNews < options.loopGuard else {
            let message = "\(belief.repeats.pagesWithoutNews) consecutive pages had no new items"
            guard let list = try await storage.excerpt(of: query, after..<after) else { return }
            return try await originLoops(message, after, list)
        }
        announce(position..<after, news: walk.isSame ? 0 : page.content.count)
        if walk.hasMet, !pass.walk.isThorough, counts.reconciliation != .firstLoad {
            reconciled(.spliced, list)
        }
        guard counts.pagesFetched + counts.pagesUnchanged < options.pagesPerQuery else {
            return warn("the list has more than \(options.pagesPerQuery) pages; the rest is left out")
        }
        guard let next = page.next, !isEnough(after), try await walksOn(walk, at: after, query) else { return }
        queue.add([.follow(next, offset: after)])
    }

    /// Whether the walk continues. It ends where it has met held items, unless the total shows a change behind them
    /// (R22). An incomplete list is continued at its first gap.
    private func walksOn(_ walk: CursorMerge, at position: Int, _ query: QueryID) async throws(StorageError) -> Bool {
        guard !pass.walk.isThorough else { return true }
        guard walk.hasMet else {
            // The answer has not met the items that are held at this position. The walk continues through them.
            let there = try await storage.excerpt(of: query, position..<position + 1)
            if there?.coverage.count ?? 0 > 0 { pass.walk.mode = .untilExplained }
            return true
        }
        guard let list = try await storage.outline(of: query) else { return false }
        guard list.record.end != nil, list.coverage.runs.count <= 1, !list.isExplained else { return false }
        pass.walk.mode = .untilExplained
        return true
    }

    private func count(_ page: FetchedPage, _ walk: CursorMerge) {
        if walk.isSame {
            counts.pagesUnchanged += 1
        } else {
            counts.pagesFetched += 1
            pass.walk.newPages += 1
        }
    }

    /// Reads the pages at `offset` and the segment behind it, which may be far away.
    private func surroundings(of offset: Int, _ query: QueryID) async throws(StorageError) -> ListOutline? {
        let near = try await storage.excerpt(of: query, max(0, offset - 1)..<offset + 4 * belief.sizes.size)
        if let near, near.coverage.runs.contains(where: { $0.upperBound > offset }) { return near }
        return try await storage.excerpt(of: query, max(0, offset - 1)..<Int.max)
    }

    /// Marks the list as one with repeated ids (R25). The list is read again from page one, and its pages are stored as
    /// they arrive.
    func repeatsIDs(at offset: Int, _ list: ListOutline) async throws(StorageError) {
        warn("the origin repeats item ids; repeated items are kept")
        let ledger: [LedgerEdit] = [.forgotten(offset: offset, lease: leases[offset])]
        if try await commit([.setAllowsDuplicates(true)], ledger, list) { walkAllAgain() }
    }

    /// Stores a page of a list with repeated ids as it arrived (R25).
    private func followUnaligned(
        _ page: FetchedPage, _ cursor: PageCursor, at offset: Int, _ list: ListOutline
    ) async throws(StorageError) {
        var edits: [ListEdit] = []
        let after = offset + page.content.count
        // A page that equals the stored one is kept (R6).
        let isSame = list.heldPages.contains {
            $0.range == offset..<after && $0.fingerprint == page.content.fingerprint
        }
        let isStored = list.coverage.runs.contains { $0.overlaps(offset..<after) }
        if !isSame, isStored { edits.append(.demote(offset..<Int.max)) }
        if !isStored {
            let keys = Set(page.content.identities.map(\.key))
            let known = try await storage.locate(keys, in: list.record.id).count
            belief.repeats.observe(isNews: known < keys.count)
            guard belief.repeats.pagesWithoutNews < options.loopGuard else {
                let message = "\(belief.repeats.pagesWithoutNews) consecutive pages had no new items"
                return try await originLoops(message, offset, list)
            }
        }
        edits.append(
            .put(
                PageWrite(
                    offset: offset, content: page.content, evidence: .inferred, cursorIn: cursor, cursorOut: page.next,
                    validator: page.validator)))
        if page.next == nil { edits.append(.setEnd(after)) }
        let total = page.knowing(list.record.total).total.believed(reached: after)
        if total.exactCount != nil, total != list.record.total { edits.append(.setTotal(total)) }
        guard try await commit(edits, [.succeeded(offset: offset, lease: leases[offset])], list) else { return }
        if page.next == nil { phase.reachedEnd() }
        counts.count(isSame: isSame)
        announce(offset..<after, news: isStored ? 0 : page.content.count)
        if let next = page.next, !isEnough(after) { queue.add([.follow(next, offset: after)]) }
    }

    func commit(
        _ edits: [ListEdit], _ ledger: [LedgerEdit], _ list: ListOutline
    ) async throws(StorageError) -> Bool {
        let plan = CommitPlan(
            query: list.record.id, version: list.record.version, edits: edits, ledger: ledger)
        if case .committed = try await apply(plan) { return true }
        pass.mustRestart = true
        return false
    }
}

extension CursorMerge {
    var isSame: Bool { step == .same }

    /// Returns the edits that store the answer at its position, and mark its seams as verified.
    func edits(_ sighting: ObservedPage, _ list: ListOutline) -> [ListEdit] {
        let count = sighting.content.count
        let range = position..<position + count
        switch step {
        case .same:
            // The items are unchanged, but the next cursor may differ (R6). If several pages hold them, they become one
            // page.
            let page = sighting.write(0..<count, at: position, evidence: .inferred)
            let isPage = list.heldPages.contains { $0.range == range }
            return [isPage ? .put(page) : .rearrange(.replacing(range, with: page)), .verify(range)]
        case .changed(let rearrangement):
            return [.rearrange(rearrangement), .verify(range)]
        }
    }

    /// Returns the end of the list after this answer. Returns nil when the end was not known before.
    func end(_ list: ListOutline) -> Int? {
        guard case .changed(let rearrangement) = step else { return list.record.end }
        guard let end = list.record.end, let tail = rearrangement.kept()?.last else { return nil }
        return max(end, tail.range.lowerBound) + tail.distance
    }
}
