import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization

/// Decides when the simulated process of a run dies: in place of one of its calls, or right after it.
///
/// The tasks of a dead process are suspended until `bury()`, and change no state afterwards. State: the number of calls
/// left, the caller of `over()`, and the suspended tasks, under a mutex.
final class Crash: Sendable {
    private struct State {
        var callsLeft: Int
        var waiter: CheckedContinuation<Void, Never>?
        var isOver = false
        var dead: [CheckedContinuation<Void, Never>] = []
        var isBuried = false
    }

    private let state: Mutex<State>

    /// - Parameter calls: The number of calls that are left. `nil` means that the process lives until `strike()`.
    init(after calls: Int? = nil) { state = Mutex(State(callsLeft: calls ?? .max)) }

    /// Lets the process die now, between two of its calls.
    func strike() {
        state.withLock { $0.callsLeft = 0 }
        end()?.resume()
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    /// Passes a call of the run, once before the call and once after it. Suspends the calls of a dead process until
    /// `bury()`, and then returns false.
    ///
    /// - Parameter counts: Whether the process may die at this call. A read changes no state, so a death between two
    ///   reads makes no difference.
    func pass(counts: Bool = true) async -> Bool {
        let (isDead, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            if !counts { return (state.isOver, nil) }
            state.callsLeft -= 1
            guard state.callsLeft < 0 else { return (false, nil) }
            defer { state.waiter = nil }
            state.isOver = true
            return (true, state.waiter)
        }
        waiter?.resume()
        guard isDead else { return true }
        await withCheckedContinuation { continuation in
            let isBuried = state.withLock { state in
                if !state.isBuried { state.dead.append(continuation) }
                return state.isBuried
            }
            if isBuried { continuation.resume() }
        }
        return false
    }

    /// Lets the suspended tasks of the dead process end. The store must not be inspected any more.
    func bury() {
        let dead = state.withLock { state in
            defer { state.dead = [] }
            state.isBuried = true
            return state.dead
        }
        for task in dead { task.resume() }
    }

    /// Ends the wait of `over()` when the run has finished before its death.
    func survived() { end()?.resume() }

    private func end() -> CheckedContinuation<Void, Never>? {
        state.withLock { state in
            defer { state.waiter = nil }
            state.isOver = true
            return state.waiter
        }
    }

    /// Waits until the process is dead or its work is done.
    func over() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiter = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }
}

/// The source of a process that will die.
struct DoomedSource: RelayedSource {
    let source: any PageSource
    let crash: Crash

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard await crash.pass() else { throw CancellationError() }
        let answer = try await source.fetch(request)
        guard await crash.pass() else { throw CancellationError() }
        return answer
    }
}

/// The storage of a process that will die. Its commits stay in the store.
struct DoomedStorage: RelayedStorage {
    let storage: any PageStorage
    let crash: Crash

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        guard await crash.pass(counts: !call.isReading) else { throw DoomedStorage.end }
        let value = try await body()
        if call.isReading { return value }
        guard await crash.pass() else { throw DoomedStorage.end }
        return value
    }

    private static var end: StorageError { StorageError(.closed, "the process is dead") }
}
