public import PageModel
public import PagedRepository
import Synchronization

/// A clock for tests, whose time changes only when its methods are called. `sleep(until:)` moves the clock to the end
/// of the sleep and returns. `alarm(at:)` waits until other calls have moved the clock to that moment.
///
/// Tests with this clock do not wait for real time, and can check how long the code under test would have waited. Pass
/// the same clock to the code under test and to its storage.
///
/// State: the moment, the uptime, the sleeps so far and the waiting alarms, guarded by a mutex.
public final class ManualClock: SyncClock, StorageClock {
    private struct State {
        var moment: Timestamp
        /// Moves forward with the moment, and does not move back with it.
        var uptime = Uptime(milliseconds: 1_000_000, boot: "boot-1")
        var boots = 1
        var slept: [Duration] = []
        var alarms: [Int: (moment: Timestamp, waiter: CheckedContinuation<Void, any Error>)] = [:]
        var nextAlarm = 0

        mutating func move(to new: Timestamp) {
            uptime = uptime + max(new - moment, .zero)
            moment = new
        }

        mutating func takeDue() -> [CheckedContinuation<Void, any Error>] {
            let due = alarms.filter { $0.value.moment <= moment }
            for number in due.keys { alarms[number] = nil }
            return due.sorted { ($0.value.moment, $0.key) < ($1.value.moment, $1.key) }.map(\.value.waiter)
        }
    }

    private let state: Mutex<State>

    /// A clock that shows the moment `start`. Defaults to 15 January 2027, 8:00 UTC.
    public init(_ start: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)) {
        state = Mutex(State(moment: start))
    }

    /// Returns the moment that the clock shows.
    public func now() -> Timestamp { state.withLock { $0.moment } }

    /// Returns the uptime of the simulated machine. It grows when the clock is advanced, and stays the same when the
    /// clock is set back.
    public func uptime() -> Uptime { state.withLock { $0.uptime } }

    /// Restarts the simulated machine, so that all earlier leases end (R52). The wall time stays the same.
    public func reboot() {
        state.withLock { state in
            state.boots += 1
            state.uptime = Uptime(milliseconds: 1_000_000, boot: "boot-\(state.boots)")
        }
    }

    /// All sleeps so far, in order. Alarms are not included.
    public var slept: [Duration] { state.withLock { $0.slept } }

    /// Moves the clock forward, or back for a negative duration.
    public func advance(by duration: Duration) {
        move { $0.move(to: $0.moment + duration) }
    }

    /// Sets the clock to a moment, forward or back.
    public func set(to moment: Timestamp) {
        move { $0.move(to: moment) }
    }

    public func sleep(until moment: Timestamp) async throws {
        try Task.checkCancellation()
        // Lets other tasks run first.
        await Task.yield()
        move { state in
            guard moment > state.moment else { return }
            state.slept.append(moment - state.moment)
            state.move(to: moment)
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
