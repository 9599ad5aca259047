import Dispatch
import PagedRepositoryTesting
import Synchronization

/// Runs the tasks of one life one step at a time, in an order that a seed decides. Concurrent runs and answers
/// interleave differently with every seed, and always alike with the same seed.
///
/// State: the ready steps, under a mutex. All steps run on the thread of `run`. SQLite works on its own threads and
/// returns at any time, so only lives in memory repeat exactly.
final class SeededExecutor: TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var random: SeededGenerator
    }

    private let state: Mutex<State>
    /// Counts the ready steps.
    private let arrivals = DispatchSemaphore(value: 0)
    /// Called when no step is ready. Returns whether a step may still arrive.
    private let idle: @Sendable () -> Idleness

    private init(seed: UInt64, idle: @escaping @Sendable () -> Idleness) {
        state = Mutex(State(random: SeededGenerator(seed: seed)))
        self.idle = idle
    }

    /// The meaning of having no ready step.
    enum Idleness {
        /// A sleeper was woken and is ready now.
        case woken
        /// Another thread works for one of the tasks.
        case waitingForOthers
        /// All tasks wait for each other, so none can continue.
        case dead
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.ready.append(job) }
        arrivals.signal()
    }

    /// Every task of a life waits, and no further step can arrive.
    struct Dead: Error, CustomStringConvertible {
        var description: String { "all tasks wait for each other" }
    }

    /// Runs `life` to its end, including the tasks that it starts in its own groups.
    ///
    /// - Parameter idle: Called when no step is ready.
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

    /// Runs one of the ready steps. Returns false when there is none and none arrives.
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
