#if PostgreSQL
import PageModel
import Synchronization

/// The heartbeat of a store object: its row of the table `owner`, which expires by the server's clock (R30). When the
/// row has expired, all leases of the store object are void.
///
/// A crash of the server or a failover can bring back a lease that its owner has ended. The task that renews the row
/// also looks for such leases, and ends those that it finds twice in a row.
///
/// The renewals have a connection of their own. On a shared connection, the row could expire while its renewal waits
/// behind a statement that waits for the lock of a list. Renewals are never flushed, so that a standby that confirms no
/// commit cannot delay them. A crash or a failover that loses a renewal only makes the row expire sooner. No lease of a
/// dead replica counts longer because of that.
///
/// State: the leases that the object holds, the time of the last renewal, the task that renews and the suspected
/// leases, behind mutexes; the number of grants under way. The task starts with the first lease. The connection opens
/// with its first renewal, and `end` closes it.
final class Liveness: Sendable {
    /// The name of this object in its leases. The name is random, so that no later object has the same one.
    let name: String
    private let lease: Duration
    private let server: Server
    /// The leases that the object took and that have not ended.
    let leases = Mutex(HeldLeases())
    /// The number of requests for leases whose answers have not arrived. Their leases are not in `leases` yet.
    let grantsUnderWay = Atomic<Int>(0)
    private let state = Mutex(State())

    private struct State {
        /// The tokens that the server returned at the last comparison, and that were not in `leases`.
        var suspects: Set<Int64> = []
        var renewedAt: ContinuousClock.Instant?
        var task: Task<Void, Never>?
        var isEnded = false
    }

    /// - Parameter server: the server, with a connection that is used for heartbeats only.
    init(lease: Duration, on server: Server) {
        self.lease = max(lease, .seconds(3))
        self.server = server
        name = "r" + String(UInt64.random(in: .min ... .max), radix: 36)
    }

    deinit { state.withLock { $0.task?.cancel() } }

    // If the row had expired, its renewal does not restore the leases. Another replica may have read that they are
    // void, and may be about to take them.
    private static let renewing = SQL(
        """
        WITH late AS (SELECT 1 FROM @owner WHERE name = $1 AND alive_until <= clock_timestamp()), void AS (
            UPDATE @ledger SET lease_until = 0 WHERE lease_process = $1 AND lease_until > 0 AND EXISTS (SELECT 1 FROM late)
        )
        INSERT INTO @owner (name, alive_until) VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
        ON CONFLICT (name) DO UPDATE SET alive_until = excluded.alive_until
        """)
    private static let ending = SQL("DELETE FROM @owner WHERE name = $1")
    /// Deletes the rows of objects that ended without a call of `end`. The rows expired more than an hour ago, so no
    /// lease needs them.
    private static let sweeping = SQL("DELETE FROM @owner WHERE alive_until < clock_timestamp() - interval '1 hour'")

    /// The statement that renews the row.
    var renewal: WriteBatch.Request {
        (Liveness.renewing, [.text(name), .integer(lease.wholeMilliseconds)])
    }

    /// Returns the renewal that a transaction has to run before it takes leases. Returns nil if the last renewal is
    /// younger than a third of the lease.
    func renewalIfDue() -> WriteBatch.Request? {
        state.withLock { state in
            if let renewedAt = state.renewedAt, ContinuousClock.now - renewedAt < lease / 3 { return nil }
            return renewal
        }
    }

    /// Records that the row has expired, so that the next transaction that takes leases renews it.
    func expired() { state.withLock { $0.renewedAt = nil } }

    /// Records that the renewal was committed. The first call starts the task that keeps renewing the row.
    /// - Parameter began: a time before the renewal was sent.
    func renewed(at began: ContinuousClock.Instant) {
        state.withLock { state in
            state.renewedAt = began
            guard state.task == nil, !state.isEnded else { return }
            let pause = lease / 3
            state.task = Task { [weak self] in
                while !Task.isCancelled {
                    do { try await Task.sleep(for: pause) } catch { return }
                    guard let self else { return }
                    await self.renew()
                }
            }
        }
    }

    func renew() async {
        let began = ContinuousClock.now
        guard
            let found = try? await server.write([
                renewal, (Liveness.sweeping, []), (Liveness.stored, [.text(name)]),
            ])
        else { return }
        state.withLock { $0.renewedAt = began }
        await endOrphaned(Set(found[2].all.map { $0.int64(0) }))
    }

    private static let stored = SQL(
        "SELECT lease_token FROM @ledger WHERE lease_token IS NOT NULL AND lease_process = $1")
    /// The lease ends as if its time had passed, and its attempt still counts.
    private static let endingLeases = SQL(
        """
        UPDATE @ledger SET lease_until = 0, next_attempt_at = least(next_attempt_at, \(LeaseStatements.serverTime))
        WHERE lease_token = ANY($1::bigint[]) AND lease_process = $2
        """)

    /// Ends the leases that two calls in a row find at the server and not in `leases`. A call during a request for
    /// leases ends none, because the leases of that request may not be in `leases` yet.
    /// - Parameter stored: the tokens of this object at the server, read before the call.
    func endOrphaned(_ stored: Set<Int64>) async {
        // The counter is read before `leases`. If a grant ends after the read of the counter, the counter was not 0.
        let isCertain = grantsUnderWay.load(ordering: .sequentiallyConsistent) == 0
        let unknown = stored.subtracting(leases.withLock { $0.tokens.map(\.rawValue) })
        let orphaned = state.withLock { state in
            defer { state.suspects = unknown }
            return isCertain ? state.suspects.intersection(unknown) : []
        }
        guard !orphaned.isEmpty else { return }
        _ = try? await server.write([(Liveness.endingLeases, [.integers(orphaned.sorted()), .text(name)])])
    }

    /// Removes the row, so that other replicas need not wait until it expires, and closes the connection.
    func end() async {
        let wasAlive = state.withLock { state in
            defer { (state.isEnded, state.task) = (true, nil) }
            state.task?.cancel()
            // The task starts when the row is first written, so without a task there is no row.
            return state.task != nil && !state.isEnded
        }
        // If the statement fails, the row expires by itself. An unavailable server must not delay the end of a process.
        if wasAlive { _ = try? await server.write([(Liveness.ending, [.text(name)])], .short) }
        await server.close()
    }
}

extension PostgreSQLPageStore {
    private static let living = SQL("SELECT name FROM @owner WHERE alive_until > clock_timestamp()")

    /// Returns the owners in `names` whose heartbeat has expired. Their leases are void (R30).
    /// - Throws: `StorageError`, as every read does.
    package func endedOwners(_ names: Set<String>) async throws(StorageError) -> Set<String> {
        let living = Set(try await server.read((PostgreSQLPageStore.living, [])).all.compactMap { $0.word(0) })
        return names.filter { name in !living.contains(String(name.prefix { $0 != "/" })) }
    }
}
#endif
