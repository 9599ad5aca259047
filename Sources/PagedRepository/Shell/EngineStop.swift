import Synchronization

/// How a run of the engine is told to end without being cancelled: a group of services that shuts down gracefully asks.
///
/// State: whether it was told, set once; and what wakes the engine's task.
final class EngineStop: Sendable {
    let wake = Signal()
    private let told = Atomic(false)

    var isTold: Bool { told.load(ordering: .acquiring) }

    func now() {
        told.store(true, ordering: .releasing)
        wake.raise()
    }
}
