public import Logging
public import PageModel

/// Fetches one list into the storage, or updates it: refreshes page one, reconciles the list, and fetches missing
/// pages.
///
/// Each page is stored completely or not at all (R1); one transaction can store several pages. A crash loses only pages
/// whose transaction was not committed. The next run fetches these pages again (R31).
public struct ListSync: Sendable {
    private let storage: any PageStorage
    private let source: any PageSource
    private let key: QueryKey
    private let options: SyncOptions
    private let clock: any SyncClock
    private let jitter: @Sendable () -> Double
    private let logger: Logger

    /// - Parameters:
    ///   - storage: the storage that holds the pages.
    ///   - source: the source of the pages.
    ///   - key: the key of the list.
    ///   - options: the work, and how the run does it. Defaults to the defaults of `SyncOptions`.
    ///   - clock: the clock for pauses and timestamps. Defaults to the wall clock.
    ///   - jitter: returns random numbers in 0..<1 that spread retries (R28).
    ///   - logger: receives the log lines of the run; see `Documentation/Observability.md`.
    public init(
        storage: any PageStorage, source: any PageSource, key: QueryKey, options: SyncOptions = SyncOptions(),
        clock: any SyncClock = SystemClock(), jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger = Logger(label: "pagecache.sync")
    ) {
        self.storage = storage
        self.source = AbandonableSource.around(source)
        self.key = key
        // The precondition of the page size is checked here, and not by the first run.
        self.options = options.bounded
        self.clock = clock
        self.jitter = jitter
        self.logger = logger
    }

    /// Runs once. A failure of the origin is part of the report, and is not thrown. Cancelling the task stops the run
    /// within one request and keeps all pages fetched so far. `SyncReport.wasCancelled` is then true, unless the work
    /// was already done.
    ///
    /// - Parameter progress: receives the events of the run, in order, from one task at a time. Defaults to a closure
    ///   that does nothing.
    /// - Throws: `StorageError` when the storage fails.
    public func run(progress: @escaping @Sendable (SyncEvent) -> Void = { _ in }) async throws(StorageError)
        -> SyncReport
    {
        let run = SyncRun(
            storage: storage, source: source, key: key, options: options, clock: clock, jitter: jitter, logger: logger,
            progress: progress)
        var report = try await run.run()
        report.wasCancelled = Task.isCancelled && (report.outcome == .incomplete || report.outcome == .unproven)
        return report
    }
}
