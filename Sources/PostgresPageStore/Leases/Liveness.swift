#if PostgreSQL
import PageModel
import Synchronization

/// The sign of life of a store object: its row of `owner`, by the server's clock (R30). When the row
/// has expired, all leases of the store object are void.
///
/// State: the time of the last renewal and the task that renews, behind a mutex. The task starts with the first lease.
final class Liveness: Sendable {
    /// The name in the leases. Random, so that no later object has it.
    let name: String
    private let lease: Duration
    private let state = Mutex(State())

    private struct State {
        var renewedAt: ContinuousClock.Instant?
        var task: Task<Void, Never>?
        var isEnded = false
    }

    init(lease: Duration) {
        self.lease = max(lease, .seconds(3))
        name = "r" + String(UInt64.random(in: .min ... .max), radix: 36)
    }

    deinit { state.withLock { $0.task?.cancel() } }

    private static let renewing = SQL(
        """
        INSERT INTO @owner (name, alive_until) VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
        ON CONFLICT (name) DO UPDATE SET alive_until = excluded.alive_until
        """)
    private static let ending = SQL("DELETE FROM @owner WHERE name = $1")
    /// Rows of objects that ended without a word. An hour is beyond every lease that could still need the row.
    private static let sweeping = SQL("DELETE FROM @owner WHERE alive_until < clock_timestamp() - interval '1 hour'")

    private var renewal: Work.Request {
        (Liveness.renewing, [.text(name), .integer(lease.wholeMilliseconds)])
    }

    /// The statement that a transaction which takes leases has to run first; `nil` while the row is young.
    func renewalIfDue() -> Work.Request? {
        state.withLock { state in
            if let renewedAt = state.renewedAt, ContinuousClock.now - renewedAt < lease / 3 { return nil }
            return renewal
        }
    }

    /// Notes that the renewal was committed, and keeps the row alive from now on.
    /// - Parameter began: a time before the renewal was sent.
    func renewed(at began: ContinuousClock.Instant, on server: Server) {
        state.withLock { state in
            state.renewedAt = began
            guard state.task == nil, !state.isEnded else { return }
            let pause = lease / 3
            state.task = Task { [weak self, weak server] in
                while !Task.isCancelled {
                    do { try await Task.sleep(for: pause) } catch { return }
                    guard let self, let server else { return }
                    await self.renew(on: server)
                }
            }
        }
    }

    private func renew(on server: Server) async {
        let began = ContinuousClock.now
        guard (try? await server.write([renewal, (Liveness.sweeping, [])])) != nil else { return }
        state.withLock { $0.renewedAt = began }
    }

    /// Removes the row, so that other replicas need not wait for its end.
    func end(on server: Server) async {
        let wasAlive = state.withLock { state in
            defer { state.isEnded = true }
            state.task?.cancel()
            state.task = nil
            return state.renewedAt != nil && !state.isEnded
        }
        if wasAlive { _ = try? await server.write([(Liveness.ending, [.text(name)])]) }
    }
}
#endif
