#if PostgreSQL
import CPostgres

/// A connected session of libpq. The session is closed with the last reference to this object.
///
/// `@unchecked` because the compiler cannot see which thread uses the session. The thread that connected stops using it
/// when it posts the session to the reactor. After that only the reactor uses it, under its lock.
final class SessionHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    /// Whether the session is known to be one of the server itself, and not of a pooler.
    fileprivate(set) var isDirect = false

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { PQfinish(pointer) }
}

/// Connects on a side thread. libpq resolves host names with blocking calls, also when the caller polls, and computes
/// the hashes of SCRAM. The thread of the connections must not wait for either.
struct Connector {
    private let info: ConnectionInfo
    private let target: Int
    private let stop: StopSignal
    private let end: ContinuousClock.Instant

    /// - Parameter testsPooler: whether to test for a pooler between the client and the server. The test takes one
    ///   round trip.
    static func connect(
        _ info: ConnectionInfo, testsPooler: Bool, stop: StopSignal
    ) -> Result<SessionHandle, PostgresError> {
        var failure = PostgresError(.unavailable, "the connection string names no host")
        for target in 0..<info.targetCount {
            let connector = Connector(info: info, target: target, stop: stop, end: .now + info.attemptLimit)
            do throws(PostgresError) {
                return .success(try connector.connect(testsPooler: testsPooler))
            } catch {
                failure = error
                // A host that rejects the role ends the search, as in libpq.
                if error.code != .unavailable && error.code != .readOnly { break }
            }
        }
        return .failure(failure)
    }

    private func connect(testsPooler: Bool) throws(PostgresError) -> SessionHandle {
        guard let pointer = info.start(target: target) else { throw PostgresError(.unavailable, "libpq has no memory") }
        let session = SessionHandle(pointer)
        // The default receiver of notices prints to standard error.
        PQsetNoticeReceiver(pointer, { _, _ in }, nil)
        // The codes of errors during the start are only in the text of a verbose message.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        guard PQstatus(pointer) != CONNECTION_BAD else { throw failure(pointer) }
        var waiting = PGRES_POLLING_WRITING
        while waiting != PGRES_POLLING_OK {
            try wait(pointer, read: waiting == PGRES_POLLING_READING)
            waiting = PQconnectPoll(pointer)
            if waiting == PGRES_POLLING_FAILED { throw failure(pointer) }
        }
        PQsetErrorVerbosity(pointer, PQERRORS_DEFAULT)
        if let limit = info.sessionLimit {
            pagecache_limit_unsent(PQsocket(pointer), UInt32(limit.components.seconds * 1_000))
        }
        if testsPooler { session.isDirect = try isDirect(pointer) }
        guard PQsetnonblocking(pointer, 1) == 0, PQenterPipelineMode(pointer) == 1 else { throw failure(pointer) }
        return session
    }

    /// Compares the process id of the server with the one that was sent at the start of the session. A pooler sends an
    /// id of its own at the start, and may run each transaction in another session of the server.
    private func isDirect(_ pointer: OpaquePointer) throws(PostgresError) -> Bool {
        guard PQsendQuery(pointer, "SELECT pg_backend_pid()") == 1 else { throw failure(pointer) }
        var isDirect = false
        while true {
            while PQisBusy(pointer) == 1 {
                try wait(pointer, read: true)
                guard PQconsumeInput(pointer) == 1 else { throw failure(pointer) }
            }
            guard let result = PQgetResult(pointer) else { return isDirect }
            if PQntuples(result) == 1, let text = PQgetvalue(result, 0, 0) {
                isDirect = Int32(String(cString: text)) == PQbackendPID(pointer)
            }
            PQclear(result)
        }
    }

    /// Waits for the socket. Throws `unavailable` when the time limit has passed, and `closed` when the pool closes.
    private func wait(_ pointer: OpaquePointer, read: Bool) throws(PostgresError) {
        while true {
            let now = ContinuousClock.now
            guard now < end else { throw PostgresError(.unavailable, "the server did not answer in time") }
            var items = [
                CLibrary.pollItem(PQsocket(pointer), read: read, write: !read),
                CLibrary.pollItem(stop.descriptor, read: true, write: false),
            ]
            CLibrary.wait(&items, timeout: end - now)
            if CLibrary.hasEvents(items[1]) { throw PostgresError(.closed, "the pool is closed") }
            if CLibrary.hasEvents(items[0]) { return }
        }
    }

    private func failure(_ pointer: OpaquePointer) -> PostgresError {
        let message = String(cString: PQerrorMessage(pointer))
        let text = info.redacted(message)
        if let state = Connector.sqlstate(in: message) {
            let code = SQLState.code(state)
            return PostgresError(code == .server ? .unavailable : code, text, sqlstate: state)
        }
        let isRejected =
            PQconnectionNeedsPassword(pointer) != 0 || Connector.certificateMarks.contains { message.contains($0) }
        return PostgresError(isRejected ? .authentication : .unavailable, text)
    }

    /// Parts of libpq's messages about errors of TLS and certificates that another attempt would repeat. libpq has no
    /// codes for its own errors. Its messages are translated only if the program calls `setlocale`.
    private static let certificateMarks = [
        "certificate verify failed", "does not match host name", "root certificate file", "does not support SSL",
        "SSL error: tlsv", "SSL error: sslv3 alert", "incorrect server signature",
    ]

    /// Finds the code in a verbose message, such as "FATAL:  28P01: password authentication failed".
    static func sqlstate(in message: String) -> String? {
        for line in message.split(whereSeparator: \.isNewline) {
            for part in line.split(separator: ":") {
                let word = part.drop { $0 == " " }
                guard word.utf8.count == 5, word.utf8.first.map({ (0x30...0x39).contains($0) }) == true,
                    word.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
                else { continue }
                return String(word)
            }
        }
        return nil
    }

    /// Whether another attempt with the same connection string would fail in the same way.
    static func isPermanent(_ error: PostgresError) -> Bool {
        switch error.code {
        case .authentication, .noSuchDatabase, .permission, .invalidConnectionString: true
        case .unavailable, .unknownOutcome, .deadline, .cancelled, .conflict, .server, .readOnly, .full, .invalidValue,
            .closed, .protocolViolation, .standbyMissing:
            false
        }
    }
}
#endif
