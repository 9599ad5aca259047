import PageModel

extension SyncRun {
    /// Handles an answer for a position after the held items that contains the last held page again, or the first one
    /// (R24).
    /// - Returns: whether it was such an answer.
    func isRepeatedPage(
        _ page: FetchedPage, _ places: [UInt64: ItemPlace], at start: Int, of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) -> Bool {
        if try await isClamped(page, places, at: start, of: range, query) { return true }
        return try await isCutOff(page, places, of: range, query)
    }

    /// Handles an answer for a position after the end of the list that contains the last page again, or the first one,
    /// if no total counts more items (R24). The list ends there, or is a loop when the answer reports more items.
    ///
    /// Inserts after page one can also move the last items past the held end. So the positions at which these items are
    /// held are requested: the items are still there only if no insert has moved them. An answer that is page one
    /// proves nothing while no other page is held, because the origin may ignore the position.
    /// - Returns: whether it was such an answer.
    private func isClamped(
        _ page: FetchedPage, _ places: [UInt64: ItemPlace], at start: Int, of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) -> Bool {
        let (end, count) = (range.lowerBound, page.content.count)
        guard page.next == nil, page.total.exactCount ?? 0 <= end, count < end,
            let list = try await listBefore(end, query), list.coverage.headEnd == end,
            list.record.total.exactCount == nil, !belief.areTotals(allAbove: end),
            page.isHeld(from: end - count, places) || start == end && page.isHeld(from: 0, places),
            // Equal items without ids are other items, unless a whole page is the same.
            count >= belief.pageOne.count || !page.content.ids.contains(where: { $0 == nil }),
            try await areHeldAlike(page.content, places, query), !isPushed(page, places, at: start, end: end)
        else { return false }
        let isAlikeElsewhere = pass.fill.isAlike(page.content.identities.map(\.key), at: start)
        guard pass.witness.confirms(end, end: end) else {
            requestWitness(for: .range(range, overlap: 0), end: end)
            return true
        }
        // Inserts may have moved the last items to this position. Their old positions then have other items. The same
        // answer for two positions shows that no item was moved. So does the last page, if a check of the end has read
        // it.
        var mayBeMoved = page.hasMore == true
        switch source.access {
        case .grid(let size): if count >= size, !pass.check.hasReadLastPage { mayBeMoved = true }
        case .offsets: if !isAlikeElsewhere { mayBeMoved = true }
        case .chain, .single: break
        }
        if mayBeMoved, places[page.content.identities[0].key]?.position != 0, pass.fill.realigns(end) {
            pass.fill.askedAgain.insert(end - count)
            queue.add([.range(end - count..<end + 1, overlap: 0)])
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

    /// Whether inserts have moved the known items of an answer to the requested position. The request began with a held
    /// item. The items are fewer than a page, and are not held from a multiple of the page size on, so they are not the
    /// origin's last page.
    private func isPushed(_ page: FetchedPage, _ places: [UInt64: ItemPlace], at start: Int, end: Int) -> Bool {
        let size = max(1, belief.sizes.size)
        guard start < end, page.content.count < size,
            let first = places[page.content.identities[0].key]?.position
        else { return false }
        return !first.isMultiple(of: size)
    }

    /// Handles an answer that contains the last held page again, for a later position that an exact total counts. If
    /// page one, fetched once more, shows that the list has not changed, the origin returns no further items (R24).
    /// - Returns: whether it was such an answer.
    private func isCutOff(
        _ page: FetchedPage, _ places: [UInt64: ItemPlace], of range: Range<Int>, _ query: QueryID
    ) async throws(StorageError) -> Bool {
        let (place, count) = (range.lowerBound, page.content.count)
        // The first such answer counts as a move of the list, which the run repairs (R21).
        guard counts.driftsDetected > 0, page.next == nil, page.hasMore != true, count > 1,
            let total = page.total.exactCount, total > place,
            let list = try await listBefore(place, query), list.record.total.exactCount == total,
            list.coverage.headEnd > count, page.isHeld(from: list.coverage.headEnd - count, places),
            try await areHeldAlike(page.content, places, query)
        else { return false }
        let end = list.coverage.headEnd
        guard pass.witness.confirms(place, end: end) else {
            requestWitness(for: .range(range, overlap: 0), end: end)
            return true
        }
        pass.fill.observe(emptyFrom: end)
        queue.clear(from: end)
        return true
    }

    /// Returns the list if its held items are one segment that ends at this position or before. Otherwise returns nil.
    private func listBefore(_ place: Int, _ query: QueryID) async throws(StorageError) -> ListOutline? {
        guard let list = try await storage.excerpt(of: query, 0..<Int.max), list.coverage.segments.count == 1,
            list.coverage.headEnd <= place, isStillThere(list)
        else { return nil }
        return list
    }

    /// Returns the part of an answer that can be stored, if an origin without a total returned known items for
    /// positions after the end of its list (R24). Returns nil for any other answer.
    ///
    /// - The answer may be the last full page, instead of the items at the requested position: known items up to the
    ///   last held one, and then new items. After an insert, an answer looks the same. The position of the first known
    ///   item is therefore requested once, and the list continues from that answer.
    /// - The answer may continue with the first items of the list after the last one. The first items are cut off.
    ///   Items with the ids of the first ones and other content are other items of a list that repeats ids (R25).
    ///
    /// Both rules also apply when the answer reports more items, because such a report concerns only the end. While
    /// pages before the answer are in flight, the result is `undecided`.
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
        if source.access == .offsets, first < start, known > 0, known < positions.count,
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

    /// Whether each of these items that the list holds has equal content there: the same bytes, or the same JSON (R6).
    /// Items that are not held do not count.
    func areHeldAlike(
        _ content: PageContent, _ places: [UInt64: ItemPlace], _ query: QueryID
    ) async throws(StorageError) -> Bool {
        try await keepingBytes(of: content, at: places, in: query).identities.allSatisfy {
            places[$0.key].map { $0.content } ?? $0.content == $0.content
        }
    }

    /// An answer with known items for positions after the end of the list.
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

extension FetchedPage {
    /// Whether all items of the page are held one after the other from this position on.
    fileprivate func isHeld(from first: Int, _ places: [UInt64: ItemPlace]) -> Bool {
        content.identities.enumerated().allSatisfy { places[$1.key]?.position == first + $0 }
    }
}
