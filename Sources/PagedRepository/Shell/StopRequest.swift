import Synchronization

/// Requests the end of an engine's run without cancelling the task, for the graceful shutdown of a service group.
///
/// State: a flag that is set once, and the signal that wakes the engine's task.
final class StopRequest: Sendable {
    let wake = Signal()
    private let requested = Atomic(false)

    var isRequested: Bool { requested.load(ordering: .acquiring) }

    func request() {
        requested.store(true, ordering: .releasing)
        wake.raise()
    }
}
