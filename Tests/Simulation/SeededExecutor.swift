import Dispatch
import PagedRepositoryTesting
import Synchronization

/// Runs the tasks of one life one step at a time, in an order that a seed decides: runs at once, and answers under way at
/// once, interleave in another way with every seed, and in the same way whenever a seed is used again.
///
/// State: the steps that could be taken now, under a mutex. They are taken on one thread, that of `run`. What others do on
/// threads of their own (SQLite) comes back when it comes back; only lives in memory repeat exactly.
final class SeededExecutor: TaskExecutor {
    private struct State {
        var ready: [UnownedJob] = []
        var random: SeededGenerator
    }

    private let state: Mutex<State>
    /// Counts the steps that are ready.
    private let arrivals = DispatchSemaphore(value: 0)
    /// How long nothing may be ready before the life counts as dead: all its tasks wait for each other.
    private let patience: DispatchTimeInterval

    private init(seed: UInt64, patience: DispatchTimeInterval) {
        state = Mutex(State(random: SeededGenerator(seed: seed)))
        self.patience = patience
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
    /// - Parameter waitsForOthers: whether something outside of the life's own tasks may wake them up.
    static func run<Success: Sendable>(
        seed: UInt64, waitsForOthers: Bool, _ life: @escaping @Sendable (SeededExecutor) async throws -> Success
    ) async throws -> Success {
        let executor = SeededExecutor(seed: seed, patience: waitsForOthers ? .seconds(60) : .seconds(0))
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
        _ life: @escaping @Sendable (SeededExecutor) async throws -> Success, _ end: @escaping @Sendable (Result<Success, any Error>) -> Void
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
        guard arrivals.wait(timeout: .now() + patience) == .success else { return false }
        let job = state.withLock { state in
            state.ready.remove(at: Int.random(in: 0..<state.ready.count, using: &state.random))
        }
        job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }
}
