public import PageModel

/// What is due for one list: what a `SyncEngine` would do for it by now, for programs that run now and then (cron) and
/// not all the time.
///
/// ```swift
/// for due in try await DueWork.all(in: store) {
///     for work in due.runs {
///         let options = DueWork.options(for: work, from: SyncOptions())
///         _ = try await ListSync(storage: store, source: sources[due.query.key]!, key: due.query.key, options: options).run()
///     }
/// }
/// ```
public struct DueWork: Hashable, Sendable {
    /// The list that it is due for.
    public var query: QueryRecord
    /// What to do, in this order; never empty. To be run with `options(for:from:)`.
    public var runs: [SyncOptions.Work]

    /// How such a run goes: what is not due, and what failed for good, is left alone (R33), and a sweep that somebody
    /// else has finished since is not begun anew (R31).
    /// - Parameters:
    ///   - work: one of `runs`.
    ///   - options: how fetching goes; its `work` and `honorsLedger` are set here.
    public static func options(for work: SyncOptions.Work, from options: SyncOptions) -> SyncOptions {
        var options = options
        options.work = work
        options.honorsLedger = true
        options.onlyFinishesSweeps = true
        return options
    }

    /// Every list for which something is due, by id: retries that the ledger has scheduled, page one of pinned lists
    /// that are stale or were invalidated, what pinned lists lack, sweeps that were cut off. A retry farther ahead than
    /// any pause could have put it is due as well (R29). Unlike background work, this knows no shortest age: a list
    /// that is stale at once is due whenever somebody looks.
    /// - Parameters:
    ///   - storage: where the lists are.
    ///   - freshness: when a pinned list is stale. Default: after the time for which its origin calls it fresh, up to 1
    ///     hour; after 60 seconds, where that does not say.
    ///   - retry: how long pauses are at most. Default: that of `RetrySchedule`.
    /// - Throws: `StorageError` when the storage fails.
    public static func all(
        in storage: any PageStorage, freshness: FreshnessPolicy = FreshnessPolicy(),
        retry: RetrySchedule = RetrySchedule()
    ) async throws(StorageError) -> [DueWork] {
        let plan = plan(freshness, retry)
        // Also those of a clock that was set back: there are as many as there are failing pages, and no more.
        let scheduled = Set(try await storage.due(within: .seconds(Int64.max), limit: .max).fetches.map(\.query))
        var all: [DueWork] = []
        for record in try await storage.records()
        where record.isPinned || record.sweep != nil || scheduled.contains(record.id) {
            guard let list = try await storage.outline(of: record.id) else { continue }
            let runs = plan.runs(for: list, now: list.readAt)
            if !runs.isEmpty { all.append(DueWork(query: list.record, runs: runs)) }
        }
        return all
    }

    /// What the ledger of one list had scheduled by the time of the read, and nothing else; nil when that is nothing.
    /// - Parameters:
    ///   - list: the list, with its ledger.
    ///   - retry: how long pauses are at most; a retry farther ahead is due (R29). Default: that of `RetrySchedule`.
    public static func retries(of list: ListOutline, retry: RetrySchedule = RetrySchedule()) -> DueWork? {
        let runs = plan(FreshnessPolicy(), retry).retries(of: list, now: list.readAt)
        return runs.isEmpty ? nil : DueWork(query: list.record, runs: runs)
    }

    private static func plan(_ freshness: FreshnessPolicy, _ retry: RetrySchedule) -> DuePlan {
        // Who looks once, and leaves, asks no origin without end: the pause between two looks is the caller's.
        DuePlan(agenda: Agenda(freshness: freshness, retry: retry, shortestAge: .zero))
    }
}
