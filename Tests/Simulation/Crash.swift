import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization

/// When the process dies that a run belongs to: instead of one of its calls, or right after it.
///
/// What died does not go on: its tasks stand still until they are buried, and touch nothing then. State: how many calls
/// are left, who waits for the end, and what stands still; under a mutex.
final class Crash: Sendable {
    private struct State {
        var callsLeft: Int
        var waiter: CheckedContinuation<Void, Never>?
        var isOver = false
        var dead: [CheckedContinuation<Void, Never>] = []
        var isBuried = false
    }

    private let state: Mutex<State>

    /// - Parameter calls: how many calls are left; nil: it lives until it is struck.
    init(after calls: Int? = nil) { state = Mutex(State(callsLeft: calls ?? .max)) }

    /// It dies now, between two of its calls.
    func strike() {
        state.withLock { $0.callsLeft = 0 }
        end()?.resume()
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    /// Every call of the run passes here, once before it is made and once after. False after the last one.
    /// - Parameter counts: whether the process may die of it. Reading changes nothing: where it dies between two reads
    ///   makes no difference.
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

    /// Lets the tasks of the dead process end, once nobody looks at the store any more.
    func bury() {
        let dead = state.withLock { state in
            defer { state.dead = [] }
            state.isBuried = true
            return state.dead
        }
        for task in dead { task.resume() }
    }

    /// The run has come to its end before.
    func survived() { end()?.resume() }

    private func end() -> CheckedContinuation<Void, Never>? {
        state.withLock { state in
            defer { state.waiter = nil }
            state.isOver = true
            return state.waiter
        }
    }

    /// Returns when the process is dead, or its work done.
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

/// A source as a process sees it that will die.
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

/// A storage as a process sees it that will die: what is committed stays.
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
