import PageModel

/// The meaning of an answer to a sweep's request, and the consequence for the run (R23).
enum SweepStep: Equatable {
    /// The page is verified or repaired, and the sweep continues after it.
    case store(SweptPage)
    /// The sweep ends here with these edits, at the end of the list or of its result window.
    case end(SweptPage?, edits: [ListEdit], isWindow: Bool)
    /// The end is not believed yet. Page one is requested, and then this position again (R20).
    case confirmEnd(SweptPage?, at: Int)
    /// The list differs from the verified one, so page one is requested again. If the items of the answer are given,
    /// they may show that the origin hides items (R53).
    case moved(ObservedPage?)
}

/// A page that a sweep has verified or repaired.
struct SweptPage: Equatable {
    /// The verified positions, without the overlap.
    var range: Range<Int>
    var edits: [ListEdit]
    /// Whether the list already held exactly these items here.
    var isSame: Bool
    /// Whether every item was held at its position, possibly with other content.
    var isInPlace = true
}

/// The position of a sweep at which an answer arrived, and the list around it. Decides what the answer means. Pure
/// logic, without I/O.
struct SweepPlace {
    var list: ListOutline
    /// All positions before this one have been verified.
    var position: Int
    /// The first position that this run has verified.
    var start = Int.max
    var grid: SweepGrid
    var witness = EndWitness()
    /// Whether a single held page is checked, and not the whole list (R54).
    var isRecheck = false

    /// The request that verifies the positions from `position` on.
    var requestRange: Range<Int> { grid.requestRange(position) }
    private var startedAt: Timestamp { list.record.sweep?.startedAt ?? list.readAt }

    /// Whether the total of an answer shows that the list has changed or that the origin is failing (R20). An exact
    /// total that differs from that of the list does so. So does a total below the number of items of page one, unless
    /// the total of page one was wrong already.
    func contradicts(_ total: ListTotal, _ pageOne: PageOneBelief) -> Bool {
        guard let now = total.exactCount else { return false }
        if now != list.record.total.exactCount ?? now { return true }
        return switch pageOne.total {
        case .exact(let count): now < pageOne.count && count >= pageOne.count
        case .unknown: now < pageOne.count
        case .estimate: false
        }
    }

    /// Whether an answer is shorter than requested although the list continues after it (R53). The origin then says so,
    /// or its total counts more items, or items are held after the answer. Returns nil if only later answers can show
    /// it.
    func isShort(_ page: FetchedPage) -> Bool? {
        let (start, after) = (requestRange.lowerBound, requestRange.lowerBound + page.content.count)
        guard grid.isSizeSure, page.content.count < requestRange.count, page.hasMore != false,
            list.record.resultWindow ?? .max > after
        else {
            return false
        }
        if page.hasMore == true { return true }
        if let total = page.knowing(list.record.total).total.exactCount { return after < total }
        return list.heldPages.contains { $0.range.upperBound > after && $0.offset > start } ? true : nil
    }

    /// Decides what an answer means.
    /// - Parameters:
    ///   - observed: all items of the answer, with their places in the cached list.
    ///   - page: the answer.
    func step(_ observed: ObservedPage, _ page: FetchedPage) -> SweepStep {
        if observed.repeatsItems { return .moved(nil) }
        if isEndAgain(observed, page) {
            let isProven = page.total.exactCount != nil || witness.confirms(requestRange.lowerBound, end: position)
            return isProven ? end(at: position, nil, page) : .confirmEnd(nil, at: position)
        }
        let overlap = position - requestRange.lowerBound
        // Verified items that arrive again in another order show no item after them.
        let isAgain = observed.isReordered && observed.range.upperBound <= position
        var content = isAgain ? PageContent() : observed.content
        if overlap > 0, content.count > 0 {
            // The item before `position` must be where it was. Otherwise items were inserted or removed before it
            // (R21).
            guard content.count >= overlap, observed.places[overlap - 1]?.position == position - 1 else {
                return .moved(observed)
            }
            content = content.slice(overlap..<content.count)
        }
        // The check of a held page fetches no position that is missing after the page.
        if let end = missingFrom { content = content.slice(0..<min(content.count, end - position)) }
        guard !content.isEmpty else { return isRecheck ? .moved(nil) : end(at: position, nil, page) }
        let news = ObservedPage(offset: position, content: content, places: observed.placesByKey, isEnd: false)
        let merge = CursorMerge(news, at: position, segments: list.coverage.segments, keepsHole: false)
        guard merge.position == position else { return .moved(nil) }
        let after = position + content.count
        let verified = position - min(overlap, 1)..<after
        // A repair cuts a page that began before the answer. The rest of that page may be joined with other items
        // unless both parts are large enough.
        let confirmed = touched(endingIn: verified).filter {
            merge.isSame || min(position - $0.offset, content.count) >= PageMerging.minimum
        }
        var edits = merge.isSame ? [] : merge.edits(news, list)
        edits += confirmed.map { .touchPage(offset: $0.offset, validator: nil) }
        edits.append(.markContiguous(verified))
        if let total = list.record.total.exactCount, after > total { edits.append(.setTotal(.estimate(after))) }
        var swept = SweptPage(range: position..<after, edits: edits, isSame: merge.isSame, isInPlace: news.isInPlace)
        if isRecheck { return .store(swept) }
        // A reached total does not prove the end in a sweep. The next request shows whether the list ends.
        if page.hasMore == false || isShortAtEnd(page, requestRange) && list.record.end == after {
            return end(at: after, swept, page)
        }
        swept.edits += [.setEnd(merge.end(list)), .setSweep(SweepProgress(position: after, startedAt: startedAt))]
        return .store(swept)
    }

