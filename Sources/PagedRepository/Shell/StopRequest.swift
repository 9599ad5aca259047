import Synchronization

/// Ends a run of the engine without cancelling its task, for the graceful shutdown of a service group.
///
/// State: a flag that is set once, and the signal that wakes the engine's task.
final class StopRequest: Sendable {
    let wake = Signal()
    private let told = Atomic(false)

    var isTold: Bool { told.load(ordering: .acquiring) }

    func now() {
        told.store(true, ordering: .releasing)
        wake.raise()
    }
}
