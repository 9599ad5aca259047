import PageModel

extension SyncRun {
    /// Handles an answer behind the end of the list that is the last page again, or the first one, at an origin whose
    /// total does not count more (R24). The list ends there, or is a loop when the answer reports more items.
    ///
    /// Page one has stayed as it was, so no insert has moved the items there. An answer that is page one proves nothing
    /// while no other page is held: the origin may ignore the position.
    /// - Returns: whether it was such an answer.
    func isClamped(
        _ page: FetchedPage, _ places: [UInt64: ItemPlace], of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) -> Bool {
        let (end, count) = (range.lowerBound, page.content.count)
        guard page.next == nil, page.total.exactCount ?? 0 <= end, count < end,
            [end - count, 0].contains(where: { first in
                page.content.identities.enumerated().allSatisfy { places[$1.key]?.position == first + $0 }
            }),
            try await areHeldAlike(page.content, places, query),
            let list = try await storage.excerpt(of: query, 0..<Int.max), list.coverage.headEnd == end,
            list.coverage.segments.count == 1, list.record.total.exactCount == nil, isStillThere(list)
        else { return false }
        guard pass.witness.confirms(end, end: end) else {
            askWitness(for: .range(range, overlap: 0), end: end)
            return true
        }
        pass.check.isDue = false
        if page.hasMore == true {
            try await originIgnoresOffsets(at: end)
        } else {
            try await apply([.setEnd(end)], [leases.deleted(end)], to: list)
        }
        return true
    }

    /// Returns the answer of an origin without a total that goes behind the end of its list, in the form in which it can
    /// be stored (R24). Returns nil for every other answer.
    ///
    /// - An answer may hold the last full page instead of the requested position: known items to the last held
    ///   one, and then new ones. An insert looks the same. The position of the first known item is therefore requested
    ///   once, and the list continues from that answer.
    /// - An answer may continue with the first items of the list behind the last one. These are cut off. Items with
    ///   the ids of the first ones and other content are other items of a list that repeats ids (R25).
    ///
    /// Both hold also when the answer reports more items: such a report decides only about the end. While pages before
    /// the answer are in flight, nothing is decided.
    func behindEnd(
        _ page: FetchedPage, _ places: [UInt64: ItemPlace], at start: Int, of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) -> BehindEnd? {
        let end = range.lowerBound
        guard page.next == nil, page.total.exactCount == nil,
            let list = try await storage.excerpt(of: query, 0..<Int.max), list.record.total.exactCount == nil,
            isStillThere(list)
        else { return nil }
        let positions = page.content.identities.map { places[$0.key]?.position }
        let beginning = positions.firstIndex(of: 0).flatMap { first in
            positions[first...].enumerated().allSatisfy { $1 == $0 } ? first : nil
        }
        guard list.coverage.headEnd == end, list.coverage.segments.count == 1 else {
            let isUndecided = queue.inFlight.contains { $0.isPage && $0.offset < start }
            return beginning != nil && isUndecided ? .undecided : nil
        }
        let known = positions.prefix { $0 != nil }.count
        let first = end - known
        if source.access == .offsets, first < start - 1, known < positions.count,
            positions.enumerated().allSatisfy({ $1 == ($0 < known ? first + $0 : nil) }),
            pass.fill.realigns(end)
        {
            return .elsewhere(.range(end..<end + positions.count - known, overlap: known))
        }
        guard let cut = beginning, cut > 0, cut >= end - start,
            positions[..<cut].enumerated().allSatisfy({ $1 == nil || $1 == start + $0 }),
            cut > end - start || positions.count - cut > 1,
            try await areHeldAlike(page.content.slice(cut..<positions.count), places, query)
        else { return nil }
        var kept = page
        kept.content = page.content.slice(0..<cut)
        return .part(kept)
    }

    /// Whether those of these items that the list holds have equal content there: the same bytes, or the same JSON (R6).
    func areHeldAlike(
        _ content: PageContent, _ places: [UInt64: ItemPlace], _ query: QueryID
    ) async throws(StorageError) -> Bool {
        try await keepingBytes(of: content, at: places, in: query).identities.allSatisfy {
            places[$0.key].map { $0.content } ?? $0.content == $0.content
        }
    }

    /// An answer of an origin that goes behind the end of its list.
    enum BehindEnd {
        /// The items before the position are in flight. The answer is dropped, and the position is requested again
        /// later.
        case undecided
        /// The list continues in the answer for this position.
        case elsewhere(FetchTarget)
        /// Only these items belong to the requested positions.
        case part(FetchedPage)
    }
}

/// Origins that return their last full page for every position behind it, although their total counts more (R24). Such
/// an origin has a result window, and refuses the positions behind it without saying so.
extension SyncRun {
    /// Handles an answer below the total with the same items as the answer for a lower position. The origin refuses the
    /// higher position. The end of the pass requests page one once more, and then this position, so that a list that
    /// has moved by just as many items is not cut off.
    ///
    /// The answer for the lower position may have been stored before the page in front of it. Its place is then not
    /// proven, and it does not count as held.
    /// - Returns: whether it was such an answer.
    func refusesBelowTotal(
        _ page: FetchedPage, at start: Int, of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) -> Bool {
        let count = page.content.count
        guard let lower = belief.end.lowestPlace(ofRepeated: page),
            lower < start || count <= range.lowerBound - start, page.next == nil,
            let total = page.total.exactCount, range.lowerBound < total, lower + count < total,
            let list = try await storage.excerpt(of: query, 0..<Int.max), list.record.total == page.total,
            !list.record.allowsDuplicates, isStillThere(list),
            let key = page.content.identities.first?.key,
            try await storage.locate([key], in: query)[key].map({ $0.position > 0 }) ?? true
        else { return false }
        belief.end.observe(refusalOf: range.lowerBound, total: list.record.total)
        pass.fill.observe(repeatedFrom: range.lowerBound)
        queue.clear(from: range.lowerBound)
        let isApart = list.coverage.headEnd < lower && list.coverage.segments.contains(where: { $0.contains(lower) })
        try await apply(
            isApart ? [.markStale(lower..<lower + count)] : [], [leases.deleted(range.lowerBound)], to: list)
        return true
    }

    /// Requests the position of the first item of an answer below the total, once in each pass, if the answer begins
    /// with the last held items instead of the requested position. The same items once more show that the origin has
    /// returned its last page, and where that page belongs. After a move of the list, other items arrive.
    /// - Returns: whether the position is requested.
    func looksAtLastPage(
        _ page: FetchedPage, _ places: [UInt64: ItemPlace], at start: Int, of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) -> Bool {
        let (end, count) = (range.lowerBound, page.content.count)
        guard count > 1, page.next == nil, let total = page.total.exactCount,
            let first = page.content.identities.first.flatMap({ places[$0.key]?.position }),
            first > 0, first < start, end <= first + count, first + count < total, source.access.begins(at: first),
            let list = try await storage.excerpt(of: query, 0..<Int.max), list.record.total == page.total,
            list.coverage.headEnd == end, !list.record.allowsDuplicates, isStillThere(list),
            page.content.identities.enumerated().allSatisfy({ index, identity in
                places[identity.key]?.position == (first + index < end ? first + index : nil)
            }), try await areHeldAlike(page.content, places, query), pass.fill.realigns(end)
        else { return false }
        queue.add([.range(end..<max(end + 1, first + count), overlap: end - first)])
        return true
    }
}

extension PagingAccess {
    /// Whether a page of the origin can begin at a position.
    fileprivate func begins(at position: Int) -> Bool {
        if case .grid(let size) = self { position % size == 0 } else { true }
    }
}
