import PageModel

/// The position of a walk at which an answer arrived, and the list around it. Decides what the answer means.
struct ChainPlace {
    /// The cursor of the request.
    var cursor: PageCursor
    /// The planned position of the first item of the answer.
    var offset: Int
    /// The list around that position.
    var list: ListOutline
    /// The kind of work that sent the request.
    var phase = RunPhase.loading
    /// Whether a loop that an earlier run has found counts. A sweep ignores such loops.
    var remembersLoops = true
    /// The number of consecutive pages without new items that count as a loop (R24).
    var loopGuard: Int
    /// The number of consecutive pages without items that count as a loop.
    var emptyPageLimit: Int
    /// Whether only a part is loaded, so that no later page one shows items that are deleted meanwhile.
    var isPart = false

    private var total: Int? { list.record.total.exactCount }

    // MARK: Answers with items

    /// Returns the answer with the next cursor to follow. It has none if the answer says that the list ends, or if it
    /// names itself as the next page (R24).
    func readable(_ answer: FetchedPage, _ walk: inout ChainWalk) -> FetchedPage {
        var page = answer
        // An explicit `hasMore` takes precedence over a next cursor.
        if page.hasMore == false { page.next = nil }
        if page.next == cursor {
            // An empty page with its own cursor is the end of the chain. The items of any other such page are the last
            // ones, and the total decides whether more items follow.
            page.next = nil
            if !page.content.isEmpty { walk.selfLink = cursor }
        }
        // An empty page after a reached exact total is the end, even with a next cursor.
        if page.content.isEmpty, total ?? page.total.exactCount == offset, page.hasMore != true { page.next = nil }
        return page
    }

    /// Decides what an answer with items means.
    /// - Parameters:
    ///   - observed: the items, with their places in the cached list.
    ///   - page: the answer, as `readable` returned it.
    func step(
        _ observed: ObservedPage, _ page: FetchedPage, _ pass: inout RunPass, _ belief: inout ListBelief
    ) -> ChainStep {
        pass.walk.emptyAnswers = 0
        // Where ids repeat, a known id does not prove a known item (R25).
        if list.record.allowsDuplicates { return unaligned(page) }
        if hasLostItems(page, pass.walk) {
            belief.end.shrunkTo = page.total.exactCount
            return .walkAgain
        }
        guard observed.places.contains(where: { $0.map { $0.position >= offset } ?? true }) else {
            // The check of the end has received items from before the last page (R24).
            if pass.walk.mode == .checkingEnd, hasMoved(observed, pass.check) { return .walkAgain }
            // All items of the answer were received before. Many such answers are a loop (R24). If the held list
            // continues after such a last page, the list has another order.
            if page.next == nil, list.pages.contains(where: { $0.range.upperBound > offset }) { return .walkAgain }
            // A stored cursor may name a position in an earlier state of the list, and then leads through held items.
            let isWalk = pass.walk.mode == .whole || pass.walk.isFromPageOne(to: offset)
            if isWalk, !observed.isPushed(to: offset) { pass.walk.isDisordered = true }
            return nothingNew(page, &pass, &belief)
        }
        var before = pass.walk
        let repeats = pass.walk.receive(observed, at: offset)
        // Two walks received the same items again at the same positions (R25).
        if !repeats.isEmpty, belief.order.hasRepeatedAlike(pass.walk, atLeast: observed.repeatsItems ? 1 : 3) {
            return .repeatIDs
        }
        // An answer that repeats an id must also arrive twice.
        if observed.repeatsItems { return .walkAgain }
        if phase.recheck != nil, !observed.isInPlace { return .restart }
        let isChecking = pass.walk.mode == .checkingEnd
        if isChecking, hasMoved(observed, pass.check) { return .walkAgain }
        // Items that an inclusive cursor returns again stay on the page before, so the pages keep their cursors.
        let (repeated, observed) = (observed, observed.withoutPushed(to: offset))
        var page = page
        page.content = observed.content
        var merge = merge(observed, page, at: offset)
        if let next = merge.passedTo, hasOtherTotal(page, pass.walk, belief) {
            if belief.areTotalsUnsteady, before.looksAgain(at: offset) {
                pass.walk = before
                return .follow(cursor)
            }
            pass.walk.passOver()
            merge = self.merge(observed, page, at: next)
        }
        pass.walk.observe(total: page.total, after: belief.pageOne.total)
        let range = merge.position..<merge.position + page.content.count
        var edits = merge.edits(observed, list)
        if observed != repeated { edits.append(.markContiguous(offset - 1..<offset + 1)) }
        // If the walk exceeds the total, the total is false or the list has changed. A second walk decides; see
        // `PassConclusion`. If the known total is an estimate already, a total below the number of received items is no
        // change.
        let isTooLow = list.record.total.exactCount == nil && page.total.exactCount ?? .max < range.upperBound
        if page.total != .unknown, page.total.count != list.record.total.count, !isTooLow {
            edits.append(.setTotal(page.total))
            pass.walk.hasChanged = true
            // The validator of page one confirms the earlier total only.
            belief.drift.asksUnconditionally = true
        }
        guard let next = page.next else {
            let end = ChainEnd(position: range.upperBound, offset: offset, edits: edits, isChanged: !merge.isSame)
            return self.end(end, &pass, &belief)
        }
        // The list keeps its end until the check of the end is over, and while the walk after it finds no change.
        // Otherwise other runs would load a next page meanwhile, and interrupt the walk.
        let keepsEnd = isChecking || pass.walk.mode == .whole && merge.isSame
        if !keepsEnd || range.upperBound > pass.check.oldEnd ?? 0 { edits.append(.setEnd(merge.endOfChain(list))) }
        if phase.isChainSweep {
            edits.append(
                .setSweep(
                    SweepProgress(
                        position: range.upperBound, cursor: next,
                        startedAt: list.record.sweep?.startedAt ?? list.readAt)))
        }
        return .store(
            ChainPage(
                merge: merge, range: range, edits: edits, next: next,
                isRepetition: repeats.count * 10 >= page.content.count * 9))
    }

