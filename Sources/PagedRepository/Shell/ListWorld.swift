import Logging
import PageModel

/// Everything that the lists of one repository share. One object: each list holds it, and nothing of it.
final class ListWorld<Value: Sendable>: Sendable {
    let storage: any PageStorage
    let options: PagedListOptions
    let builder: SnapshotBuilder<Value>
    let clock: any SyncClock
    let chance: @Sendable () -> Double
    let logger: Logger
    /// Which query a key named when it was looked for last. No other query ever gets its number: what is stored under
    /// it is this list, or nothing any more.
    let queries: BoundedCache<QueryKey, QueryID>
    /// What runs the tasks that nobody waits for; nil for what runs all others. A simulation hands out its own.
    let executor: (any TaskExecutor)?
    let reads = Meters.Reads()
    /// Hears for all of them what happens in the storage.
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
