// Clamps options to values that a run can use. Each value out of range counts as the nearest valid one. Numbers and
// durations above the upper bounds have no further effect, and could overflow.

extension Int {
    fileprivate func bounded(from least: Int) -> Int { Swift.min(Swift.max(least, self), 1 << 40) }
}

extension Duration {
    fileprivate func bounded(from least: Duration = .zero, to most: Duration = .seconds(1 << 31)) -> Duration {
        min(max(least, self), most)
    }
}

extension SyncOptions {
    /// The options with values in range.
    /// - Precondition: `pageSize` is nil or at least 1.
    var bounded: SyncOptions {
        precondition(pageSize ?? 1 >= 1, "SyncOptions.pageSize must be at least 1")
        var options = self
        options.concurrency = min(max(1, concurrency), 64)
        options.pageSize = pageSize?.bounded(from: 1)
        options.maxPages = maxPages?.bounded(from: 1)
        options.overlap = overlap.bounded(from: 0)
        options.transportFailuresUntilOffline = transportFailuresUntilOffline.bounded(from: 1)
        options.restarts = restarts.bounded(from: 0)
        options.pagesPerQuery = pagesPerQuery.bounded(from: 1)
        options.loopGuard = loopGuard.bounded(from: 1)
        options.emptyPageLimit = emptyPageLimit.bounded(from: 1)
        options.retry.attempts = retry.attempts.bounded(from: 1)
        options.retry.base = retry.base.bounded()
        options.retry.cap = retry.cap.bounded()
        options.retry.longestRetryAfter = retry.longestRetryAfter.bounded()
        options.retryWaitBudget = retryWaitBudget.bounded()
        options.confirmationPause = confirmationPause.bounded()
        options.emptyConfirmationPause = emptyConfirmationPause.bounded()
        options.lease = lease.bounded(from: .milliseconds(1), to: .seconds(30 * 86_400))
        options.recheckEvery = recheckEvery?.bounded()
        return options
    }
}

extension EngineOptions {
    /// The options with values in range.
    /// - Precondition: `sync.pageSize` is nil or at least 1.
    var bounded: EngineOptions {
        var options = self
        options.sync = sync.bounded
        options.lists = lists.bounded(from: 1)
        options.listsPerOrigin = listsPerOrigin.bounded(from: 1)
        options.requestsPerOrigin = requestsPerOrigin.bounded(from: 1)
        // NaN counts as the smallest rate.
        options.requestsPerSecond = requestsPerSecond.map { $0 > 0.001 ? min($0, 1_000) : 0.001 }
        options.spread = spread.bounded()
        options.circuitPause = circuitPause.bounded(from: .milliseconds(1))
        return options
    }
}
