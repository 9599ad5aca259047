import PageModel
import Synchronization

/// The runs of one repository that are under way, so that a caller can end those of some lists and wait until none is
/// left.
///
/// State, under a mutex: the runs, and the callers that wait for the end of any run.
final class RunRoster: Sendable {
    private struct Run {
        var key: QueryKey
        var cancel: (@Sendable () -> Void)?
        var isRevoked = false
    }

    private struct State {
        var runs: [Int: Run] = [:]
        var last = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Adds a run.
    /// - Parameters:
    ///   - key: the list of the run.
    ///   - cancel: ends the run soon. `nil` means that the owner of the run cancels it.
    /// - Returns: the number of the run.
    func enter(_ key: QueryKey, cancel: (@Sendable () -> Void)? = nil) -> Int {
        state.withLock { state in
            state.last += 1
            state.runs[state.last] = Run(key: key, cancel: cancel)
            return state.last
        }
    }

    /// Removes a run that has ended. Returns whether it had been revoked.
    @discardableResult
    func leave(_ number: Int) -> Bool {
        let (run, waiting) = state.withLock { state in
            let run = state.runs.removeValue(forKey: number)
            defer { state.waiting = [] }
            return (run, state.waiting)
        }
        for caller in waiting { caller.resume() }
        return run?.isRevoked ?? false
    }

    /// Ends the runs of these lists, and returns when none is under way.
    func revoke(where isMeant: @Sendable (QueryKey) -> Bool) async {
        let cancellations = state.withLock { state in
            for number in state.runs.keys where isMeant(state.runs[number]?.key ?? "") {
                state.runs[number]?.isRevoked = true
            }
            return state.runs.values.filter(\.isRevoked).compactMap(\.cancel)
        }
        for cancel in cancellations { cancel() }
        while true {
            await withCheckedContinuation { caller in
                let isOver = state.withLock { state in
                    guard state.runs.values.contains(where: { $0.isRevoked && isMeant($0.key) }) else { return true }
                    state.waiting.append(caller)
                    return false
                }
                if isOver { caller.resume() }
            }
            let isOver = state.withLock { state in
                !state.runs.values.contains { $0.isRevoked && isMeant($0.key) }
            }
            if isOver { return }
        }
    }
}