    /// Whether the total shows that items were deleted since page one, while a part of the list is loaded. A cursor can
    /// be a position: a delete before it then moves an item to a page that was fetched already.
    private func hasLostItems(_ page: FetchedPage, _ walk: ChainWalk) -> Bool {
        isPart && walk.mode != .whole && page.total.exactCount ?? .max < total ?? 0
    }

    /// Whether the last page, requested again, has an item at another position than the held list. The list before that
    /// page has then changed.
    private func hasMoved(_ observed: ObservedPage, _ check: EndCheck) -> Bool {
        let end = check.oldEnd ?? .max
        return !observed.isInPlace(before: end)
            && (check.itemsAgain == 0 || !observed.isInPlace(before: end, again: check.itemsAgain))
    }

    private func merge(_ observed: ObservedPage, _ page: FetchedPage, at position: Int) -> CursorMerge {
        CursorMerge(
            observed, at: position, segments: list.coverage.segments,
            replacedTo: observed.replacedEnd(of: cursor, page.next, at: position, in: list), keepsHole: true)
    }

    /// Whether the answer states another total than the answer before it. The list has then moved in between, or
    /// another replica has answered. Held items between the two answers may be missing from both, so they are not
    /// removed (R22). An estimate of the origin itself is no evidence.
    private func hasOtherTotal(_ page: FetchedPage, _ walk: ChainWalk, _ belief: ListBelief) -> Bool {
        guard page.total.exactCount != nil || belief.areTotalsUnsteady, let total = page.total.count,
            let before = walk.total ?? belief.pageOne.total.count
        else { return false }
        return total != before
    }

