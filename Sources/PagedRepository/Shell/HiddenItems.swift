import PageModel

/// Origins that leave items out of their pages, for example because the caller may not see them (R53). A short page in
/// the middle of such a list is no end, and the positions behind it do not count the items before them. So the pages
/// are requested one after the other, and their items are stored without holes.
extension SyncRun {
    /// How the pages of this list are requested.
    var access: PagingAccess { hidesItems && source.access.isRandom ? .chain : source.access }

    /// Restores from the stored page one whether the origin hides items.
    func restoreHiding(_ pages: [PageSummary]) {
        hidesItems = pages.contains { $0.offset == 0 && PositionCursor($0.cursorOut) != nil }
    }

    /// Requests the pages one after the other from now on, beginning with page one.
    func walkByPosition() {
        hidesItems = true
        warn("the origin leaves items out of its pages; the pages are fetched one after the other")
        (evidence, isSuspicious) = ([], false)
        queue.clear()
        // The stored validator belongs to a page one without a cursor.
        asksUnconditionally = true
        walkAllAgain()
    }

    /// Notes an answer that has more items than page one. Page one then lacks items, or the list was shorter.
    func noteLength(_ answer: PageAnswer, _ target: FetchTarget) {
        guard case .span = target, case .page(let page) = answer, let full = fullPage, page.content.count > full else {
            return
        }
        isIrregular = true
    }

    /// Whether an answer is shorter than a page although the list continues behind it: the origin says so, or has
    /// returned items behind it in this pass.
    /// - Parameters:
    ///   - page: the answer.
    ///   - start: the requested position.
    func isShort(_ page: FetchedPage, at start: Int) -> Bool {
        guard source.access.isRandom, !hidesItems, let full = fullPage, page.content.count < full else { return false }
        let after = start + page.content.count
        // A page behind which nothing is counted is the last one, whatever its links say.
        if let total = page.total.exactCount, total <= after { return false }
        return page.hasMore == true || furthest > after
    }

    /// Handles a short answer in the middle. The first one may be a fault, so the request is repeated.
    /// - Returns: whether the request must be repeated. If the answer is the same again, the origin hides items.
    func isShortAgain(_ page: FetchedPage, at start: Int) -> Bool {
        let identities = page.content.identities
        isIrregular = true
        if pass.short.updateValue(identities, forKey: start) == identities {
            walkByPosition()
            return false
        }
        return true
    }

    /// Adds the cursor of the next page to page one.
    func stepped(_ page: FetchedPage) -> FetchedPage {
        guard access == .chain, hidesItems else { return page }
        headTotal = page.total
        var page = withItsEnd(page)
        let count = page.content.count
        span = max(span, count)
        let next = PositionCursor.first(source.access).next(received: count, new: count, span: max(span, 1))
        page.next = goesOn(page, behind: next, after: count, received: count) ? next.cursor : nil
        return page
    }

    /// Returns the items of an answer that had not been received before, with the cursor of the next page. Returns nil
    /// when the answer shows that the list has moved.
    /// - Parameters:
    ///   - page: the answer.
    ///   - cursor: the request.
    ///   - offset: the number of items received before.
    ///   - known: the total that the list has.
    func stepped(
        _ page: FetchedPage, from cursor: PositionCursor, at offset: Int, _ query: QueryID, known: Total
    ) async throws(StorageError) -> FetchedPage? {
        let identities = page.content.identities
        let before = try await storage.window(of: query, max(0, offset - identities.count)..<offset)
        let held = (before?.parts ?? []).filter(\.isHeld).flatMap { $0.content.identities.map(\.key) }
        let again = cursor.repeats(identities.map(\.key), behind: held)
        var page = withItsEnd(page)
        let received = identities.count
        // Behind all counted positions, an answer of known items only is the last page again, or the first one (R24).
        let isBehind = page.total.count.map { cursor.offset(source.access) ?? 0 >= $0 } ?? true
        if isBehind, received > 0, page.hasMore == nil {
            let places = try await storage.locate(Set(identities.map(\.key)), in: query)
            if again == 0, identities.allSatisfy({ places[$0.key].map { $0.position < offset } ?? false }) {
                page.content = PageContent()
                page.next = nil
                return page
            }
            if received > again, page.total.count != nil { pass.isBehindTotal = true }
        }
        if case .offset(_, repeatsLast: true) = cursor, again == 0 { return nil }
        span = max(span, received)
        let next = cursor.next(received: received, new: received - again, span: span)
        if again > 0 {
            page.content = page.content.slice(again..<received)
            page.validator = nil
        }
        // The last page may be short. Any other short page, or an item from farther back, shows that items are hidden.
        if again > 1 || pass.wasShort && received > again { pass.sawHidden = true }
        pass.wasShort = pass.wasShort || received < span
        let after = offset + received - again
        pass.knownAnswers = received > 0 && received == again ? pass.knownAnswers + 1 : 0
        page.next = goesOn(page.knowing(known), behind: next, after: after, received: received) ? next.cursor : nil
        pass.voidAnswers = received == 0 ? pass.voidAnswers + 1 : 0
        return page
    }

