import PageModel

/// Origins with a total larger than the number of items that they return: a result window (R24).
extension SyncRun {
    /// Whether the failure is handled as a refusal of positions after the end or after a result window, and not as a
    /// failure of a single page. The origin must refuse two positions, or the last one, with no held item after them.
    /// Page one and the first refused position, fetched once more, then show whether a result window ends there.
    func isBehindWindow(_ failure: FetchFailure, _ target: FetchTarget) async throws(StorageError) -> Bool {
        if case .sweep(let range) = target, failure.refusesPlace, let record = try await storage.query(key),
            record.resultWindow ?? .max <= range.upperBound || record.knownLength ?? .max <= range.lowerBound
        {
            // After the end or the result window of the list, a refusal confirms that end.
            queue.completed(target)
            try await sweepArrived(.pastEnd, range)
            return true
        }
        guard case .range(let range, let overlap) = target, failure.refusesPlace, range.lowerBound > 0, let query,
            let list = try await storage.outline(of: query)
        else { return false }
        if failure.httpStatus == 422, overlap > 0, list.heldEnd <= range.lowerBound,
            let aligned = realigned(isRefused: true, range, overlap, list)
        {
            queue.completed(target)
            try await release(target)
            queue.addFirst(aligned)
            return true
        }
        if let look = pass.fill.looks[range.lowerBound] {
            // After a supposed end, a refusal is not a failure. The refusal shows that no item can be fetched there.
            queue.completed(target)
            belief.end.observe(refusalOf: range.lowerBound, total: list.record.total)
            if failure.httpStatus == 422, let end = look.end, list.coverage.headEnd == end {
                _ = try await self.end(atWindow: end, nil, list)
            } else {
                try await nothingBehind(look, at: range.lowerBound, list)
            }
            try await record([leases.deleted(range.lowerBound)], for: query)
            return true
        }
        let total = list.record.total.exactCount ?? .max
        guard range.lowerBound < total, !list.heldPages.contains(where: { $0.offset >= range.lowerBound }) else {
            return false
        }
        pass.fill.observe(refusalOf: range.lowerBound)
        // A single refused page is a failure of that page, and the pages after it are fetched.
        let lastHeld = list.heldPages.last?.offset ?? 0
        let refused = pass.fill.refused.filter { $0 > lastHeld }
        let isLast =
            failure.httpStatus == 422
            && (range.upperBound >= total || isBehindStoredWindow(range, list)
                || reachesBehindStoredWindow(range, overlap, list))
        guard refused.count > 1 || isLast || range.lowerBound == belief.end.suspected, let first = refused.min() else {
            // Without a total, no plan contains the page after this one. If a window ends here, the origin refuses that
            // page, too.
            if failure.httpStatus == 422, list.record.total.exactCount == nil, options.work.refreshesHead {
                queue.add([pageBehind(range)])
            }
            return false
        }
        queue.completed(target)
        pass.fill.observe(emptyFrom: first)
        queue.clear(from: first)
        failures.abandoned.subtract(refused)
        let edits = refused.sorted().map { leases.deleted($0) }
        try await record(edits, for: query)
        return true
    }

    /// Handles the refusal of a next page after an exact total that the chain has reached. The list ends there (R24).
    /// - Returns: whether the failure was such a refusal.
    func isBehindTotal(_ failure: FetchFailure, _ target: FetchTarget) async throws(StorageError) -> Bool {
        guard case .cursor(let cursor, let offset) = target, failure.refusesPlace, let query,
            let list = try await storage.excerpt(of: query, 0..<0), let total = list.record.total.exactCount,
            offset >= total, total > 0
        else { return false }
        queue.completed(target)
        try await followerArrived(.pastEnd, cursor, at: offset)
        if !leases.hasEnded { try await release(target) }
        return true
    }

    /// Whether a list without a total has a stored result window that ends before this page. The run that stored the
    /// window has requested the page after it.
    private func isBehindStoredWindow(_ range: Range<Int>, _ list: ListOutline) -> Bool {
        list.record.total.exactCount == nil && options.work.refreshesHead
            && list.record.resultWindow ?? .max <= range.lowerBound
    }

    /// Whether the request for these positions, which asks for a whole page, includes positions after the stored result
    /// window. A refusal then says that the window still ends there.
    private func reachesBehindStoredWindow(_ range: Range<Int>, _ overlap: Int, _ list: ListOutline) -> Bool {
        guard let window = list.record.resultWindow else { return false }
        return window < range.lowerBound - overlap + belief.sizes.size
    }

    /// Returns the request for the first whole page after these positions. It begins at a multiple of the page size,
    /// because some origins refuse all other positions.
    private func pageBehind(_ range: Range<Int>) -> FetchTarget {
        var size = belief.sizes.size
        if case .grid(let grid) = source.access { size = grid }
        let start = (range.upperBound + size - 1) / size * size
        return .range(start..<start + size, overlap: 0)
    }

    /// Stores the window. The list is `limited` from now on, and positions after the window are not requested.
    func end(atWindow end: Int, _ total: Int?, _ list: ListOutline) async throws(StorageError) -> Bool {
        warnOfWindow(end, total)
        return try await finish([.setResultWindow(end)], list)
    }

