import PageModel

/// The meaning of the answer to a request by position, and the consequence for the run (R20, R21, R24, R53).
enum SpanStep: Equatable {
    /// The items are stored with these edits.
    case store([ListEdit])
    /// The position holds no item, and these edits record it.
    case forget([ListEdit])
    /// The same position is requested once more, before others. A single answer proves nothing.
    case again
    /// The page after the position is requested. That page decides whether the list ends.
    case lookBehind
    /// The end is not believed yet. Page one is requested, and then this position again (R20).
    case confirmEnd
    /// The origin leaves items out of its pages, so the pages are requested one after the other from now on.
    case walkByPosition
    /// The list has moved. The answer shows where, and `isEnd` whether the list ends after it.
    case moved(FetchedPage, isEnd: Bool)
}

/// The positions of an answer that fits the held items around it, and the list there. Decides what the answer means.
/// Pure logic, without I/O.
struct SpanPlace {
    /// The requested positions, without the overlap.
    var range: Range<Int>
    /// The number of known items that were requested again.
    var overlap = 0
    /// The list around the positions.
    var list: ListOutline
    /// The way in which pages can be requested from the origin.
    var source: PagingAccess

    private var start: Int { range.lowerBound - overlap }
    private var total: Int? { list.record.total.exactCount }

    // MARK: Answers with items

    /// Returns the end of the list according to the answer. Returns nil when the answer shows no end, or when an exact
    /// total contradicts that end.
    func end(of page: FetchedPage, _ belief: ListBelief) -> Int? {
        guard case .end(let position) = ending(of: page, belief), total == nil || total == position else { return nil }
        return position
    }

    private func ending(of page: FetchedPage, _ belief: ListBelief) -> EndOfList {
        EndOfList.decide(
            page.knowing(list.record.total), at: start, full: belief.sizes.full(source), access: source)
    }

    /// Decides what items that fit the held ones mean.
    /// - Parameters:
    ///   - page: the answer.
    ///   - missing: the positions of its items that are not held.
    ///   - heldEnd: the position after the last held item of the list, if the list ends with the answer. Unused
    ///     otherwise.
    func step(
        _ page: FetchedPage, _ missing: [Range<Int>], heldEnd: Int, _ pass: inout RunPass, _ belief: inout ListBelief
    ) -> SpanStep {
        let arrived = start..<start + page.content.count
        let identities = page.content.identities
        var edits = page.writes(missing, from: start).map { write in
            belief.recent.keep(identities[write.range.lowerBound - start..<write.range.upperBound - start])
            return ListEdit.insertPage(write)
        }
        // Items that arrived together with held items prove the seams between them (R21).
        edits.append(.markContiguous(arrived))
        let isMore = ending(of: page, belief) == .more
        if let position = end(of: page, belief) {
            // One short answer does not remove the items that are held after it (R20).
            if heldEnd > position, !pass.fill.confirms(range.lowerBound) { return .again }
            if isEndByLength(page, at: position, belief) {
                lookBehind(end: position, &pass, belief)
                if list.record.end != nil { edits.append(.setEnd(nil)) }
            } else {
                edits.append(.setEnd(position))
                // The check of the end is over if the origin states that no more items follow, or if the list is
                // shorter than before.
                if page.hasMore == false || position < pass.check.oldEnd ?? 0 { pass.check.isDue = false }
            }
        } else if let end = list.record.end, arrived.upperBound > end {
            edits.append(.setEnd(nil))
        }
        let isHidingEnd = isMore && isShortOnGrid(page, at: arrived, belief)
        if isHidingEnd { lookBehind(end: arrived.upperBound, &pass, belief) }
        if let total = list.record.total.count, arrived.upperBound > total {
            // The answer has more items than the total (R20).
            edits.append(.setTotal(.estimate(arrived.upperBound)))
        } else if isMore, !isHidingEnd, page.saysMore, total == arrived.upperBound {
            // The origin says that more items follow, which takes precedence over a reached total (R24).
            edits.append(.setTotal(.estimate(arrived.upperBound + 1)))
        }
        return .store(edits)
    }

