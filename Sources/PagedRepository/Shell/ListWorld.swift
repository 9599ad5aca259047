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
    /// What runs the tasks that nobody waits for; nil for what runs all others. A simulation hands out its own.
    let executor: (any TaskExecutor)?
    let reads = Meters.Reads()
    /// Hears for all of them what happens in the storage.
    let lookout: Lookout

    init(
        options: PagedListOptions, builder: SnapshotBuilder<Value>, clock: any SyncClock, chance: @escaping @Sendable () -> Double,
        logger: Logger, executor: (any TaskExecutor)?
    ) {
        storage = builder.storage
        self.options = options
        self.builder = builder
        self.clock = clock
        self.chance = chance
        self.logger = logger
        self.executor = executor
        lookout = Lookout(builder.storage, on: executor)
    }
}