    /// Drops a stored window that held items disprove: the origin has returned items after it in this run, or the items
    /// reach the exact total. Items that an insert has moved past the window do not disprove it. A chain is walked to
    /// its end in any case.
    /// - Returns: whether the window was dropped.
    func dropsDisprovedWindow(_ list: ListOutline) async throws(StorageError) -> Bool {
        guard list.holdsItemsBehindResultWindow, let window = list.record.resultWindow,
            access == .chain || belief.end.furthest > window
                || list.coverage.headEnd >= list.record.total.exactCount ?? 0
        else { return false }
        return try await commit([.setResultWindow(nil)], [], list)
    }

    /// Warns that the origin returns only a part of the list. Each run warns. The total is `nil` when the origin only
    /// refuses later positions.
    func warnOfWindow(_ end: Int, _ total: Int?) {
        warn(FetchFailure.cutOff(at: end, total).message)
    }
}

extension FetchFailure {
    /// The failure of a load after a result window.
    /// - Parameters:
    ///   - end: the number of items before the window ends.
    ///   - total: the exact total. `nil` means that the origin only refuses later positions.
    static func cutOff(at end: Int, _ total: Int?) -> FetchFailure {
        let count = total.map { "counts \($0) items" } ?? "refuses later positions"
        return FetchFailure(
            .unconfirmed, "the origin \(count) and returns only the first \(end)", isRetryable: true)
    }
}

extension ListOutline {
    /// The list for a plan of fetches. A result window is left out if items after it are held. The positions after
    /// these items are then requested once more.
    var withoutPassedWindow: ListOutline {
        guard holdsItemsBehindResultWindow else { return self }
        var list = self
        list.record.resultWindow = nil
        return list
    }
}

extension QueryRecord {
    /// The larger of the end and the exact total. `nil` when neither is known.
    fileprivate var knownLength: Int? { [end, total.exactCount].compactMap(\.self).max() }
}

/// Refusals of positions that the total counts. Such a refusal is a failure, until repeated refusals show a result
/// window (R24).
extension SyncRun {
    /// Returns the failure that a refused position stands for. Returns nil if the answer is not a refusal, or if the
    /// refusal says where the list ends.
    ///
    /// The origin has returned the item at a held position before, so a refusal of such a position, which an exact
    /// total counts, is a failure. A 404 for a counted position that is not held is also a failure, until the origin
    /// has answered so for an hour.
    func failure(in answer: PageAnswer, to target: FetchTarget) async throws(StorageError) -> FetchFailure? {
        let place = target.offset
        guard answer.refusesPosition, source.access.supportsRandomAccess, place > 0, let query,
            let list = try await storage.excerpt(of: query, place..<place + 1),
            case .exact(let stored) = list.record.total,
            place < reconciliation?.page.total.exactCount ?? belief.pageOne.total.exactCount ?? stored
        else { return nil }
        // An origin refuses a request that reaches past its result window as a whole.
        if case .sweep(let range) = target, let window = list.record.resultWindow, window <= range.upperBound {
            return nil
        }
        // The answer for the page that begins at a multiple of the page size decides.
        if answer == .pastEnd, isBetweenPages(target) { return nil }
        let isHeld = list.heldPages.contains { $0.range.contains(place) }
        if !isHeld {
            guard case .range = target, answer == .notFound, !belief.end.isRefusedForLong(place, now: storageTime)
            else {
                return nil
            }
            pass.fill.observe(notFound: place)
            if let first = pass.fill.firstMissing { queue.clear(from: first) }
        }
        return .refused(by: answer)
    }
}

extension SyncRun {
    /// Returns the request that replaces a refused one, at most once for each position. The new request begins at a
    /// multiple of the page size. Some origins accept no other offset. Others refuse a page that reaches past their
    /// result window, although its first positions are inside. So the refusal of another offset does not show where a
    /// window ends.
    /// - Parameter isRefused: whether the origin refused the positions.
    func realigned(isRefused: Bool, _ range: Range<Int>, _ overlap: Int, _ list: ListOutline) -> FetchTarget? {
        guard isRefused, source.access == .offsets, belief.sizes.size > 1,
            range.lowerBound < list.record.total.exactCount ?? 0
        else { return nil }
        belief.end.observe(refusalOf: range.lowerBound, total: list.record.total)
        let start = range.lowerBound / belief.sizes.size * belief.sizes.size
        guard start != range.lowerBound - overlap, pass.fill.realigns(range.lowerBound) else { return nil }
        // If the origin refuses the new request, too, that is the second refusal of this position (R20).
        _ = pass.fill.confirms(range.lowerBound)
        return .range(range, overlap: range.lowerBound - start)
    }

    /// Whether a request by position begins between two multiples of the page size.
    func isBetweenPages(_ target: FetchTarget) -> Bool {
        guard case .range(let range, let overlap) = target else { return false }
        var size = belief.sizes.size
        if case .grid(let grid) = source.access { size = grid }
        return size > 1 && !(range.lowerBound - overlap).isMultiple(of: size)
    }
}

extension FetchFailure {
    /// Whether the origin refuses the position, and not the list as a whole.
    fileprivate var refusesPlace: Bool {
        guard !isRetryable, failureClass == .rejected, let status = httpStatus else { return false }
        return [400, 404, 416, 422].contains(status)
    }
}