    /// Whether only the length of an answer shows that the list ends after it, and that end was not known before.
    private func isEndByLength(_ page: FetchedPage, at position: Int, _ belief: ListBelief) -> Bool {
        source.supportsRandomAccess && !page.content.isEmpty && page.hasMore == nil && page.total.exactCount == nil
            && total == nil && list.record.end != position && belief.end.proven != position
    }

    /// Whether a page of a grid is short and says that more items follow, although no item after it is known. The
    /// origin may hide the other items of the page. On a grid, the position of the next page does not depend on their
    /// number.
    private func isShortOnGrid(_ page: FetchedPage, at arrived: Range<Int>, _ belief: ListBelief) -> Bool {
        guard case .grid(let size) = source, belief.access(source).supportsRandomAccess, page.content.count < size,
            page.saysMore
        else { return false }
        return belief.end.isBehindKnown(arrived.upperBound)
    }

    /// Plans a request for the page after an answer that is shorter than a full page. The list ends at `end` only if
    /// the planned request returns no item (R53).
    private func lookBehind(end: Int, _ pass: inout RunPass, _ belief: ListBelief) {
        var position = start + belief.sizes.size
        if case .grid(let grid) = source { position = start / grid * grid + grid }
        pass.fill.look(at: position..<position + belief.sizes.size, PositionFill.Look(end: end))
    }

    // MARK: Answers without new items

    /// Decides what an empty answer means, or a refusal after the end. The known items of the overlap arrived as they
    /// are held. Without other evidence, the list ends there (R24).
    func step(nothingIn answer: PageAnswer, _ pass: inout RunPass, _ belief: inout ListBelief) -> SpanStep {
        let place = range.lowerBound
        let page = if case .page(let page) = answer { page } else { FetchedPage?.none }
        let isHiding = belief.end.furthest > place
        let isHeadEnd = list.coverage.headEnd == place
        if let page, page.hasMore == true, isHeadEnd, page.total.exactCount.map({ place < $0 }) ?? true,
            belief.access(source).supportsRandomAccess
        {
            // The origin reports more items. The same answer again shows that it leaves items out (R24, R53).
            return pass.fill.confirms(place) ? .walkByPosition : .again
        }
        if let total, place < total {
            // A single bad answer proves nothing (R20).
            guard pass.fill.confirms(place) else { return .again }
            if answer.refusesPosition { belief.end.observe(refusalOf: place, total: list.record.total) }
            // Items after the position were returned, so the origin hides items before them (R53).
            if isHiding { return .walkByPosition }
            pass.fill.observe(emptyFrom: place)
        } else if total == nil {
            if isHiding, belief.access(source).supportsRandomAccess { return .walkByPosition }
            if list.pages.contains(where: { $0.range.upperBound > place }), !pass.witness.confirms(place, end: place) {
                return .confirmEnd
            }
            if source.supportsRandomAccess, list.heldPages.contains(where: { $0.range.upperBound > place }) {
                // The end was reported twice, so it is believed. The items that are held after it may have moved to
                // earlier positions or been removed (G6), so the list is reconciled.
                return .moved(FetchedPage(content: PageContent(), total: belief.pageOne.total), isEnd: true)
            }
        }
        pass.fill.observe(withoutNewItems: place)
        if let page, isHeadEnd, isEndByLength(page, at: place, belief) {
            // The known items before the position arrived alone, so the answer is not an empty page.
            lookBehind(end: place, &pass, belief)
            return .lookBehind
        }
        if total == nil, isHeadEnd {
            // The total was raised because the origin reported more items. The stated total was right.
            let isTotal = page?.total.exactCount == place && place > 0
            return .forget([.setEnd(place)] + (isTotal ? [.setTotal(.exact(place))] : []))
        }
        if let page, let now = page.total.exactCount, let total, now != total { return .moved(page, isEnd: false) }
        return .forget([])
    }
}
