import Logging
import PageModel

/// The objects that all lists of one repository share. Each list holds only this object.
final class ListWorld<Value: Sendable>: Sendable {
    let storage: any PageStorage
    let options: PagedListOptions
    let builder: SnapshotBuilder<Value>
    let clock: any SyncClock
    let chance: @Sendable () -> Double
    let logger: Logger
    /// The query ids that were found for keys. An id is never used for another query, so its content is this list or no
    /// list.
    let queries: BoundedCache<QueryKey, QueryID>
    /// Runs tasks that no caller waits for. `nil` means the default executor. A simulation uses its own.
    let executor: (any TaskExecutor)?
    let reads = Meters.Reads()
    /// Receives the storage's notices for all lists.
    let lookout: Lookout

    init(
        options: PagedListOptions, builder: SnapshotBuilder<Value>, clock: any SyncClock,
        chance: @escaping @Sendable () -> Double,
        logger: Logger, queries: BoundedCache<QueryKey, QueryID>, executor: (any TaskExecutor)?
    ) {
        storage = builder.storage
        self.options = options
        self.builder = builder
        self.clock = clock
        self.chance = chance
        self.logger = logger
        self.queries = queries
        self.executor = executor
        lookout = Lookout(builder.storage, on: executor)
    }
}