    /// Decides what an answer means in a list with repeated ids. The page is stored at its position as it was sent
    /// (R25).
    func step(unaligned page: FetchedPage) -> SweepStep {
        let range = requestRange.lowerBound..<requestRange.lowerBound + page.content.count
        if range.upperBound <= position { return end(at: position, nil, page) }
        let isSame = list.heldPages.contains { $0.range == range && $0.fingerprint == page.content.fingerprint }
        var edits: [ListEdit] = []
        if !isSame {
            let write = PageWrite(
                offset: range.lowerBound, content: page.content, evidence: .inferred, validator: page.validator)
            edits = [.markStale(range), .insertPage(write)]
        }
        edits.append(.markContiguous(range))
        var swept = SweptPage(range: position..<range.upperBound, edits: edits, isSame: isSame)
        if page.hasMore == false || isShortAtEnd(page, grid.requestRange(range.lowerBound)) {
            return end(at: range.upperBound, swept, page)
        }
        swept.edits.append(.setSweep(SweepProgress(position: range.upperBound, startedAt: startedAt)))
        return .store(swept)
    }

    /// Returns the held pages that an answer verifies together with earlier answers of this run. After an insert or a
    /// delete, the held pages begin and end at other positions than the answers.
    private func touched(endingIn verified: Range<Int>) -> [PageSummary] {
        list.heldPages.filter {
            $0.offset >= start && $0.offset < verified.lowerBound
                && verified.lowerBound < $0.range.upperBound && $0.range.upperBound <= verified.upperBound
        }
    }

    /// Whether the answer is short, and only its length can show that the list ends after it.
    private func isShortAtEnd(_ page: FetchedPage, _ requested: Range<Int>) -> Bool {
        grid.isSizeSure && page.total.exactCount == nil && page.hasMore == nil
            && page.content.count < requested.count
    }

    /// The first missing position after the held page that is checked. `nil` in a sweep, and if the list ends with the
    /// held items.
    private var missingFrom: Int? {
        guard isRecheck, let end = list.coverage.segments.first(where: { $0.contains(position) })?.upperBound,
            end != list.record.end ?? list.record.total.exactCount
        else { return nil }
        return end
    }

    /// Whether an answer after the end of the list repeats the last page, or the first one (R24). The sweep has
    /// verified the list up to that end.
    private func isEndAgain(_ observed: ObservedPage, _ page: FetchedPage) -> Bool {
        let count = page.content.count
        guard !isRecheck, count > 0, count <= position, page.hasMore != true, page.next == nil,
            [position - count, 0].contains(where: { first in
                observed.places.enumerated().allSatisfy { $1?.position == first + $0 }
            })
        else { return false }
        if let total = page.total.exactCount { return total == position && list.record.total.exactCount == position }
        // Page one alone, returned for every position, proves no end unless it states that no items follow.
        return (count < position || page.hasMore == false) && list.record.end == position
    }

    /// Decides about the end of the sweep. Held items after the end are removed only if the total confirms the end, or
    /// a second answer repeats it (R20).
    private func end(at end: Int, _ swept: SweptPage?, _ page: FetchedPage) -> SweepStep {
        let edits = swept?.edits ?? []
        // A request that extends beyond the window is refused as a whole, or returns nothing.
        let isCutOff = swept == nil && list.record.resultWindow ?? .max < requestRange.upperBound
        if let window = list.record.resultWindow, window <= end || isCutOff, list.length > end {
            // The origin returns no items after its result window, so held items there are kept.
            return .end(swept, edits: edits + [.setResultWindow(end), .setSweep(nil), .audited], isWindow: true)
        }
        let isCounted = page.total.exactCount == end && list.record.total.exactCount == end
        if list.heldEnd > end, !isCounted, !witness.confirms(requestRange.lowerBound, end: end) {
            return .confirmEnd(swept, at: end)
        }
        var ending: [ListEdit] = [.truncate(at: end), .setEnd(end), .setSweep(nil), .audited]
        if let window = list.record.resultWindow, window < end { ending.append(.setResultWindow(nil)) }
        return .end(swept, edits: edits + ending, isWindow: false)
    }
}