    /// Returns the step for a page of a list with repeated ids, which is stored as it arrived (R25).
    private func unaligned(_ page: FetchedPage) -> ChainStep {
        let range = offset..<offset + page.content.count
        // A page that equals the stored one is kept (R6).
        let isSame = list.heldPages.contains { $0.range == range && $0.fingerprint == page.content.fingerprint }
        let isStored = list.coverage.segments.contains { $0.overlaps(range) }
        var edits: [ListEdit] = !isSame && isStored ? [.markStale(offset..<Int.max)] : []
        edits.append(
            .insertPage(
                PageWrite(
                    offset: offset, content: page.content, evidence: .inferred, cursorIn: cursor, cursorOut: page.next,
                    validator: page.validator)))
        if page.next == nil { edits.append(.setEnd(range.upperBound)) }
        let total = page.knowing(list.record.total).total.believed(reached: range.upperBound)
        if total.exactCount != nil, total != list.record.total { edits.append(.setTotal(total)) }
        return .storeUnaligned(
            UnalignedChainPage(range: range, edits: edits, next: page.next, isSame: isSame, isStored: isStored))
    }

    // MARK: Answers without new items

    /// Decides what an answer without items, or a refusal of this position, means.
    /// - Parameter page: the answer. `nil` if the origin refuses the position.
    func step(withoutItems page: FetchedPage?, _ pass: inout RunPass, _ belief: inout ListBelief) -> ChainStep {
        guard let page, page.next != nil else { return end(ChainEnd(position: offset, offset: offset), &pass, &belief) }
        // A single such answer after items can be a fault, and would leave a page out of the list (R20).
        if phase.recheck == nil, offset > 0, pass.walk.emptyAnswers == 0, !pass.walk.confirmsEmpty(at: cursor) {
            return .follow(cursor)
        }
        return nothingNew(page, &pass, &belief)
    }

    /// Decides what an answer without new items means. Empty pages with a next cursor are valid, and so are pages of
    /// known items. Too many consecutive ones are a loop (R24).
    private func nothingNew(_ page: FetchedPage, _ pass: inout RunPass, _ belief: inout ListBelief) -> ChainStep {
        guard phase.recheck == nil else { return .restart }
        if page.content.isEmpty { pass.walk.emptyAnswers += 1 } else { belief.repeats.observe(hasNewItems: false) }
        // Without a next page, or at a reached exact total, the chain ends or starts over.
        guard let next = page.next, total != offset || page.hasMore == true else {
            if let step = repetition(of: page, pass) { return step }
            pass.check.isDue = false
            guard pass.walk.isDisordered, total != offset else { return .endBehindKnown }
            return disorder(ChainEnd(position: offset, offset: offset), pass, belief)
        }
        // If an earlier run has found a loop here, one answer of known items shows that the loop still exists. So do
        // `loopGuard` answers without items.
        let hasLooped = remembersLoops && belief.end.loops.contains(offset)
        let (known, empty) = (belief.repeats.pagesWithoutNewItems, pass.walk.emptyAnswers)
        let mostEmpty = hasLooped ? min(loopGuard, emptyPageLimit) : emptyPageLimit
        guard known < (hasLooped ? 1 : loopGuard), empty < mostEmpty else {
            // A stored cursor may belong to an earlier state of the list and lead through held items. Then the
            // repetition is not a loop.
            if pass.walk.mode != .whole, pass.walk.walkedTo == 0, pass.walk.unbrokenTo != offset, !hasLooped,
                list.record.validatedAt != nil, !page.content.isEmpty
            {
                return .walkAgain
            }
            return .loop("\(max(known, empty)) consecutive pages had no new items")
        }
        return .follow(next)
    }

    /// Returns the step for a last page that has only known items although the list continues, or nil. An exact total
    /// counts more, or the page names itself as the next page: the origin's cursors are then unreliable (R24). Only a
    /// walk from page one proves this, because a stored cursor may belong to an earlier state of the list.
    private func repetition(of page: FetchedPage, _ pass: RunPass) -> ChainStep? {
        guard !page.content.isEmpty, page.hasMore != false, offset > 0,
            total.map({ $0 > offset }) ?? (pass.walk.selfLink == cursor && page.content.count > 1),
            !list.pages.contains(where: { $0.range.upperBound > offset })
        else { return nil }
        if pass.walk.mode != .whole, pass.walk.walkedTo == 0, pass.walk.unbrokenTo != offset { return .walkAgain }
        return .loop("the origin answers another cursor with the same items")
    }

