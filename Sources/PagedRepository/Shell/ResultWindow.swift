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
        givenUp.subtract(pass.refused)
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
        if refusedPlaces.contains(where: { (end..<total).contains($0) }) { return true }
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

extension FetchFailure {
    /// Whether the origin refuses the position, and not the list as a whole.
    fileprivate var refusesPlace: Bool {
        guard !isRetryable, failureClass == .refused, let status = httpStatus else { return false }
        return [400, 404, 416, 422].contains(status)
    }
}
