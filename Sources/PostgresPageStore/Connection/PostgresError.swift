#if PostgreSQL
/// The reason why a request to PostgreSQL failed: a code for decisions and a message of one line.
package struct PostgresError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable {
        /// No connection could be made, or the connection was lost before the request could take effect. The request
        /// changed nothing.
        case unavailable
        /// The connection was lost while the request was under way. The request may have been committed.
        case unknownOutcome = "unknown_outcome"
        /// The deadline passed. `isOutcomeUnknown` says whether the request may still have been committed.
        case deadline
        /// The transaction is committed at the server, but the wait for its synchronous standby was cancelled before
        /// the standby confirmed it.
        case standbyMissing = "standby_missing"
        /// The task was cancelled. `isOutcomeUnknown` says whether the request may still have been committed.
        case cancelled
        /// A serialization failure, a deadlock, or a snapshot that is too old (SQLSTATE 40001, 40P01, 72000). Run the
        /// whole transaction again.
        case conflict
        /// Another error of the server (see `sqlstate`), or parameters beyond its size limit.
        case server
        /// The server rejected the role or its password, or the client rejected the server's certificate.
        case authentication
        case noSuchDatabase = "no_such_database"
        case permission
        /// The server or the transaction is read-only (SQLSTATE 25006), such as a standby.
        case readOnly = "read_only"
        /// The disk of the server is full (SQLSTATE 53100).
        case full
        /// The server cannot store a value, such as a text with a NUL character. Nothing was sent.
        case invalidValue = "invalid_value"
        /// The connection string cannot be parsed.
        case invalidConnectionString = "invalid_connection_string"
        /// The pool is closed.
        case closed
        /// The server sent a message that the protocol does not allow at that point.
        case protocolViolation = "protocol_violation"
    }

    package var code: Code
    /// A message of one line, without passwords.
    package var message: String
    /// The five characters of the SQLSTATE. `nil` when no SQLSTATE belongs to the error.
    package var sqlstate: String?
    /// Whether the request may have been committed although it failed.
    package var isOutcomeUnknown: Bool

    package init(_ code: Code, _ message: String, sqlstate: String? = nil, isOutcomeUnknown: Bool = false) {
        self.code = code
        self.message = message
        self.sqlstate = sqlstate
        self.isOutcomeUnknown = isOutcomeUnknown || code == .unknownOutcome
    }
}

/// The meaning of a SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html).
enum SQLState {
    static let queryCanceled = "57014"
    static let adminShutdown = "57P01"
    static let inFailedTransaction = "25P02"
    static let limitExceeded = "54000"

    static func code(_ state: String) -> PostgresError.Code {
        switch state {
        case "40001", "40P01", "72000": .conflict
        case "25006": .readOnly
        case "42501": .permission
        case "53100": .full
        case "3D000", "57P04": .noSuchDatabase
        case "28000", "28P01": .authentication
        case "57P01", "57P02", "57P03", "57P05", "53300": .unavailable
        default: .server
        }
    }

    /// Whether a named statement is missing, exists already, or has a plan whose result type changed. All three happen
    /// when another party changes the session or the schema; the same group succeeds with new statements.
    static func isStaleStatement(_ state: String) -> Bool { state == "26000" || state == "42P05" || state == "0A000" }
}
#endif
