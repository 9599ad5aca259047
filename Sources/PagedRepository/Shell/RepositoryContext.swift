import Logging
import PageModel

/// The objects that all lists of one repository share. Each list holds only this object.
final class RepositoryContext<Value: Sendable>: Sendable {
    let storage: any PageStorage
    let options: PagedListOptions
    let builder: SnapshotBuilder<Value>
    let clock: any SyncClock
    let jitter: @Sendable () -> Double
    let logger: Logger
    /// The query ids that were found for keys. A storage does not use an id again for another query, so a read by a
    /// cached id returns this list or nil.
    let queries: BoundedCache<QueryKey, QueryID>
    /// Runs the tasks of the lists. `nil` means the default executor. A simulation uses its own.
    let executor: (any TaskExecutor)?
    let reads = Meters.Reads()
    /// The runs under way for all lists, and for windows.
    let runs: RunRoster
    /// Receives the storage's notices for all lists.
    let dispatcher: ChangeDispatcher

    init(
        options: PagedListOptions, builder: SnapshotBuilder<Value>, clock: any SyncClock,
        jitter: @escaping @Sendable () -> Double,
        logger: Logger, queries: BoundedCache<QueryKey, QueryID>, executor: (any TaskExecutor)?
    ) {
        storage = builder.storage
        self.options = options.effective
        self.builder = builder
        self.clock = clock
        self.jitter = jitter
        self.logger = logger
        self.queries = queries
        self.executor = executor
        runs = RunRoster()
        dispatcher = ChangeDispatcher(builder.storage, on: executor)
    }

    /// Creates the context of one list with options of its own in the same repository.
    init(_ other: RepositoryContext, options: PagedListOptions) {
        self.options = options.effective
        builder = SnapshotBuilder(
            storage: other.storage, codec: other.builder.codec, cache: other.builder.cache, policy: options.freshness,
            itemLimit: max(1, options.itemLimit))
        (storage, clock, jitter, logger) = (other.storage, other.clock, other.jitter, other.logger)
        (queries, executor, runs, dispatcher) = (other.queries, other.executor, other.runs, other.dispatcher)
    }
}
