#if PostgreSQL
/// A few connections to one PostgreSQL server, shared by all tasks.
///
/// Connections are opened when they are needed: the first one by the first request, and each further one when all
/// others are busy. The next request opens a lost connection again, with jittered back-off, within the deadline of that
/// request.
package final class PostgresPool: Sendable {
    package struct Options: Hashable, Sendable {
        /// The largest number of connections for requests. All LISTENs share one further connection.
        package var connections = 4
        /// Whether frequent statements get a name in the session. The pool turns names off when it finds a pooler
        /// between it and the server.
        package var namedStatements = true
        /// The time that a request waits for its true outcome after its deadline has passed or its task was cancelled.
        /// Defaults to 250 ms.
        package var grace = Duration.milliseconds(250)
        /// The time that a request may still take after its task was cancelled. `nil` means that the cancellation
        /// interrupts the request at once. Defaults to `nil`.
        package var cancellationGrace: Duration?

        package init() {}

        var limits: PipelineMachine.Limits { PipelineMachine.Limits(grace: grace) }
    }

    private let mailbox: Mailbox
    let reactor: Reactor
    private let cancellationGrace: Duration?

    /// Starts the thread of the pool. Opens no connection yet.
    /// - Parameter connectionString: a URI, or keywords and values, in the form that libpq accepts. Messages do not
    ///   contain its password.
    package init(_ connectionString: String, options: Options = Options()) throws(PostgresError) {
        let info = try ConnectionInfo(connectionString)
        guard let mailbox = Mailbox(), let stop = StopSignal() else {
            throw PostgresError(.unavailable, "no file descriptors are left")
        }
        self.mailbox = mailbox
        cancellationGrace = options.cancellationGrace
        let configuration = Reactor.Configuration(info: info, options: options)
        let reactor = Reactor(configuration, mailbox: mailbox, stop: stop)
        self.reactor = reactor
        guard CLibrary.startThread({ reactor.run() }) else {
            _ = mailbox.end()
            throw PostgresError(.unavailable, "no thread could be started")
        }
    }

    package convenience init(_ connectionString: String, connections: Int) throws(PostgresError) {
        var options = Options()
        options.connections = connections
        try self.init(connectionString, options: options)
    }

    deinit { mailbox.post(.close(nil)) }

    /// Closes all connections, ends the thread and finishes all streams. Requests under way throw `closed`.
    package func close() async {
        await withCheckedContinuation { continuation in
            if !mailbox.post(.close(continuation)) { continuation.resume() }
        }
    }

    /// Runs statements in one implicit transaction and one round trip. The server commits all of them or none.
    ///
    /// A request that certainly had no effect when a connection was lost is sent again within its deadline.
    /// - Parameters:
    ///   - deadline: the time until which the request waits for a connection and for the server.
    ///   - isRepeatable: whether the request may run twice, such as a request that only reads. If true, the request is
    ///     sent again even when its outcome is unknown. Defaults to false.
    /// - Returns: the rows of each statement.
    package func run(
        _ statements: [Statement], until deadline: ContinuousClock.Instant, isRepeatable: Bool = false
    ) async throws(PostgresError) -> [Rows] {
        guard !statements.isEmpty else { return [] }
        let encoded = try EncodedStatement.encode(statements)
        while true {
            do throws(PostgresError) {
                return try await perform(encoded, .group, until: deadline)
            } catch {
                guard isRepeatable, error.code == .unknownOutcome else { throw error }
            }
        }
    }

    /// Runs several round trips in one explicit transaction, on a connection that serves no other request meanwhile.
    /// BEGIN is sent with the first statements. Commits when `body` returns, unless `body` has committed. Rolls back
    /// when `body` throws.
    package func transaction<Value>(
        until deadline: ContinuousClock.Instant,
        _ body: (PostgresTransaction) async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let transaction = PostgresTransaction(
            pool: self, id: TransactionID(number: mailbox.nextNumber()), deadline: deadline)
        do throws(PostgresError) {
            let value = try await body(transaction)
            try await transaction.finish()
            return value
        } catch {
            await transaction.rollBack()
            throw error
        }
    }

    /// Listens to a channel. The first event is `listening`, and each reconnect adds the event `reconnected`. The
    /// stream keeps at most 256 unread events; further events replace the oldest ones.
    package func listen(_ channel: String) -> AsyncStream<Notification> {
        let id = mailbox.nextNumber()
        let (stream, continuation) = AsyncStream.makeStream(
            of: Notification.self, bufferingPolicy: .bufferingNewest(256))
        let mailbox = mailbox
        continuation.onTermination = { _ in mailbox.post(.unsubscribe(id)) }
        if !mailbox.post(.subscribe(id, channel: channel, continuation)) { continuation.finish() }
        return stream
    }

    // MARK: For transactions

    /// Sends one request and waits for its result.
    /// - Parameter isCancellable: whether the cancellation of the task ends the request.
    func perform(
        _ statements: [EncodedStatement], _ role: Submission.Role, until deadline: ContinuousClock.Instant,
        isCancellable: Bool = true
    ) async throws(PostgresError) -> [Rows] {
        let (mailbox, id, cancellationGrace) = (mailbox, mailbox.nextNumber(), cancellationGrace)
        var deadline = deadline
        if isCancellable, Task.isCancelled {
            guard let cancellationGrace else { throw PostgresError(.cancelled, "the task was cancelled") }
            deadline = min(deadline, .now + cancellationGrace)
        }
        let limit = deadline
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let submission = Submission(
                    id: id, role: role, statements: statements, deadline: limit, receiver: .task(continuation))
                guard deliver(.submit(submission)) else {
                    return continuation.resume(returning: .failure(PostgresError(.closed, "the pool is closed")))
                }
                // A cancellation before the submission found no request to cancel.
                if isCancellable, Task.isCancelled, cancellationGrace == nil { mailbox.post(.cancel(id)) }
            }
        } onCancel: {
            guard isCancellable else { return }
            guard let cancellationGrace else {
                mailbox.post(.cancel(id))
                return
            }
            Task.detached {
                try? await Task.sleep(for: cancellationGrace)
                mailbox.post(.cancel(id))
            }
        }
        return try result.get()
    }

    func release(_ id: TransactionID) { _ = deliver(.release(id)) }

    private func deliver(_ command: Command) -> Bool {
        switch mailbox.deliver(command) {
        case .delivered: return true
        case .needsHandling:
            reactor.handleCommandsInPlace()
            return true
        case .refused: return false
        }
    }
}
#endif
