#if PostgreSQL
/// Makes the results of requests from the completions that their connections return.
extension Reactor {
    func result(
        of request: Request, _ completion: PipelineMachine.Completion
    ) -> Result<[Rows], PostgresError> {
        switch completion {
        case .rows where request.isUnconfirmed:
            return .failure(
                PostgresError(
                    .standbyMissing,
                    "the server waits for its standby, which has not confirmed the commit; the commit is made"))
        case .rows: return .success(request.rows)
        case .failed: return .failure(request.failure ?? PostgresError(.server, "a statement failed"))
        case .interrupted(.deadline, let isUnknown):
            return .failure(PostgresError(.deadline, "the deadline passed", isOutcomeUnknown: isUnknown))
        case .interrupted(.cancelled, let isUnknown):
            return .failure(PostgresError(.cancelled, "the task was cancelled", isOutcomeUnknown: isUnknown))
        case .unavailable: return .failure(unavailable(request))
        case .unknownOutcome:
            let cause = unavailable(request).message
            return .failure(PostgresError(.unknownOutcome, "the connection was lost during the request: \(cause)"))
        case .protocolViolation:
            return .failure(
                PostgresError(.protocolViolation, "the server broke the protocol", isOutcomeUnknown: true))
        case .closed(let isUnknown):
            return .failure(PostgresError(.closed, "the pool is closed", isOutcomeUnknown: isUnknown))
        }
    }

    private func unavailable(_ request: Request) -> PostgresError {
        let candidates = request.connection.map { [connection($0)] } ?? connections
        guard let error = candidates.compactMap(\.lastError).first else {
            return PostgresError(.unavailable, "no connection could be made in time")
        }
        return PostgresError(.unavailable, error.message, sqlstate: error.sqlstate)
    }
}
#endif
