public import PageModel
public import PagedRepository
import Synchronization

/// A clock that stands still until somebody sleeps on it: then it is that late at once. Alarms wait until it is.
///
/// Tests that use it never wait, and can say how long the code under test would have.
///
/// State: the moment, the sleeps so far, who waits for an alarm; under a mutex.
public final class ManualClock: SyncClock {
    private struct State {
        var moment: Timestamp
        var slept: [Duration] = []
        var alarms: [Int: (moment: Timestamp, waiter: CheckedContinuation<Void, any Error>)] = [:]
        var nextAlarm = 0

        mutating func takeDue() -> [CheckedContinuation<Void, any Error>] {
            let due = alarms.filter { $0.value.moment <= moment }
            for number in due.keys { alarms[number] = nil }
            return due.sorted { ($0.value.moment, $0.key) < ($1.value.moment, $1.key) }.map(\.value.waiter)
        }
    }

    private let state: Mutex<State>

    /// A clock that stands at this moment. Default: 15 January 2027, 8:00 UTC.
    public init(_ start: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)) {
        state = Mutex(State(moment: start))
    }

    /// The moment at which it stands.
    public func now() -> Timestamp { state.withLock { $0.moment } }

    /// Every sleep so far, in order. Alarms are none.
    public var slept: [Duration] { state.withLock { $0.slept } }

    /// Sets the clock forward; back, when the duration is negative.
    public func advance(by duration: Duration) {
        move { $0.moment = $0.moment + duration }
    }

    public func sleep(until moment: Timestamp) async throws {
        try Task.checkCancellation()
        // Whoever is waited for gets a turn.
        await Task.yield()
        move { state in
            guard moment > state.moment else { return }
            state.slept.append(moment - state.moment)
            state.moment = moment
        }
    }

    public func alarm(at moment: Timestamp) async throws {
        let number = state.withLock { state in
            state.nextAlarm += 1
            return state.nextAlarm
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if moment <= state.moment { return .success(()) }
                    state.alarms[number] = (moment, waiter)
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.alarms.removeValue(forKey: number)?.waiter }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func move(_ change: (inout State) -> Void) {
        let due = state.withLock { state in
            change(&state)
            return state.takeDue()
        }
        for waiter in due { waiter.resume() }
    }
}
