import PageModel

/// A run that has ended, and its result.
struct EndedRun: Sendable {
    var job: SyncScheduler.Job
    /// The name of the origin of the run.
    var origin: String
    var startedAt: Timestamp
    var result: Result<SyncReport, StorageError>
}
