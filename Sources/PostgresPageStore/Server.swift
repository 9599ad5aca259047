#if PostgreSQL
import PageModel
import Synchronization

/// The server behind a store. Runs reads and writes until a deadline, repeats those that failed for a passing reason,
/// and throws `StorageError`.
final class Server: Sendable {
    let dialect: Dialect
    /// The source of every stored time; `nil` means the server's clock (R52).
    let clock: (any StorageClock)?
    /// The number of round trips, for tests.
    let roundTrips = Atomic<Int>(0)
    /// The number of statements in these round trips, without the BEGIN and the COMMIT of a write, for tests.
    let statements = Atomic<Int>(0)
    private let pool: PostgresPool
    private let options: PostgreSQLPageStore.Options
    fileprivate let place: String

    /// The time that a call may take.
    enum Budget {
        /// Three seconds, or the busy budget if that is shorter: for a call that may fail, because its effect also
        /// occurs a little later without the call.
        case short
        /// The busy budget: a call that reads or writes a few rows (R42).
        case brief
        /// The time limit, or the busy budget if that is longer: a call that reads or writes an unlimited number of
        /// rows.
        case long
        /// A day: a call that checks or repairs the whole store.
        case endless
    }

    init(
        _ pool: PostgresPool, _ dialect: Dialect, _ options: PostgreSQLPageStore.Options, clock: (any StorageClock)?,
        place: String
    ) {
        self.pool = pool
        self.dialect = dialect
        self.options = options
        self.clock = clock
        self.place = place
    }

    private func deadline(_ budget: Budget) -> ContinuousClock.Instant {
        switch budget {
        case .short: .now + min(.seconds(3), options.busyBudget)
        case .brief: .now + options.busyBudget
        case .long: .now + max(options.timeLimit, options.busyBudget)
        case .endless: .now + .seconds(86_400)
        }
    }

    // MARK: Time

    private static let time = "SELECT \(LeaseStatements.serverTime), pg_current_xact_id()"
    private static let isUnflushed = "set_config('synchronous_commit', 'off', true)"
    // The default of the server, the database or the role may be `off`. Any other value flushes, so it stays.
    private static let isFlushed =
        "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
    private static let durabilities = (flushed: SQL("SELECT \(isFlushed)"), unflushed: SQL("SELECT \(isUnflushed)"))
    private static let times = (flushed: SQL("\(time), \(isFlushed)"), unflushed: SQL("\(time), \(isUnflushed)"))
    private static let commitTimes = (
        flushed: SQL("\(time), \(LedgerRow.hasFailures), \(isFlushed)"),
        unflushed: SQL("\(time), \(LedgerRow.hasFailures), \(isUnflushed)")
    )

    /// The request that makes its transaction survive a crash of the server, whatever the options and the server's
    /// default say.
    static let flushing: WriteBatch.Request = (durabilities.flushed, [])

    /// The request for the server's time and the number of the transaction. It also sets the durability of the
    /// transaction, because the setting ends with the transaction.
    var timeOfWrite: WriteBatch.Request {
        (options.durability == .normal ? Server.times.unflushed : Server.times.flushed, [])
    }

    /// The same request as ``timeOfWrite``, which also reads whether the list has failures. Send this request after the
    /// one that locks the list, so that its snapshot includes the last commit of the list.
    func timeOfCommit(of query: QueryID) -> WriteBatch.Request {
        (
            options.durability == .normal ? Server.commitTimes.unflushed : Server.commitTimes.flushed,
            [.integer(query.rawValue)]
        )
    }
    static let readTime: WriteBatch.Request = (SQL("SELECT \(LeaseStatements.serverTime)"), [])

    /// The storage's time of a transaction, from the result of ``timeOfWrite`` or ``readTime``. If the caller passed a
    /// clock, returns the present time of that clock instead. Call this method once the transaction holds its locks
    /// (R52).
    func moment(_ found: Rows) -> StorageMoment {
        if let clock { return StorageMoment(clock) }
        return StorageMoment(ServerClock(now: found.first?.int64(0) ?? 0))
    }

    /// The present time of the caller's clock. `nil` means that the statement uses the server's clock.
    var moment: StorageMoment? { clock.map { StorageMoment($0) } }

    // MARK: Reading

    /// Reads in one statement.
    func read(_ request: WriteBatch.Request, _ budget: Budget = .brief) async throws(StorageError) -> Rows {
        let statement = dialect.statement(request.sql, request.values)
        return try await attempting(deadline(budget)) { until async throws(PostgresError) in
            try await self.run([statement], until: until)
        }[0]
    }

    private static let snapshot = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    private static let end = Statement("COMMIT")

    /// Reads several statements from one snapshot (R2), in one round trip.
    func read(_ requests: [WriteBatch.Request], _ budget: Budget = .brief) async throws(StorageError) -> [Rows] {
        let statements = requests.map { dialect.statement($0.sql, $0.values) }
        let results = try await attempting(deadline(budget)) { until async throws(PostgresError) in
            try await self.run([Server.snapshot] + statements + [Server.end], until: until)
        }
        return Array(results.dropFirst().dropLast())
    }

