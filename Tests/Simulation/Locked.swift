import PagedRepositoryTesting
import Synchronization

/// A random number generator under a mutex.
final class Locked: Sendable {
    private let state: Mutex<SeededGenerator>
    init(_ seed: UInt64) { state = Mutex(SeededGenerator(seed: seed)) }
    func next() -> Double { state.withLock { Double.random(in: 0..<1, using: &$0) } }
}
