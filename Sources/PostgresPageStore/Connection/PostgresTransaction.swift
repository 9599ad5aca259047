#if PostgreSQL
import Synchronization

/// An explicit transaction on a connection of its own. Use it only inside the closure that receives it.
///
/// Mutable state: the phase, under a mutex.
package final class PostgresTransaction: Sendable {
    private enum Phase {
        /// Nothing was sent.
        case fresh
        case open
        /// A request failed. The server refuses everything but a rollback.
        case failed(PostgresError)
        case ended
    }

    /// The time that a rollback may take. After it the connection is closed, which has the same effect.
    static let rollbackLimit = Duration.seconds(1)

    private let pool: PostgresPool
    private let id: TransactionID
    private let deadline: ContinuousClock.Instant
    private let phase = Mutex(Phase.fresh)

    init(pool: PostgresPool, id: TransactionID, deadline: ContinuousClock.Instant) {
        self.pool = pool
        self.id = id
        self.deadline = deadline
    }

    /// Runs statements in one round trip. The transaction cannot continue after an error.
    package func run(_ statements: [Statement]) async throws(PostgresError) -> [Rows] {
        guard !statements.isEmpty else { return [] }
        let encoded = try EncodedStatement.encode(statements)
        let isFirst = try begin()
        let begin = isFirst ? [try EncodedStatement(Statement("BEGIN"))] : []
        let rows = try await perform(begin + encoded, .step(id, isFirst: isFirst))
        return isFirst ? Array(rows.dropFirst()) : rows
    }

    /// Runs the last statements and commits, in one round trip. A transaction without earlier statements needs no
    /// BEGIN and no COMMIT.
    package func commit(with statements: [Statement] = []) async throws(PostgresError) -> [Rows] {
        let encoded = try EncodedStatement.encode(statements)
        if try begin() {
            phase.withLock { $0 = .ended }
            return encoded.isEmpty ? [] : try await pool.perform(encoded, .group, until: deadline)
        }
        let rows = try await perform(encoded + [try EncodedStatement(Statement("COMMIT"))], .commit(id))
        // The server answers a COMMIT of a failed transaction with a ROLLBACK, and reports no error.
        guard rows.last?.commandTag == "COMMIT" else {
            throw failed(PostgresError(.server, "the transaction had failed", sqlstate: SQLState.inFailedTransaction))
        }
        end()
        return Array(rows.dropLast())
    }

    /// Commits if the body has returned without a commit of its own.
    func finish() async throws(PostgresError) {
        switch phase.withLock({ $0 }) {
        case .fresh, .ended: break
        case .open: _ = try await commit()
        case .failed(let error): throw error
        }
    }

    /// Rolls back the uncommitted statements. The cancellation of the task does not stop the rollback.
    func rollBack() async {
        switch phase.withLock({ $0 }) {
        case .fresh, .ended: return
        case .open, .failed: break
        }
        if let statement = try? EncodedStatement(Statement("ROLLBACK")) {
            _ = try? await pool.perform(
                [statement], .step(id, isFirst: false), until: .now + PostgresTransaction.rollbackLimit,
                isCancellable: false)
        }
        // The pool closes a connection whose session is still inside a transaction.
        end()
    }

    /// Returns whether the next request is the first one.
    private func begin() throws(PostgresError) -> Bool {
        try phase.withLock { phase throws(PostgresError) in
            switch phase {
            case .fresh:
                phase = .open
                return true
            case .open: return false
            case .failed(let error): throw error
            case .ended: throw PostgresError(.closed, "the transaction is over")
            }
        }
    }

    private func perform(
        _ statements: [EncodedStatement], _ role: Submission.Role
    ) async throws(PostgresError) -> [Rows] {
        do throws(PostgresError) {
            return try await pool.perform(statements, role, until: deadline)
        } catch {
            throw failed(error)
        }
    }

    private func failed(_ error: PostgresError) -> PostgresError {
        phase.withLock { if case .open = $0 { $0 = .failed(error) } }
        return error
    }

    private func end() {
        phase.withLock { $0 = .ended }
        pool.release(id)
    }
}
#endif
