import PageModel
import Synchronization

/// A run that has ended, and what came of it.
struct EndedRun: Sendable {
    var job: Agenda.Job
    /// The name of the origin that it was at.
    var origin: String
    var startedAt: Timestamp
    var result: Result<SyncReport, StorageError>
}

/// Runs that have ended, and were not looked at.
///
/// State, under a mutex: the tasks of the runs put in, the engine's task takes out, in the order in which they ended.
final class EngineInbox: Sendable {
    private let ended = Mutex<[EndedRun]>([])

    func put(_ one: EndedRun) { ended.withLock { $0.append(one) } }

    func take() -> [EndedRun] {
        ended.withLock { ended in
            defer { ended = [] }
            return ended
        }
    }
}
