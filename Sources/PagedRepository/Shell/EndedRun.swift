import PageModel

/// A run that has ended, and what came of it.
struct EndedRun: Sendable {
    var job: Agenda.Job
    /// The name of the origin that it was at.
    var origin: String
    var startedAt: Timestamp
    var result: Result<SyncReport, StorageError>
}
