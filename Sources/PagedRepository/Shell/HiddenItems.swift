import PageModel

/// Origins that leave items out of their pages, for example because the caller may not see them (R53). A short page in
/// the middle of such a list is no end, and the positions behind it do not count the items before them. So the pages
/// are requested one after the other, and their items are stored without holes: see `PositionWalk`.
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

    /// Returns page one with the cursor of the next page, if the list is walked by position.
    func withPositionCursor(_ page: FetchedPage) -> FetchedPage {
        hidesItems && source.access.isRandom ? positionWalk.head(page, source.access) : page
    }

    /// Returns the new items of an answer to a request by position, with the cursor of the next page. Returns nil when
    /// the answer shows that the list has moved.
    func newItems(
        of page: FetchedPage, behind cursor: PositionCursor, at offset: Int, _ list: ListOutline
    ) async throws(StorageError) -> FetchedPage? {
        let (query, keys) = (list.record.id, page.content.identities.map(\.key))
        let before = try await storage.window(of: query, max(0, offset - keys.count)..<offset)
        let held = (before?.parts ?? []).filter(\.isHeld).flatMap { $0.content.identities.map(\.key) }
        let repeated = cursor.repeats(keys, behind: held)
        var isKnown = false
        if repeated == 0, !keys.isEmpty {
            let places = try await storage.locate(Set(keys), in: query)
            isKnown = keys.allSatisfy { places[$0].map { $0.position < offset } ?? false }
        }
        return positionWalk.follow(
            PositionWalk.Answer(page: page, cursor: cursor, offset: offset, repeated: repeated, isKnown: isKnown),
            known: list.record.total, source.access)
    }

    /// Walks the list again after an answer has shown that it moved during the walk.
    func movedDuringPositionWalk() {
        counts.driftsSeen += 1
        contradictions += 1
        walkAllAgain()
    }

    /// Requests pages by position again if a walk from page one to the end has found no page that lacks items (R53).
    func takeBackHiding(_ list: ListOutline) async throws(StorageError) {
        guard hidesItems, !positionWalk.sawHidden, pageOne.count >= positionWalk.span, pageOne.count > 0,
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

    // MARK: Recognition

    /// The number of items of a page that lacks none, as far as the answers of this run show it. Page one itself may
    /// lack items. `nil` means that it is not known for sure.
    private var wholePage: Int? { fullPage.map { max($0, longest) } }

    /// Notes the length of an answer to a request for a whole page.
    func noteLength(_ answer: PageAnswer, _ target: FetchTarget) {
        guard case .page(let page) = answer, let whole = wholePage else { return }
        switch target {
        case .span, .sweep: break
        case .probe(let range): if range.count < pageSize { return }
        case .head, .follow: return
        }
        longest = max(longest, page.content.count)
        let after = target.offset + page.content.count
        guard page.content.count < whole, page.total.exactCount ?? 0 > after || furthest > after else { return }
        shortPlaces.insert(target.offset)
        // Whether the list continues behind it is not known before the answers of the same batch have arrived.
        guard case .span = target, access.isRandom, !isShort(page, at: target.offset) else { return }
        if shortAnswers[target.offset] == nil {
            shortAnswers[target.offset] = page.content.identities
            undecided[after] = target
        }
    }

    /// Returns the request for an answer that was short, once items behind it have arrived. The same answer again shows
    /// that the origin hides items.
    func shortAgain() -> [FetchTarget] {
        guard let (after, target) = undecided.min(by: { $0.key < $1.key }), furthest > after else { return [] }
        undecided = [:]
        return [target]
    }

    /// Whether the answers of this run differ in length in the middle of the list. One short answer may be a fault.
    var isIrregular: Bool { longest > fullPage ?? .max || shortPlaces.count > 1 }

    /// Counts an answer whose items arrive at later positions than they are stored, while page one stays as it was.
    ///
    /// Hidden items move all items of an answer by the same distance. A list that repeats single ids (R25) does not.
    /// - Parameter shifts: how far behind its stored place each known item of the answer arrived.
    /// - Returns: whether there were so many that the origin's positions do not count the returned items.
    func isShiftedAgain(_ shifts: [Int]) -> Bool {
        guard access.isRandom, let first = shifts.first, shifts.allSatisfy({ $0 > 0 }),
            isIrregular || shifts.count > 1 && shifts.allSatisfy({ $0 == first })
        else { return false }
        misplaced += 1
        return misplaced >= (isIrregular ? 2 : 3)
    }

    /// Whether an answer is shorter than a page although the list continues behind it: the origin says so, or has
    /// returned items behind it in this run. Items that are held behind it count if the origin counts them, too.
    /// - Parameters:
    ///   - page: the answer.
    ///   - start: the requested position.
    func isShort(_ page: FetchedPage, at start: Int) -> Bool {
        guard access.isRandom, let whole = wholePage, page.content.count < whole else { return false }
        let after = start + page.content.count
        // A page behind which nothing is counted is the last one, whatever its links say.
        if let total = page.total.exactCount { return total > after && max(furthest, heldEnd) > after }
        return page.hasMore == true || furthest > after
    }

    /// Handles an answer that is short in the middle. The first one may be a fault, so the request is repeated. The same
    /// answer again shows that the origin hides items.
    func lookAgain(at page: FetchedPage, from start: Int, _ target: FetchTarget) {
        let identities = page.content.identities
        if shortAnswers.updateValue(identities, forKey: start) == identities {
            walkByPosition()
        } else {
            queue.addFirst(target)
        }
    }

    // MARK: Looks behind an end

    /// Whether only the length of an answer says that the list ends behind it, and the list did not end there before.
    func isEndByLength(_ page: FetchedPage, at position: Int, _ list: ListOutline) -> Bool {
        source.access.isRandom && !page.content.isEmpty && page.hasMore == nil && page.total.exactCount == nil
            && list.record.total.exactCount == nil && list.record.end != position && provenEnd != position
    }

    /// Whether a page of a grid is short, says that more items follow, and has no item behind it. The origin may hide the
    /// other items of the page. Positions of the next page are then not counted from this one.
    func isShortOnGrid(_ page: FetchedPage, at arrived: Range<Int>) -> Bool {
        guard case .grid(let size) = source.access, access.isRandom, page.content.count < size, page.saysMore else {
            return false
        }
        return max(furthest, heldEnd) <= arrived.upperBound
    }

    /// Requests the page behind an answer that is shorter than a page. The list ends at `end` only if that page is
    /// empty (R53).
    func lookBehind(end: Int, start: Int) {
        var position = start + pageSize
        if case .grid(let grid) = source.access { position = start / grid * grid + grid }
        pass.looks[position] = Pass.Look(end: end)
        queue.add([.span(position..<position + pageSize, overlap: 0)])
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
        where position < ListTotal.largest - size {
            pass.looks[position] = Pass.Look(end: nil)
        }
        return pass.looks.keys.sorted().map { .span($0..<$0 + size, overlap: 0) }
    }

    /// The number of pages that are looked at directly behind the end, besides the last ones.
    private static let mostLooks = 3

    /// Handles the answer to a request behind a supposed end.
    func looked(
        _ answer: PageAnswer, at start: Int, _ look: Pass.Look, _ query: QueryID
    ) async throws(StorageError) {
        if case .page(let page) = answer {
            // Known items show only that the origin repeats itself behind the end (R24).
            let keys = Set(page.content.identities.map(\.key))
            if try await storage.locate(keys, in: query).count < keys.count { return walkByPosition() }
        }
        guard let list = try await storage.outline(of: query) else { return }
        if case .page(let page) = answer, page.content.isEmpty, page.saysMore, let end = look.end {
            // The origin says that more items follow, which takes precedence over a reached total (R24).
            pass.fruitless.insert(start)
            _ = try await commit(
                [.setTotal(.estimate(end + 1))], [.forgotten(offset: start, lease: leases[start])], list)
            return
        }
        if answer.refusesPosition, start < list.record.total.exactCount ?? 0 { refusedPlaces.insert(start) }
        try await nothingBehind(look, at: start, list)
    }

    /// Sets the end of the list after a request behind it has returned no new item.
    func nothingBehind(_ look: Pass.Look, at start: Int, _ list: ListOutline) async throws(StorageError) {
        pass.fruitless.insert(start)
        // The rest of a last page that arrived shorter is removed: two answers lacked it, and the page behind is empty.
        let isLastPage = pass.oldEnd == list.coverage.headEnd && list.coverage.headEnd - (look.end ?? 0) < pageSize
        guard let end = look.end, list.coverage.headEnd == end || isLastPage, list.record.end != end else { return }
        provenEnd = end
        _ = try await apply(
            CommitPlan(
                query: list.record.id, version: list.record.version, edits: [.setEnd(end)],
                ledger: [.forgotten(offset: start, lease: leases[start])]))
    }
}
