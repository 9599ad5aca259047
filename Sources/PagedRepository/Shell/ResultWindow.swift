import PageModel

/// Origins with a total larger than the number of items that they return: a result window (R24).
extension SyncRun {
    /// Whether the origin permanently refuses two positions, or the last one, with no held item behind them. Such
    /// refusals are no failures of single pages. Page one and the first refused position, fetched once more, show
    /// whether a result window ends there.
    func isBehindWindow(_ failure: FetchFailure, _ target: FetchTarget) async throws(StorageError) -> Bool {
        if case .sweep(let range) = target, failure.refusesPlace,
            let window = try await storage.query(key)?.window, window <= range.upperBound
        {
            queue.landed(target)
            try await sweepArrived(.pastEnd, range)
            return true
        }
        guard case .span(let range, _) = target, failure.refusesPlace, range.lowerBound > 0, let query,
            let list = try await storage.outline(of: query)
        else { return false }
        if let look = pass.looks[range.lowerBound] {
            // Behind a supposed end, a refusal is no failure. It shows that nothing can be fetched there.
            queue.landed(target)
            if range.lowerBound < list.record.total.exactCount ?? 0 { refusedPlaces.insert(range.lowerBound) }
            if failure.httpStatus == 422, let end = look.end, list.coverage.headEnd == end {
                _ = try await self.end(atWindow: end, nil, list)
            } else {
                try await nothingBehind(look, at: range.lowerBound, list)
            }
            try await record([.forgotten(offset: range.lowerBound, lease: leases[range.lowerBound])], for: query)
            return true
        }
        let total = list.record.total.exactCount ?? .max
        guard range.lowerBound < total, !list.heldPages.contains(where: { $0.offset >= range.lowerBound }) else {
            return false
        }
        pass.refused.insert(range.lowerBound)
        // A single refused page is a failure of its own, and the pages behind it are fetched.
        let isLast = failure.httpStatus == 422 && range.upperBound >= total
        guard pass.refused.count > 1 || isLast || range.lowerBound == suspectedEnd, let first = pass.refused.min()
        else { return false }
        queue.landed(target)
        pass.emptyFrom = min(first, pass.emptyFrom ?? .max)
        queue.clear(from: first)
        failures.givenUp.subtract(pass.refused)
        let edits = pass.refused.sorted().map { LedgerEdit.forgotten(offset: $0, lease: leases[$0]) }
        try await record(edits, for: query)
        return true
    }

    /// Whether a result window cut off a list whose items end before its total. The origin refuses the position, or
    /// returns no item there although the previous page is full. At least one more full page must be counted. Otherwise
    /// the list ends there, and the total is wrong.
    func isWindow(_ list: ListOutline, end: Int, total: Int) -> Bool {
        guard end > 0 else { return false }
        // The origin counts these positions, and refuses them. A wrong total looks the same, and `limited` is the safer
        // result.
        if refusedPlaces.contains(where: { end <= $0 && $0 < total }) { return true }
        guard !hidesItems else { return false }
        if let refused = pass.refused.min(), refused <= end { return true }
        let size = max(pageSize, 1)
        guard total - end >= size, let last = list.heldPages.last, last.range.upperBound == end else { return false }
        return source.access == .chain ? list.heldPages.count > 1 && last.count >= size : end % size == 0
    }

    /// Stores the window. The list is `limited` from now on, and positions behind the window are not requested.
    func end(atWindow end: Int, _ total: Int?, _ list: ListOutline) async throws(StorageError) -> Bool {
        let count = total.map { "counts \($0) items" } ?? "refuses later positions"
        warn("the origin \(count) and returns only the first \(end)")
        return try await finish([.setWindow(end)], list)
    }
}

/// Refusals of positions that the list counts. They are failures before they show a result window (R24).
extension SyncRun {
    /// Returns the failure that a refusal stands for. Returns nil if the refusal says something about the list.
    ///
    /// A held position that an exact total counts was returned before, so the origin is failing. It is also failing when
    /// it does not find (404) a counted position that is not held, until it has answered so for an hour.
    func failure(in answer: PageAnswer, to target: FetchTarget) async throws(StorageError) -> FetchFailure? {
        let place = target.offset
        guard answer.refusesPosition, source.access.isRandom, place > 0, let query,
            let list = try await storage.excerpt(of: query, place..<place + 1),
            case .exact(let stored) = list.record.total, place < pageOne.total.exactCount ?? stored
        else { return nil }
        // A request that reaches behind the result window is refused as a whole.
        if case .sweep(let range) = target, let window = list.record.window, window <= range.upperBound { return nil }
        let isHeld = list.heldPages.contains { $0.range.contains(place) }
        if !isHeld {
            guard case .span = target, answer == .notFound, !isRefusedForLong(place) else { return nil }
            pass.notFound.insert(place)
            // A single page that is not found is a failure of its own, and the pages behind it are fetched.
            if pass.notFound.count > 1, let first = pass.notFound.min() { queue.clear(from: first) }
        }
        let status = answer == .notFound ? 404 : nil
        let code = status.map { " (\($0))" } ?? ""
        let why = "the origin refuses position \(place)\(code), which its total counts"
        return FetchFailure(.refused, why, isRetryable: true, httpStatus: status)
    }

    /// Whether the origin has not found a position for an hour, and no item is held behind it. The positions behind it
    /// share its answer.
    private func isRefusedForLong(_ place: Int) -> Bool {
        place >= heldEnd
            && notFoundSince.contains {
                $0.key <= place && $0.key >= heldEnd && storageTime - $0.value >= .seconds(3_600)
            }
    }

    /// Restores what the ledger says about positions that the origin did not find in earlier runs.
    func restoreRefusals(_ failures: [LedgerEntry]) {
        for entry in failures where entry.failure?.httpStatus == 404 {
            notFoundSince[entry.offset] = entry.firstFailureAt
        }
    }
}

extension SyncRun {
    /// Returns the request that replaces a refused one with known items, once. Some origins refuse a page that reaches
    /// behind their result window, although its first positions are before it. A page that begins at a multiple of the
    /// page size ends with most windows.
    func realigned(_ answer: PageAnswer, _ range: Range<Int>, _ overlap: Int, _ list: ListOutline) -> FetchTarget? {
        guard answer.refusesPosition, overlap > 0, source.access == .offsets, pageSize > 1,
            range.lowerBound < list.record.total.exactCount ?? 0
        else { return nil }
        refusedPlaces.insert(range.lowerBound)
        let start = range.lowerBound / pageSize * pageSize
        guard start != range.lowerBound - overlap, pass.realigned.insert(range.lowerBound).inserted else { return nil }
        return .span(range, overlap: range.lowerBound - start)
    }
}

extension PageAnswer {
    /// Whether the origin refuses the position.
    var refusesPosition: Bool {
        switch self {
        case .pastEnd, .notFound: true
        case .page, .notModified: false
        }
    }
}

extension FetchFailure {
    /// Whether the origin refuses the position, and not the list as a whole.
    fileprivate var refusesPlace: Bool {
        guard !isRetryable, failureClass == .refused, let status = httpStatus else { return false }
        return [400, 404, 416, 422].contains(status)
    }
}
