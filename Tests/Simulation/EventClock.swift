import PageModel
import PagedRepository
import Synchronization

/// The time of a simulated world. Time does not pass while any task can continue, and otherwise advances to the next
/// deadline of a sleeper.
///
/// A test can set its wall clock. A sleep keeps its duration, as the sleep of a task does (R29).
///
/// State: the time that has passed, the offset of the wall clock, and the sleepers with their deadlines, under a mutex.
final class EventClock: SyncClock, StorageClock {
    private struct State {
        var passed = Duration.zero
        var wall: Timestamp
        var sleepers: [Int: (until: Duration, waiter: CheckedContinuation<Void, any Error>)] = [:]
        var next = 0
    }

    private let state: Mutex<State>

    init(_ start: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)) {
        state = Mutex(State(wall: start))
    }

    func now() -> Timestamp { state.withLock { $0.wall + $0.passed } }

    /// The time that has passed. Setting the wall clock does not change it.
    func uptime() -> Uptime { Uptime(milliseconds: passed.wholeMilliseconds, boot: "simulated") }

    /// The time that has really passed.
    var passed: Duration { state.withLock { $0.passed } }

    /// Sets the wall clock forward, or back by a negative duration.
    func set(by duration: Duration) { state.withLock { $0.wall = $0.wall + duration } }

    func sleep(until moment: Timestamp) async throws { try await sleep(for: moment - now()) }

    func sleep(for duration: Duration) async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if duration <= .zero { return .success(()) }
                    state.sleepers[number] = (state.passed + duration, waiter)
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.sleepers.removeValue(forKey: number)?.waiter }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Moves the time to the next deadline and wakes its sleeper. Returns false when there is no sleeper.
    func moveOn() -> Bool {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            // One sleeper at a time. Sleepers with the same deadline wake in the order in which they went to sleep.
            guard let first = state.sleepers.min(by: { ($0.value.until, $0.key) < ($1.value.until, $1.key) }) else {
                return nil
            }
            state.sleepers[first.key] = nil
            state.passed = max(state.passed, first.value.until)
            return first.value.waiter
        }
        waiter?.resume()
        return waiter != nil
    }
}
