#if PostgreSQL
import CPostgres

/// An error or a notice of the server, taken from a result of libpq.
struct ServerMessage {
    let error: PostgresError
    /// Whether the server ends the session with the message.
    let isFatal: Bool

    /// Returns nil for a result without a SQLSTATE. Errors of libpq itself have none.
    init?(_ result: OpaquePointer, _ info: ConnectionInfo) {
        guard let state = pagecache_sqlstate(result).map({ String(cString: $0) }) else { return nil }
        let text = pagecache_message(result).map { String(cString: $0) } ?? "no message"
        error = PostgresError(SQLState.code(state), info.redacted(text), sqlstate: state)
        let severity = pagecache_severity(result).map { String(cString: $0) }
        isFatal = severity == "FATAL" || severity == "PANIC"
    }

    /// Whether the server runs nothing after the current statement.
    var isShutdown: Bool { error.sqlstate == SQLState.adminShutdown }

    /// The effect on the pipeline.
    var event: PipelineMachine.ResultEvent {
        if isFatal { return .fatal(isShutdown: isShutdown) }
        if error.sqlstate == SQLState.queryCanceled { return .failed(.queryCanceled) }
        return .failed(error.sqlstate.map(SQLState.isStaleStatement) == true ? .staleStatement : .other)
    }
}
#endif
