import PageModel
import Synchronization

/// A call whose caller need not wait for its end. The caller returns when the call ends, when the time limit is
/// reached, or a grace period after the caller is cancelled, whichever comes first. A call that ignores its
/// cancellation continues without a caller, and its result is dropped.
///
/// State, under a mutex: the waiting caller, or the result that arrived before it. The first result wins.
final class AbandonableCall<Value: Sendable>: Sendable {
    private enum State {
        case running
        case waitedFor(CheckedContinuation<Value, any Error>)
        case ended(Result<Value, any Error>)
    }

    private let state = Mutex(State.running)

    private init() {}

    /// Returns the result of `work`.
    /// - Parameters:
    ///   - limit: the time that the call may take. `nil` means no limit.
    ///   - grace: how long the caller waits for the result after its cancellation. Defaults to 0 seconds.
    ///   - work: the call, in a task of its own. The task is cancelled when the caller no longer waits.
    /// - Throws: the error of `work`; `FetchFailure` with class `timeout` after `limit`; `CancellationError` when the
    ///   caller's task was cancelled and `grace` has passed.
    static func run(
        within limit: Duration?, grace: Duration = .zero, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let call = AbandonableCall()
        let task = Task {
            let result: Result<Value, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            call.end(result)
        }
        let alarm = limit.map { limit in
            Task {
                // A longer sleep could overflow the clock.
                try await Task.sleep(for: min(max(limit, .zero), .seconds(365 * 86_400)))
                call.end(.failure(FetchFailure.noAnswer(within: limit)))
                task.cancel()
            }
        }
        defer { alarm?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { call.wait($0) }
        } onCancel: {
            task.cancel()
            guard grace > .zero else { return call.end(.failure(CancellationError())) }
            Task {
                try? await Task.sleep(for: grace)
                call.end(.failure(CancellationError()))
            }
        }
    }

    private func wait(_ caller: CheckedContinuation<Value, any Error>) {
        let result = state.withLock { state -> Result<Value, any Error>? in
            if case .ended(let result) = state { return result }
            state = .waitedFor(caller)
            return nil
        }
        if let result { caller.resume(with: result) }
    }

    private func end(_ result: Result<Value, any Error>) {
        let caller = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .running:
                state = .ended(result)
                return nil
            case .waitedFor(let caller):
                state = .ended(result)
                return caller
            case .ended: return nil
            }
        }
        caller?.resume(with: result)
    }
}

extension FetchFailure {
    /// The failure of a call that took longer than its limit.
    static func noAnswer(within limit: Duration) -> FetchFailure {
        FetchFailure(.timeout, "no answer within \(limit)", isRetryable: true)
    }
}