    /// Returns the page with an explicit end, if earlier answers said that more items follow and this one does not.
    private func withItsEnd(_ page: FetchedPage) -> FetchedPage {
        if page.hasMore == true { saidMore = true }
        guard page.hasMore == nil, saidMore else { return page }
        var page = page
        page.hasMore = false
        return page
    }

    /// Whether the list continues behind an answer. A total may count the hidden items or not. So the list goes on
    /// until as many items were received, or two pages behind the counted positions were empty. Without a total, two
    /// empty pages in a row are the end.
    private func goesOn(
        _ page: FetchedPage, behind next: PositionCursor, after count: Int, received: Int
    ) -> Bool {
        if let hasMore = page.hasMore { return hasMore }
        if page.total.exactCount == count { return false }
        if received > 0 {
            // The last received item arrives again with as many requests as a page has positions. More often, the
            // origin repeats its last page (R24).
            return pass.knownAnswers <= span + 1
        }
        guard let total = page.total.count else { return pass.voidAnswers == 0 }
        guard count < total, let position = next.offset(source.access) else { return false }
        // Items behind the counted positions show that the total counts the visible items only.
        if pass.isBehindTotal { return pass.voidAnswers < options.loopGuard }
        let size = if case .grid(let grid) = source.access { grid } else { max(span, 1) }
        return position < total + 2 * size || pass.voidAnswers == 0
    }

    /// Requests pages by position again if a walk from page one to the end has found no page that lacks items (R53).
    func takeBackHiding(_ list: ListOutline) async throws(StorageError) {
        guard hidesItems, !pass.sawHidden, pageOne.count >= span, pageOne.count > 0,
            let end = list.record.end, isWalkedWhole(to: end), list.isComplete,
            let first = list.heldPages.first, first.offset == 0, PositionCursor(first.cursorOut) != nil,
            let content = try await storage.window(of: list.record.id, first.range)?.parts.first?.content,
            content.count == first.count
        else { return }
        let page = PageWrite(offset: 0, content: content, evidence: .verified, validator: first.validator)
        // A held page keeps its cursor when the same items are stored again, so its positions are given up first.
        if try await commit([.demote(first.range), .put(page)], [], list) { hidesItems = false }
        pass.mustRestart = false
    }

    /// Whether only the length of an answer says that the list ends behind it, and the list did not end there before.
    func isEndByLength(_ page: FetchedPage, at position: Int, _ list: ListOutline) -> Bool {
        source.access.isRandom && !page.content.isEmpty && page.hasMore == nil && page.total.exactCount == nil
            && list.record.total.exactCount == nil && list.record.end != position && provenEnd != position
    }

    /// Requests the page behind an answer that is shorter than a page. The list ends at `end` only if that page is
    /// empty (R53).
    func lookBehind(end: Int, start: Int) {
        var position = start + pageSize
        if case .grid(let grid) = source.access { position = start / grid * grid + grid }
        pass.looks.updateValue(end, forKey: position)
        queue.add([.span(position..<position + pageSize, overlap: 0)])
    }

    /// Handles an empty answer behind a supposed end.
    /// - Returns: whether the position was requested for that reason.
    func isNothingBehind(_ start: Int, _ list: ListOutline) async throws(StorageError) -> Bool {
        guard let look = pass.looks[start] else { return false }
        pass.fruitless.insert(start)
        guard let end = look, list.coverage.headEnd == end, list.record.end != end else { return true }
        provenEnd = end
        _ = try await apply(
            CommitPlan(
                query: list.record.id, version: list.record.version, edits: [.setEnd(end)],
                ledger: [.forgotten(offset: start, lease: leases[start])]))
        return true
    }

    /// Handles an answer that shows that the list has moved since its pages were received.
    func movedWhileStepping() {
        driftsSeen += 1
        contradictions += 1
        // Items that arrive again and again are no progress.
        if contradictions > options.restarts { pass.newItems = 0 }
        walkAllAgain()
    }

    /// Returns requests behind positions that came back empty although the total counts them. Items behind them show
    /// that the origin hides items, and that the total is right.
    func looksBehind(_ list: ListOutline) -> [FetchTarget] {
        guard access.isRandom, !pass.hasLookedBehind, pass.refused.isEmpty, let from = pass.emptyFrom,
            let total = list.record.total.exactCount,
            overcount == Overcount(reached: list.coverage.headEnd, total: total), pageSize > 0
        else { return [] }
        pass.hasLookedBehind = true
        var (size, first) = (pageSize, from + pageSize - 1)
        if case .grid(let grid) = source.access { (size, first) = (grid, from / grid * grid + grid) }
        // The total may not count the hidden items, so two pages behind it are requested as well.
        let behind = first + max(0, (total - first + size - 1) / size) * size
        let few = stride(from: first, to: min(behind, first + SyncRun.mostLooks * size), by: size)
        for position in Array(few) + [max(first, behind - size), behind, behind + size]
        where position < Total.largest - size {
            pass.looks.updateValue(nil, forKey: position)
        }
        return pass.looks.keys.sorted().map { .span($0..<$0 + size, overlap: 0) }
    }

    /// The number of pages that are looked at directly behind the end, besides the last ones.
    private static let mostLooks = 3
}
