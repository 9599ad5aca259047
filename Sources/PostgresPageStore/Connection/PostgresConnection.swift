#if PostgreSQL
import CPostgres

/// One connection, which performs the actions of its machine with libpq. No method waits.
///
/// Mutable state: everything. Only the reactor uses the connection, under the lock of the reactor, and the connection
/// lives as long as the reactor. The session is closed before the object is freed, because libpq calls back into it.
final class PostgresConnection {
    /// A decision about a request that the reactor carries out.
    enum Outcome {
        case complete(Request, PipelineMachine.Completion)
        case requeue(Request)
    }

    /// The meaning of one result among those that arrive before the sync of a request.
    private enum ResultRole {
        case preparation(name: String, sql: String)
        case rows
    }

    private struct SentRequest {
        let request: Request
        var roles: Fifo<ResultRole>
    }

    let index: Int
    private(set) var machine: PipelineMachine
    /// The number of the session. A loss of the connection ends the session.
    private(set) var session = 0
    /// The transaction that this connection is reserved for.
    var owner: TransactionID?
    /// Steps of the owner that wait for the end of earlier requests or of a cancel request.
    var held = Fifo<Request>()
    var outcomes: [Outcome] = []
    var notifications: [(channel: String, payload: String)] = []
    /// The last error of connecting, or of the lost session.
    private(set) var lastError: PostgresError?
    private var handle: SessionHandle?
    private var statements = StatementCache()
    private var sent = Fifo<SentRequest>()
    private var isFlushDue = false
    private var wasShutDown = false
    private let info: ConnectionInfo
    /// The jitter of the next back-off. It is drawn in advance, because a random number for each result would cost a
    /// system call.
    private var jitter = Double.random(in: 0...1)
    /// Starts a side thread that delivers a cancel request.
    var onCancel: (OpaquePointer) -> Void = { _ in }

    init(index: Int, info: ConnectionInfo, limits: PipelineMachine.Limits) {
        self.index = index
        self.info = info
        machine = PipelineMachine(limits: limits)
    }

    var descriptor: Int32? { handle.map { PQsocket($0.pointer) }.flatMap { $0 >= 0 ? $0 : nil } }

    // MARK: Connecting

    /// Begins an attempt to connect. Returns true when a side thread must connect now.
    func connect(at now: Duration) -> Bool { machine.connect(at: now) == [.connect] }

    func connected(_ result: Result<SessionHandle, PostgresError>, at now: Duration) {
        switch result {
        case .failure(let error):
            lastError = error
            machine.connectFailed(at: now, jitter: jitter)
            jitter = .random(in: 0...1)
        case .success(let handle):
            guard machine.isConnecting else { return }
            session += 1
            self.handle = handle
            statements = StatementCache()
            statements.isEnabled = handle.isDirect
            wasShutDown = false
            lastError = nil
            // The pointer is unretained, because the session is closed before this object is freed.
            PQsetNoticeReceiver(
                handle.pointer,
                { context, result in
                    guard let context, let result else { return }
                    Unmanaged<PostgresConnection>.fromOpaque(context).takeUnretainedValue().noticed(result)
                }, Unmanaged.passUnretained(self).toOpaque())
            machine.connected()
        }
    }

    /// Whether the session is inside a transaction, or still busy.
    var isInTransaction: Bool { handle.map { PQtransactionStatus($0.pointer) != PQTRANS_IDLE } ?? false }

    // MARK: Requests

    /// Sends a request. `flush` must follow.
    func submit(_ request: Request, at now: Duration) {
        request.connection = index
        let plans = request.submission.statements.map { statements.plan($0) }
        let roles = zip(request.submission.statements, plans).flatMap { statement, plan -> [ResultRole] in
            switch plan {
            case .unnamed, .named: [.rows]
            case .prepare(let name): [.preparation(name: name, sql: statement.sql), .rows]
            }
        }
        sent.append(SentRequest(request: request, roles: Fifo(roles)))
        let actions = machine.submit(
            request.id, request.kind, results: roles.count, deadline: request.deadline, at: now)
        for action in actions {
            if case .send = action {
                guard handle?.send(request.submission.statements, plans) == true else {
                    return lose(.broken, at: now)
                }
            } else {
                perform(action, at: now)
            }
        }
    }

    func interrupt(_ id: Submission.ID, at now: Duration) { perform(machine.interrupt(id, at: now), at: now) }

    func cancelReturned(session: Int, at now: Duration) {
        guard session == self.session else { return }
        perform(machine.cancelReturned(at: now), at: now)
    }

    func timePassed(_ now: Duration) { perform(machine.timePassed(now, jitter: jitter), at: now) }

    // MARK: The socket

    func flush(at now: Duration) {
        guard isFlushDue, let connection = handle?.pointer else { return }
        isFlushDue = false
        let code = PQflush(connection)
        guard code >= 0 else { return lose(.broken, at: now) }
        machine.flushed(isComplete: code == 0)
    }

    func isReady(read: Bool, at now: Duration) {
        guard let connection = handle?.pointer else { return }
        let isFlushPending = machine.interest.write
        if read {
            // PQconsumeInput also flushes, so the whole send buffer may have been sent when the call fails.
            if isFlushPending { machine.flushed(isComplete: true) }
            let isOpen = PQconsumeInput(connection) == 1
            receive(at: now)
            guard handle?.pointer == connection else { return }
            guard isOpen, PQstatus(connection) == CONNECTION_OK else { return lose(.broken, at: now) }
        }
        if isFlushPending {
            isFlushDue = true
            flush(at: now)
        }
    }

