import PageModel

/// Origins that count more items than they return: a result window (R24).
extension SyncRun {
    /// Whether the origin refuses a position for good, and nothing behind that position is held. The page is then not a
    /// failure of its own: page one and the same position, asked once more, tell whether a result window ends there.
    func isBehindWindow(_ failure: FetchFailure, _ target: FetchTarget) async throws(StorageError) -> Bool {
        if case .sweep(let range) = target, failure.refusesPlace,
            let window = try await storage.query(key)?.window, window <= range.upperBound
        {
            queue.landed(target)
            try await sweepArrived(.pastEnd, range)
            return true
        }
        guard case .span(let range, _) = target, failure.refusesPlace, range.lowerBound > 0, let query,
            let list = try await storage.outline(of: query), let total = list.record.total.exactCount,
            range.lowerBound < total, !list.heldPages.contains(where: { $0.offset >= range.lowerBound })
        else { return false }
        queue.landed(target)
        pass.refused.insert(range.lowerBound)
        pass.emptyFrom = min(range.lowerBound, pass.emptyFrom ?? .max)
        queue.clear(from: range.lowerBound)
        let lease = leases[range.lowerBound]
        try await record([.forgotten(offset: range.lowerBound, lease: lease)], for: query)
        return true
    }

    /// Whether a list whose items end before its total was cut off by a window: the origin refuses the position, or
    /// returns nothing there although the page before it is full. A short page before it is the end of the list.
    func isWindow(_ list: ListOutline, end: Int) -> Bool {
        guard end > 0 else { return false }
        if let refused = pass.refused.min(), refused <= end { return true }
        let size = max(pageSize, 1)
        guard let last = list.heldPages.last, last.range.upperBound == end else { return false }
        return source.access == .chain ? list.heldPages.count > 1 && last.count >= size : end % size == 0
    }

    /// Remembers the window. The list is `limited` from now on, and nothing behind the window is asked for.
    func end(atWindow end: Int, _ total: Int, _ list: ListOutline) async throws(StorageError) -> Bool {
        warn("the origin counts \(total) items and returns only the first \(end)")
        return try await finish([.setWindow(end)], list)
    }
}

extension FetchFailure {
    /// Whether the origin says that the position cannot be asked for, rather than the list.
    fileprivate var refusesPlace: Bool {
        guard !isRetryable, failureClass == .refused, let status = httpStatus else { return false }
        return [400, 404, 416, 422].contains(status)
    }
}