    // MARK: Ends

    /// Decides what the end of a chain means (R24). Held items after the end are removed only after a second answer has
    /// repeated the end (R20).
    private func end(_ end: ChainEnd, _ pass: inout RunPass, _ belief: inout ListBelief) -> ChainStep {
        if pass.walk.selfLink == cursor, total != end.position { return .loopOnItself(end) }
        // A stored cursor may belong to an earlier state of the list, so only a walk from page one proves the end. This
        // walk counts as such a walk if it came here without a break and the total matches.
        let isWalk = pass.walk.isFromPageOne(to: offset)
        if isWalk, belief.order.areItemsRepeated(pass.walk, total: total, end: end.position) { return .repeatIDs }
        // Items that move during the walk may have been missed. Such a walk does not disprove a total (R20).
        let hasMoved = belief.order.hasMoved(pass.walk)
        let isProven = pass.walk.unbrokenTo == offset && !hasMoved && total == end.position
        let isConfirmed = pass.witness.confirms(offset, end: end.position)
        if list.pages.contains(where: { $0.range.upperBound > end.position }) {
            if pass.walk.mode != .whole, !isProven { return .walkAgain }
            if !isConfirmed { return .confirmEnd(at: end.position) }
        } else if !end.isWithPage, total != end.position, pass.check.oldEnd != end.position, !isConfirmed {
            // The cursor of the previous page led to no items. A single such answer does not prove a new end.
            return .confirmEnd(at: end.position)
        }
        pass.check.isDue = false
        if pass.walk.isDisordered, total != end.position { return disorder(end, pass, belief) }
        if pass.walk.hasPassedOver, belief.areTotalsUnsteady { belief.isUnproven = true }
        belief.order.reached(end: end.position, isWhole: isWalk && !hasMoved, total: belief.pageOne.total)
        return .end(end)
    }

    /// Decides what the end of a walk in disorder means. Items arrived again at places where no insert can have moved
    /// them. So the walk does not prove that it has received every item (R24).
    private func disorder(_ end: ChainEnd, _ pass: RunPass, _ belief: ListBelief) -> ChainStep {
        belief.order.hasRepeatedAlike(pass.walk) ? .repeatIDs : .endInDisorder(end)
    }
}

extension CursorMerge {
    var isSame: Bool { step == .same }

    /// Returns the edits that store the answer at its position, and mark its seams as verified.
    func edits(_ observed: ObservedPage, _ list: ListOutline) -> [ListEdit] {
        let count = observed.content.count
        let range = position..<position + count
        let page = observed.write(0..<count, at: position, evidence: .inferred)
        switch step {
        case .same:
            // The items are unchanged, but the next cursor may differ (R6). If several pages hold them, they become one
            // page.
            let isPage = list.heldPages.contains { $0.range == range }
            return [isPage ? .insertPage(page) : .rearrange(.replacing(range, with: page)), .markContiguous(range)]
        case .changed(let rearrangement):
            // If the answer only adds items, observers are notified of a loaded page, and of no other change.
            return [isAddition ? .insertPage(page) : .rearrange(rearrangement), .markContiguous(range)]
        }
    }

    /// Returns the end of the list after this answer. Returns nil when the end was not known before.
    func end(_ list: ListOutline) -> Int? {
        guard case .changed(let rearrangement) = step else { return list.record.end }
        guard let end = list.record.end, let tail = rearrangement.kept()?.last else { return nil }
        return max(end, tail.range.lowerBound) + tail.distance
    }

    /// Returns the end of a chain after this answer, which names a next page. Returns nil when the end was not known
    /// before, or the answer has items after the known end (R24).
    func endOfChain(_ list: ListOutline) -> Int? {
        guard let end = end(list) else { return nil }
        guard case .changed(let rearrangement) = step, let known = list.record.end else { return end }
        return rearrangement.kept()?.last.map { $0.range.lowerBound > known } ?? false ? nil : end
    }
}
