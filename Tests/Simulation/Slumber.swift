import PageModel
import PagedRepository
import StorageSupport
import Synchronization

/// When a process stands still: none of its calls goes on until it wakes, as after a suspended machine, while all
/// others do.
///
/// State: whether it is asleep, and what waits; under a mutex.
final class Slumber: Sendable {
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

    /// Every call passes here, before it is made and after.
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

/// A storage as a process sees it that may sleep.
struct SleepyStorage: RelayedStorage {
    let storage: any PageStorage
    let slumber: Slumber

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        await slumber.pass()
        let value = try await body()
        await slumber.pass()
        return value
    }
}

/// A source as a process sees it that may sleep.
struct SleepySource: RelayedSource {
    let source: any PageSource
    let slumber: Slumber

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        await slumber.pass()
        let result: Result<PageAnswer, any Error>
        do { result = .success(try await source.fetch(request)) } catch { result = .failure(error) }
        await slumber.pass()
        return try result.get()
    }
}

/// A process's own wall clock, which is wrong by a fixed difference. Its sleeps are as long as they should be.
struct OwnClock: SyncClock {
    let clock: EventClock
    let difference: Duration

    func now() -> Timestamp { clock.now() + difference }
    func sleep(until moment: Timestamp) async throws { try await clock.sleep(for: moment - now()) }
}
