import PageModel
import Synchronization

/// The runs of one repository that are under way. A caller can end the runs of some lists, and wait until all of these
/// have ended.
///
/// State, under a mutex: the runs, and the callers that wait for the end of any run.
final class RunRoster: Sendable {
    private struct Run {
        var key: QueryKey
        var cancel: (@Sendable () -> Void)?
        var ending = Ending.own
    }

    /// Why a run has ended.
    enum Ending: Sendable {
        /// The run has ended by itself.
        case own
        /// The list was reset during the run, and may be loaded again.
        case restarted
        /// `revoke` was called, and no page of the list may be stored any more.
        case revoked
    }

    private struct State {
        var runs: [Int: Run] = [:]
        var last = 0
        /// The number of resets under way, by list.
        var resets: [QueryKey: Int] = [:]
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Adds a run.
    /// - Parameters:
    ///   - key: the list of the run.
    ///   - cancel: ends the run soon. `nil` means that the caller of `revoke` cancels the run in another way. Defaults
    ///     to nil.
    /// - Returns: the number of the run.
    func enter(_ key: QueryKey, cancel: (@Sendable () -> Void)? = nil) -> Int {
        state.withLock { state in
            state.last += 1
            let ending = state.resets[key] == nil ? Ending.own : .restarted
            state.runs[state.last] = Run(key: key, cancel: cancel, ending: ending)
            return state.last
        }
    }

    /// Removes a run that has ended.
    @discardableResult
    func leave(_ number: Int) -> Ending {
        let (run, waiting) = state.withLock { state in
            let run = state.runs.removeValue(forKey: number)
            defer { state.waiting = [] }
            return (run, state.waiting)
        }
        for caller in waiting { caller.resume() }
        return run?.ending ?? .own
    }

    /// Calls `body`, which resets the list. Runs of the list that are under way during the call end as `restarted`,
    /// unless they are revoked.
    func duringReset<Value>(of key: QueryKey, _ body: () async throws -> Value) async rethrows -> Value {
        state.withLock { state in
            state.resets[key, default: 0] += 1
            for (number, run) in state.runs where run.key == key && run.ending == .own {
                state.runs[number]?.ending = .restarted
            }
        }
        defer {
            state.withLock { state in
                let others = (state.resets[key] ?? 1) - 1
                state.resets[key] = others == 0 ? nil : others
            }
        }
        return try await body()
    }

    /// Ends the runs of these lists, and returns when none of the runs is under way any more.
    func revoke(where isMeant: @Sendable (QueryKey) -> Bool) async {
        let cancellations = state.withLock { state in
            for number in state.runs.keys where isMeant(state.runs[number]?.key ?? "") {
                state.runs[number]?.ending = .revoked
            }
            return state.runs.values.filter { $0.ending == .revoked }.compactMap(\.cancel)
        }
        for cancel in cancellations { cancel() }
        while true {
            await withCheckedContinuation { caller in
                let isOver = state.withLock { state in
                    guard state.runs.values.contains(where: { $0.ending == .revoked && isMeant($0.key) }) else {
                        return true
                    }
                    state.waiting.append(caller)
                    return false
                }
                if isOver { caller.resume() }
            }
            let isOver = state.withLock { state in
                !state.runs.values.contains { $0.ending == .revoked && isMeant($0.key) }
            }
            if isOver { return }
        }
    }
}
