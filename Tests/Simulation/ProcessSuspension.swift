import PageModel
import PagedRepository
import StorageSupport
import Synchronization

/// Suspends the calls of one process until it wakes, as on a suspended machine, while all other processes continue.
///
/// State: whether the process is asleep, and the suspended calls, under a mutex.
final class ProcessSuspension: Sendable {
    private struct State {
        var isAsleep = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var isAsleep: Bool { state.withLock { $0.isAsleep } }

    func begin() { state.withLock { $0.isAsleep = true } }

    func end() {
        let waiting = state.withLock { state in
            defer { state = State() }
            return state.waiting
        }
        for task in waiting { task.resume() }
    }

    /// Passes a call of the process, before the call and after it. Waits while the process is asleep.
    func pass() async {
        await withCheckedContinuation { continuation in
            let isAwake = state.withLock { state in
                if state.isAsleep { state.waiting.append(continuation) }
                return !state.isAsleep
            }
            if isAwake { continuation.resume() }
        }
    }
}

/// The storage of a process that may sleep.
struct SuspendableStorage: RelayedStorage {
    let storage: any PageStorage
    let suspension: ProcessSuspension

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        await suspension.pass()
        let value = try await body()
        await suspension.pass()
        return value
    }
}

/// The source of a process that may sleep.
struct SuspendableSource: RelayedSource {
    let source: any PageSource
    let suspension: ProcessSuspension

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        await suspension.pass()
        let result: Result<PageAnswer, any Error>
        do { result = .success(try await source.fetch(request)) } catch { result = .failure(error) }
        await suspension.pass()
        return try result.get()
    }
}

/// The wall clock of one process, which is wrong by a fixed difference. Its sleeps keep their duration.
struct OwnClock: SyncClock {
    let clock: EventClock
    let difference: Duration

    func now() -> Timestamp { clock.now() + difference }
    func sleep(until moment: Timestamp) async throws { try await clock.sleep(for: moment - now()) }
}
