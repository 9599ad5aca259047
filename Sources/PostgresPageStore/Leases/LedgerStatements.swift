#if PostgreSQL
import PageModel

/// The statements of the ledger's edits (R26, R30). The conditions on leases are part of the statements, so that no
/// edit needs a read before it.
///
/// Each statement returns the offset at which the edit applied, and no row where it applied to none.
struct LedgerStatements {
    /// Where an edit applies.
    enum Target {
        /// The row of a token, wherever a shift has moved it.
        case token(LeaseToken)
        /// An offset, unless the page is in flight under a lease that counts. `permitted` names a lease that permits it.
        case place(Int, permitted: LeaseToken?)
    }

    private static let noLease =
        "lease_token = NULL, lease_process = NULL, lease_name = NULL, lease_until = NULL, lease_boot = NULL"

    /// Whether the row `l` is in flight under a lease that has not ended and whose owner is alive.
    static func counts(uptime: String, boot: String) -> String {
        """
        (l.lease_token IS NOT NULL AND l.lease_boot = \(boot) AND l.lease_until > \(uptime) AND EXISTS (
            SELECT 1 FROM @owner AS o WHERE o.name = l.lease_process AND o.alive_until > clock_timestamp()))
        """
    }

    private let byToken: SQL
    private let byPlace: SQL

    /// - Parameters:
    ///   - change: the statement that changes the row `l`, up to its WHERE. Its own parameters begin with $6.
    ///   - condition: a further condition for the change. Defaults to none.
    ///   - insertion: the columns and the values of a row that is missing at a place. Defaults to none.
    private init(_ change: String, where condition: String = "true", insertion: (String, String)? = nil) {
        let ofToken =
            "l.query = $1 AND l.lease_token = $3 AND $2::bigint IS NULL AND $4::bigint IS NOT NULL AND $5::text IS NOT NULL"
        byToken = SQL(
            """
            WITH changed AS (\(change) WHERE \(ofToken) AND \(condition))
            SELECT l.start FROM @ledger AS l WHERE \(ofToken)
            """)
        let isOpen =
            "(coalesce(l.lease_token = $3, false) OR NOT \(LedgerStatements.counts(uptime: "$4", boot: "$5")))"
        let inserted =
            insertion.map {
                """
                , inserted AS (
                    INSERT INTO @ledger (query, start, \($0.0)) SELECT $1, $2, \($0.1)
                    WHERE NOT EXISTS (SELECT 1 FROM @ledger WHERE query = $1 AND start = $2)
                )
                """
            } ?? ""
        byPlace = SQL(
            """
            WITH changed AS (\(change) WHERE l.query = $1 AND l.start = $2 AND \(isOpen) AND \(condition))\(inserted)
            SELECT $2::bigint WHERE NOT EXISTS (
                SELECT 1 FROM @ledger AS l WHERE l.query = $1 AND l.start = $2 AND NOT \(isOpen))
            """)
    }

    private static let succeed = LedgerStatements(
        """
        UPDATE @ledger AS l SET state = 'ok', first_failure_at = NULL, next_attempt_at = NULL, error_class = NULL,
            error_retryable = NULL, http_status = NULL, error_message = NULL, retry_after_until = NULL, \(noLease)
        """, where: "$6::bigint IS NOT NULL", insertion: ("state, attempts, last_attempt_at", "'ok', 1, $6"))
    private static let fail = LedgerStatements(
        """
        UPDATE @ledger AS l SET state = $7, first_failure_at = coalesce(first_failure_at, $6), next_attempt_at = $8,
            error_class = $9, error_retryable = $10, http_status = $11, error_message = $12, retry_after_until = $13, \(noLease)
        """,
        insertion: (
            """
            state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable,
            http_status, error_message, retry_after_until
            """, "$7, 1, $6, $6, $8, $9, $10, $11, $12, $13"
        ))
    private static let release = LedgerStatements(
        """
        UPDATE @ledger AS l SET state = 'pending', attempts = greatest(attempts - 1, 0),
            next_attempt_at = CASE WHEN error_retryable THEN $6::bigint END, \(noLease)
        """, where: "l.state = 'in_flight'")
    private static let forget = LedgerStatements("DELETE FROM @ledger AS l", where: "$6::bigint IS NOT NULL")
    private static let expedite = SQL(
        """
        WITH changed AS (
            UPDATE @ledger SET next_attempt_at = $3, retry_after_until = NULL
            WHERE query = $1 AND start = $2 AND state IN ('failed_retryable', 'failed_permanent')
        ) SELECT $2::bigint
        """)
    /// Removes the row of a token at another offset than the edit's.
    static let removingMoved = SQL("DELETE FROM @ledger WHERE query = $1 AND lease_token = $2 AND start <> $3")

    static func statement(
        _ edit: LedgerEdit, at target: Target, of query: QueryID, at moment: StorageMoment
    ) -> WriteBatch.Request {
        let id = Value.integer(query.rawValue)
        let now = moment.now
        let statements: LedgerStatements
        var values: [Value]
        switch edit {
        case .expedited(let offset): return (expedite, [id, .int(offset), .time(now)])
        case .succeeded: (statements, values) = (succeed, [.time(now)])
        case .released: (statements, values) = (release, [.time(now)])
        case .deleted: (statements, values) = (forget, [.time(now)])
        case .failed(_, let failure, let pause, _):
            let state: FetchState = failure.isRetryable ? .failedRetryable : .failedPermanent
            statements = fail
            values = [
                .time(now), .text(state.rawValue), .time(pause.map { (now + $0).stored }),
                .string(failure.failureClass.rawValue), .bool(failure.isRetryable),
                .int(failure.httpStatus.map { min(max($0, 0), StoredBounds.statuses.upperBound) }),
                .string(failure.message), .time(failure.retryAfter.map { (now + $0).stored }),
            ]
        }
        let clock: [Value] = [.integer(moment.uptime.milliseconds), .text(moment.uptime.boot)]
        switch target {
        case .token(let token):
            return (statements.byToken, [id, .null, .integer(token.rawValue)] + clock + values)
        case .place(let offset, let permitted):
            let token = permitted.map { Value.integer($0.rawValue) } ?? .null
            return (statements.byPlace, [id, .int(offset), token] + clock + values)
        }
    }
}
#endif