    private func receive(at now: Duration) {
        guard let connection = handle?.pointer else { return }
        // libpq returns nil once between the results of two statements. Several nil results in a row mean that libpq
        // expects no further result. Then the connection has ended, or the server broke the protocol.
        var absences = 0
        while handle != nil, PQisBusy(connection) == 0, machine.head != nil {
            if let result = PQgetResult(connection) {
                absences = 0
                received(ResultHandle(result), at: now)
            } else {
                absences += 1
                guard absences >= 4 else { continue }
                // The caller ends the session.
                if PQstatus(connection) != CONNECTION_OK { break }
                return lose(.protocolViolation, at: now)
            }
        }
        guard handle != nil else { return }
        while let notify = PQnotifies(connection) {
            notifications.append((String(cString: notify.pointee.relname), String(cString: notify.pointee.extra)))
            PQfreemem(notify)
        }
        if wasShutDown {
            perform(machine.received(.fatal(isShutdown: true), at: now, jitter: jitter), at: now)
        }
    }

    private func received(_ result: ResultHandle, at now: Duration) {
        let event: PipelineMachine.ResultEvent
        var failure: PostgresError?
        switch PQresultStatus(result.pointer) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: event = .rows
        case PGRES_PIPELINE_ABORTED: event = .aborted
        case PGRES_PIPELINE_SYNC: event = .sync
        case PGRES_FATAL_ERROR:
            // An error of libpq itself: the session is broken.
            guard let message = ServerMessage(result.pointer, info) else { return lose(.broken, at: now) }
            if message.isFatal { lastError = message.error } else { failure = message.error }
            event = message.event
        default: event = .unexpected
        }
        let role = nextRole(event)
        for action in machine.received(event, at: now, jitter: jitter) {
            if case .keep = action, let request = sent.first?.request {
                if let failure { request.failure = request.failure ?? failure }
                if case .rows = event, case .rows = role { request.rows.append(Rows(result)) }
            } else {
                perform(action, at: now)
            }
        }
        if case .sync = event, handle != nil {
            let isReadOnly = sent.first?.request.failure?.code == .readOnly
            sent.removeFirst()
            // The session leads to a standby or to a former primary. The next session may lead to the new primary.
            if isReadOnly { lose(.broken, at: now) }
        }
        // A group that began an explicit transaction and failed in it would make the next groups fail, too.
        if case .sync = event, owner == nil, let connection = handle?.pointer,
            PQtransactionStatus(connection) == PQTRANS_INERROR
        {
            lose(.broken, at: now)
        }
    }

    /// Removes the role of a result from the oldest request and returns it. Updates the named statements.
    private func nextRole(_ event: PipelineMachine.ResultEvent) -> ResultRole? {
        switch event {
        case .rows, .aborted, .failed: break
        case .sync, .fatal, .unexpected: return nil
        }
        guard sent.first?.roles.isEmpty == false, let role = sent.first?.roles.first else { return nil }
        sent.first?.roles.removeFirst()
        if case .preparation(let name, let sql) = role {
            statements.prepared(name, sql: sql, isReady: event == .rows)
        }
        return role
    }

    private func noticed(_ result: OpaquePointer) {
        // A cancel request ends the wait for a standby with a warning, and the commit succeeds. The text of the warning
        // depends on the language of the server; the function that sends it does not
        // (https://www.postgresql.org/docs/15/warm-standby.html#SYNCHRONOUS-REPLICATION-HA).
        if pagecache_function(result).map({ String(cString: $0) }) == "SyncRepWaitForLSN" {
            sent.first?.request.isUnconfirmed = true
        }
        guard let message = ServerMessage(result, info), message.isFatal else { return }
        lastError = message.error
        if message.isShutdown { wasShutDown = true }
    }

    // MARK: Actions

    private func perform(_ actions: [PipelineMachine.Action], at now: Duration) {
        for action in actions { perform(action, at: now) }
    }

    private func perform(_ action: PipelineMachine.Action, at now: Duration) {
        switch action {
        case .connect, .send, .keep: break
        case .flush: isFlushDue = true
        case .complete(let id, let completion):
            if let request = request(id) { outcomes.append(.complete(request, completion)) }
        case .requeue(let id):
            guard let request = request(id) else { return }
            if request.failure?.sqlstate.map(SQLState.isStaleStatement) == true {
                for statement in request.submission.statements { statements.forget(statement.sql) }
            }
            outcomes.append(.requeue(request))
        case .cancel:
            if let cancel = handle.flatMap({ PQgetCancel($0.pointer) }) {
                onCancel(cancel)
            } else {
                perform(machine.cancelReturned(at: now), at: now)
            }
        case .disconnect:
            handle = nil
        }
    }

    private func request(_ id: Submission.ID) -> Request? { sent.first { $0.request.id == id }?.request }

    /// Ends the session after an error, or because it may be in the middle of a transaction.
    func lose(_ loss: PipelineMachine.Loss, at now: Duration) {
        if let connection = handle?.pointer, lastError == nil {
            let message = info.redacted(PQerrorMessage(connection).map { String(cString: $0) } ?? "")
            lastError = PostgresError(.unavailable, message.isEmpty ? "the connection was closed" : message)
        }
        end(machine.lost(loss, at: now, jitter: jitter), at: now)
    }

    func close(at now: Duration) { end(machine.close(), at: now) }

    private func end(_ actions: [PipelineMachine.Action], at now: Duration) {
        perform(actions, at: now)
        jitter = .random(in: 0...1)
        handle = nil
        sent = Fifo()
        isFlushDue = false
    }
}
#endif
