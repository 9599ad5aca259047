import Dispatch
import PagedRepositoryTesting
import Synchronization

/// Runs the tasks of one life one step at a time, in an order that a seed decides: runs at once, and answers under way
/// at once, interleave in another way with every seed, and in the same way whenever a seed is used again.
///
/// State: the steps that could be taken now, under a mutex. They are taken on one thread, that of `run`. What others do
/// on threads of their own (SQLite) comes back when it comes back; only lives in memory repeat exactly.
final class SeededExecutor: TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var random: SeededGenerator
    }

    private let state: Mutex<State>
    /// Counts the steps that are ready.
    private let arrivals = DispatchSemaphore(value: 0)
    /// What may still come when nothing is ready.
    private let idle: @Sendable () -> Idleness

    private init(seed: UInt64, idle: @escaping @Sendable () -> Idleness) {
        state = Mutex(State(random: SeededGenerator(seed: seed)))
        self.idle = idle
    }

    /// What nothing being ready means.
    enum Idleness {
        /// Somebody was woken, and is ready now.
        case woken
        /// Somebody outside works for one of the tasks.
        case waitingForOthers
        /// All tasks wait for each other.
        case dead
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.ready.append(job) }
        arrivals.signal()
    }

    /// Every task of a life waits, and nothing will come.
    struct Dead: Error, CustomStringConvertible {
        var description: String { "all tasks wait for each other" }
    }

    /// Runs `life` to its end, with everything that it starts in groups of its own.
    ///
    /// - Parameter idle: asked when nothing is ready.
    static func run<Success: Sendable>(
        seed: UInt64, idle: @escaping @Sendable () -> Idleness,
        _ life: @escaping @Sendable (SeededExecutor) async throws -> Success
    ) async throws -> Success {
        let executor = SeededExecutor(seed: seed, idle: idle)
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                let result = Mutex<Result<Success, any Error>?>(nil)
                executor.start(life) { end in result.withLock { $0 = end } }
                while executor.step() {
                    if let end = result.withLock({ $0 }) { return continuation.resume(with: end) }
                }
                continuation.resume(throwing: Dead())
            }
        }
    }

    private func start<Success: Sendable>(
        _ life: @escaping @Sendable (SeededExecutor) async throws -> Success,
        _ end: @escaping @Sendable (Result<Success, any Error>) -> Void
    ) {
        Task(executorPreference: self) {
            do {
                end(.success(try await life(self)))
            } catch {
                end(.failure(error))
            }
        }
    }

    /// Takes one of the steps that are ready; false when there is none, and none comes.
    private func step() -> Bool {
        while arrivals.wait(timeout: .now()) == .timedOut {
            switch idle() {
            case .woken: continue
            case .waitingForOthers:
                guard arrivals.wait(timeout: .now() + .seconds(60)) == .success else { return false }
            case .dead: return false
            }
            break
        }
        let job = state.withLock { state in
            state.ready.remove(at: Int.random(in: 0..<state.ready.count, using: &state.random))
        }
        job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }
}
