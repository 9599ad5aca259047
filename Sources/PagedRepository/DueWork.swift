public import PageModel

/// The work that is due for one list, for programs that run now and then (cron). A `SyncEngine` starts the same work,
/// but applies minimum ages (`EngineOptions.freshness`), and refreshes observed lists, too.
///
/// ```swift
/// for due in try await DueWork.all(in: store) {
///     for work in due.runs {
///         let options = DueWork.options(for: work, from: SyncOptions())
///         let key = due.query.key
///         _ = try await ListSync(storage: store, source: sources[key]!, key: key, options: options).run()
///     }
/// }
/// ```
public struct DueWork: Hashable, Sendable {
    /// The list that the work is due for.
    public var query: QueryRecord
    /// The work to do, in this order; never empty. Run each with `options(for:from:)`.
    public var runs: [SyncOptions.Work]

    /// Returns the options for one of `runs`. The run skips pages that are not due and pages that failed permanently
    /// (R33). It does not restart a sweep that another caller has finished in the meantime (R31).
    /// - Parameters:
    ///   - work: one of `runs`.
    ///   - options: the fetch options to start from. `work` and `honorsLedger` are overwritten.
    public static func options(for work: SyncOptions.Work, from options: SyncOptions) -> SyncOptions {
        var options = options
        options.work = work
        options.honorsLedger = true
        options.onlyFinishesSweeps = true
        return options
    }

    /// Returns every list with due work, ordered by id.
    ///
    /// Four kinds of work can be due:
    /// - a retry whose scheduled time has come, or lies farther ahead than any pause allows (R29)
    /// - page one of a pinned list that is stale or invalidated
    /// - pages that a pinned list lacks
    /// - an interrupted sweep
    ///
    /// Unlike a `SyncEngine`, this method applies no minimum age: a list that goes stale at once is due at every call.
    /// - Parameters:
    ///   - storage: the storage that holds the lists.
    ///   - freshness: when a pinned list is stale. Defaults to the time for which its origin calls it fresh, up to 1
    ///     hour, or 60 seconds when the origin does not say.
    ///   - retry: limits the pause before a retry. Defaults to the defaults of `RetrySchedule`.
    /// - Throws: `StorageError` when the storage fails.
    public static func all(
        in storage: any PageStorage, freshness: FreshnessPolicy = FreshnessPolicy(),
        retry: RetrySchedule = RetrySchedule()
    ) async throws(StorageError) -> [DueWork] {
        let plan = plan(freshness, retry)
        // Includes retries scheduled while the clock was wrong. There are at most as many as there are failing pages.
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

    /// Returns the retries of one list that were due when the list was read, and no other work. Returns nil when no
    /// retry was due.
    /// - Parameters:
    ///   - list: the list, with its ledger.
    ///   - retry: the schedule. A retry whose time lies farther ahead than the longest pause of the schedule counts as
    ///     due (R29). Defaults to the defaults of `RetrySchedule`.
    public static func retries(of list: ListOutline, retry: RetrySchedule = RetrySchedule()) -> DueWork? {
        let runs = plan(FreshnessPolicy(), retry).retries(of: list, now: list.readAt)
        return runs.isEmpty ? nil : DueWork(query: list.record, runs: runs)
    }

    private static func plan(_ freshness: FreshnessPolicy, _ retry: RetrySchedule) -> DueRuns {
        // No minimum age: a program looks for due work once per run, and so sets the pause between two requests itself.
        DueRuns(scheduler: SyncScheduler(freshness: freshness, retry: retry, shortestAge: .zero))
    }
}
