public import Logging
public import PageModel

/// Brings one list into the store, or up to date: refresh page one, reconcile, fetch what is missing.
///
/// Every page is committed by itself (R1), so that a process that dies loses what was in flight and nothing else; the
/// next run goes on from there (R31).
public struct ListSync: Sendable {
    private let storage: any PageStorage
    private let source: any PageSource
    private let key: QueryKey
    private let options: SyncOptions
    private let clock: any SyncClock
    private let chance: @Sendable () -> Double
    private let logger: Logger

    /// - Parameters:
    ///   - storage: where pages are kept.
    ///   - source: where they come from.
    ///   - key: which list it is.
    ///   - options: what is to be done, and how. Default: everything.
    ///   - clock: the time. Default: the wall clock.
    ///   - chance: random numbers in 0..<1 that spread retries (R28).
    ///   - logger: what the run says; see `Documentation/Observability.md`.
    public init(
        storage: any PageStorage, source: any PageSource, key: QueryKey, options: SyncOptions = SyncOptions(),
        clock: any SyncClock = SystemClock(), chance: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        logger: Logger = Logger(label: "pagecache.sync")
    ) {
        self.storage = storage
        self.source = source
        self.key = key
        self.options = options
        self.clock = clock
        self.chance = chance
        self.logger = logger
    }

    /// Runs once. A failing origin is a report, not an error; cancelling stops within one request, with everything
    /// fetched so far kept, and reports `incomplete`.
    ///
    /// - Parameter progress: called in order, from one task at a time.
    /// - Throws: `StorageError` when the store fails.
    public func run(progress: @escaping @Sendable (SyncEvent) -> Void = { _ in }) async throws(StorageError)
        -> SyncReport
    {
        let run = SyncRun(
            storage: storage, source: source, key: key, options: options, clock: clock, chance: chance, logger: logger,
            progress: progress)
        return try await run.run()
    }
}