    private static let snapshotOnly = SQL("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    /// Reads from one snapshot in several steps. The snapshot begins with the first `read` of `body`.
    func reading<Value: Sendable>(
        _ budget: Budget = .long, _ body: (WriteBatch) async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await transaction(deadline(budget)) { work async throws(StorageError) in
            work.add(Server.snapshotOnly, [])
            return try await body(work)
        }
    }

    // MARK: Writing

    /// Writes in one implicit transaction, in one round trip. The transaction is repeated after a conflict or a lost
    /// connection. Applying the requests twice must therefore have the same effect as applying them once.
    /// - Parameter isDurable: whether the transaction survives a crash of the server, whatever the options say.
    ///   Defaults to false.
    func write(
        _ requests: [WriteBatch.Request], _ budget: Budget = .brief, isDurable: Bool = false
    ) async throws(StorageError) -> [Rows] {
        let isFlushed = isDurable || options.durability == .full
        let durability = isFlushed ? Server.durabilities.flushed : Server.durabilities.unflushed
        let statements = [Statement(durability.text)] + requests.map { dialect.statement($0.sql, $0.values) }
        let results = try await attempting(deadline(budget)) { until async throws(PostgresError) in
            try await self.run(statements, until: until)
        }
        return Array(results.dropFirst())
    }

    // A transaction that writes nothing is not flushed, even if it has a number.
    private static let touch: WriteBatch.Request = (SQL("UPDATE @store SET stamp = stamp WHERE id = 1"), [])

    /// Flushes all earlier commits, by a small commit that is flushed. Waits for synchronous standbys within the busy
    /// budget.
    func flush() async throws(StorageError) { _ = try await write([Server.touch], isDurable: true) }

    /// Runs `body` in a write transaction, and sends the COMMIT with the last statements of `body`. Repeats the
    /// transaction after a conflict, a lost connection or a server that refuses writes: at most eight attempts within
    /// the budget.
    /// - Parameters:
    ///   - isDone: finds out whether an attempt whose outcome is unknown was committed. Returns the result if it was.
    ///     Returns nil if it was not; the attempt is then repeated. Defaults to `nil`: such an attempt is always
    ///     repeated, so applying it twice must have the same effect as applying it once.
    ///   - body: collects the statements. It may run more than once.
    func write<Value: Sendable>(
        _ budget: Budget = .brief, isDone: (() async throws(StorageError) -> Value?)? = nil,
        _ body: (WriteBatch) async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let until = deadline(budget)
        var attempt = 0
        while true {
            do throws(StorageError) {
                return try await transaction(until) { work async throws(StorageError) in
                    let value = try await body(work)
                    try await work.commit()
                    return value
                }
            } catch {
                guard let cause = error.cause as? PostgresError, ContinuousClock.now < until else { throw error }
                if cause.isOutcomeUnknown {
                    if let value = try await isDone?() { return value }
                } else {
                    guard [.conflict, .unavailable, .readOnly].contains(cause.code) else { throw error }
                }
                attempt += 1
                guard attempt < Server.mostAttempts else { throw error }
                await pause(before: attempt)
            }
        }
    }

    /// The most attempts at one transaction.
    private static let mostAttempts = 8

    /// Waits with full jitter: at most 4 ms before the second attempt, and twice as long before each further one.
    private func pause(before attempt: Int) async {
        let ceiling = 2_000 << min(attempt, 8)
        try? await Task.sleep(for: .microseconds(Int.random(in: 0...ceiling)))
    }

    private func transaction<Value: Sendable>(
        _ until: ContinuousClock.Instant, _ body: (WriteBatch) async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        var failure: StorageError?
        do throws(PostgresError) {
            return try await pool.transaction(until: until) { transaction async throws(PostgresError) -> Value in
                do throws(StorageError) {
                    let base = ServerTransaction(base: transaction, server: self)
                    return try await body(WriteBatch(base, self.dialect))
                } catch {
                    failure = error
                    throw (error.cause as? PostgresError) ?? PostgresError(.closed, "the transaction was abandoned")
                }
            }
        } catch {
            throw failure ?? StorageError(error, at: place)
        }
    }

    private func run(
        _ statements: [Statement], until: ContinuousClock.Instant
    ) async throws(PostgresError) -> [Rows] {
        sent(statements)
        return try await pool.run(statements, until: until)
    }

    /// Runs a group of statements. Repeats the group after a conflict, a lost connection or a server that refuses
    /// writes: at most eight attempts.
    private func attempting(
        _ until: ContinuousClock.Instant,
        _ body: (ContinuousClock.Instant) async throws(PostgresError) -> [Rows]
    ) async throws(StorageError) -> [Rows] {
        var attempt = 0
        while true {
            do throws(PostgresError) {
                return try await body(until)
            } catch {
                // If another request left a failed transaction open in the same session, this group fails, too. A
                // session that refuses writes has been closed, and the next connection may lead to the new primary.
                let isTransient =
                    [.conflict, .unavailable, .unknownOutcome, .readOnly].contains(error.code)
                    || error.sqlstate == SQLState.inFailedTransaction
                attempt += 1
                guard isTransient, attempt < Server.mostAttempts, ContinuousClock.now < until else {
                    throw StorageError(error, at: place)
                }
                await pause(before: attempt)
            }
        }
    }

    fileprivate func sent(_ statements: [Statement]) {
        roundTrips.add(1, ordering: .relaxed)
        self.statements.add(statements.count, ordering: .relaxed)
    }

    func close() async { await pool.close() }

    func listen(_ channel: String) -> AsyncStream<Notification> { pool.listen(channel) }
}

/// A transaction on the server that throws `StorageError`.
struct ServerTransaction {
    let base: PostgresTransaction
    let server: Server

    func run(_ statements: [Statement]) async throws(StorageError) -> [Rows] {
        do throws(PostgresError) {
            server.sent(statements)
            return try await base.run(statements)
        } catch {
            throw StorageError(error, at: server.place)
        }
    }

    func commit(with statements: [Statement]) async throws(StorageError) -> [Rows] {
        do throws(PostgresError) {
            server.sent(statements)
            return try await base.commit(with: statements)
        } catch {
            throw StorageError(error, at: server.place)
        }
    }
}
#endif
