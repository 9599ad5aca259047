import Logging
import PageModel

/// Everything that the lists of one repository share.
struct ListWorld<Value: Sendable>: Sendable {
    let storage: any PageStorage
    let options: PagedListOptions
    let builder: SnapshotBuilder<Value>
    let clock: any SyncClock
    let chance: @Sendable () -> Double
    let logger: Logger
    /// What runs the tasks that nobody waits for; nil for what runs all others. A simulation hands out its own.
    let executor: (any TaskExecutor)?
}
