#if PostgreSQL
import PageModel

/// The statements of the ledger's edits (R26, R30). The conditions on leases are part of the statements, so that no
/// edit needs a read before it.
struct LedgerStatements {
    private static let noLease =
        "lease_token = NULL, lease_process = NULL, lease_name = NULL, lease_until = NULL, lease_boot = NULL"

    /// Returns the condition that the row `l` has a lease that counts: the lease has not ended, and its owner is alive.
    static func counts(uptime: String, boot: String) -> String {
        """
        (l.lease_token IS NOT NULL AND l.lease_boot = \(boot) AND l.lease_until > \(uptime) AND EXISTS (
            SELECT 1 FROM @owner AS o WHERE o.name = l.lease_process AND o.alive_until > clock_timestamp()))
        """
    }

    /// Changes the records that hold the given tokens, wherever a shift has moved them. Returns the token and the
    /// offset of each such record, including a record that the condition excludes from the change.
    private let byToken: RowStatement
    /// Changes the record at an offset, unless its page has a lease that counts and whose token is not permitted.
    /// Returns the offset. Returns no row if a lease prevents the edit.
    private let byPlace: SQL

    /// - Parameters:
    ///   - change: the statement that changes the row `l`, up to its WHERE.
    ///   - values: the number of parameters of `change`, which begin with $2. Defaults to 0.
    ///   - condition: a further condition for the change. Defaults to none.
    ///   - insertion: the columns and the values of a row that is missing at a place. Defaults to none.
    private init(
        _ change: String, values: Int = 0, where condition: String? = nil, insertion: (String, String)? = nil
    ) {
        let (place, token) = ("$\(values + 2)", "$\(values + 3)")
        let further = condition.map { " AND \($0)" } ?? ""
        func changing(_ isMeant: String) -> SQL {
            SQL(
                """
                WITH changed AS (\(change) WHERE \(isMeant)\(further))
                SELECT l.lease_token, l.start FROM @ledger AS l WHERE \(isMeant)
                """)
        }
        let isOfToken = "l.query = $1 AND l.lease_token = \(place)"
        byToken = RowStatement(
            // Without a further condition, every row with the token changes.
            one: condition == nil
                ? SQL("\(change) WHERE \(isOfToken) RETURNING \(place)::bigint, l.start") : changing(isOfToken),
            // The server may have planned the statement while the table was new. The sum `l.query + 0` and the bounds
            // of the tokens keep such a plan from reading all records.
            several: changing(
                """
                l.query + 0 = $1 AND l.lease_token = ANY(\(place)::bigint[])
                    AND l.lease_token >= (SELECT min(t) FROM unnest(\(place)::bigint[]) AS t)
                    AND l.lease_token <= (SELECT max(t) FROM unnest(\(place)::bigint[]) AS t)
                """))
        let counts = LedgerStatements.counts(uptime: "$\(values + 4)", boot: "$\(values + 5)")
        let isOpen = "(coalesce(l.lease_token = \(token), false) OR NOT \(counts))"
        let inserted =
            insertion.map {
                """
                , inserted AS (
                    INSERT INTO @ledger (query, start, \($0.0)) SELECT $1, \(place), \($0.1)
                    WHERE NOT EXISTS (SELECT 1 FROM @ledger WHERE query = $1 AND start = \(place))
                )
                """
            } ?? ""
        byPlace = SQL(
            """
            WITH changed AS (\(change) WHERE l.query = $1 AND l.start = \(place) AND \(isOpen)\(further))\(inserted)
            SELECT \(place)::bigint WHERE NOT EXISTS (
                SELECT 1 FROM @ledger AS l WHERE l.query = $1 AND l.start = \(place) AND NOT \(isOpen))
            """)
    }

    private static let succeed = LedgerStatements(
        """
        UPDATE @ledger AS l SET state = 'ok', first_failure_at = NULL, next_attempt_at = NULL, error_class = NULL,
            error_retryable = NULL, http_status = NULL, error_message = NULL, retry_after_until = NULL, \(noLease)
        """, values: 1, insertion: ("state, attempts, last_attempt_at", "'ok', 1, $2"))
    private static let fail = LedgerStatements(
        """
        UPDATE @ledger AS l SET state = $3, first_failure_at = coalesce(first_failure_at, $2), next_attempt_at = $4,
            error_class = $5, error_retryable = $6, http_status = $7, error_message = $8, retry_after_until = $9, \(noLease)
        """, values: 8,
        insertion: (
            """
            state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable,
            http_status, error_message, retry_after_until
            """, "$3, 1, $2, $2, $4, $5, $6, $7, $8, $9"
        ))
    private static let release = LedgerStatements(
        """
        UPDATE @ledger AS l SET state = 'pending', attempts = greatest(attempts, 1) - 1,
            next_attempt_at = CASE WHEN error_retryable THEN $2::bigint END, \(noLease)
        """, values: 1, where: "l.state = 'in_flight'")
    private static let forget = LedgerStatements("DELETE FROM @ledger AS l")
    private static let expedite = SQL(
        """
        WITH changed AS (
            UPDATE @ledger SET next_attempt_at = $3, retry_after_until = NULL
            WHERE query = $1 AND start = $2 AND state IN ('failed_retryable', 'failed_permanent')
        ) SELECT $2::bigint
        """)
    /// Removes the row that holds a token, if it is at another offset than that of the edit.
    static let removingMoved = SQL("DELETE FROM @ledger WHERE query = $1 AND lease_token = $2 AND start <> $3")

    /// Returns the statements of an edit, and the values of the parameters of its change. Returns nil for `expedited`.
    private static func change(_ edit: LedgerEdit, at now: Timestamp) -> (LedgerStatements, [Value])? {
        switch edit {
        case .expedited: return nil
        case .succeeded: return (succeed, [.time(now)])
        case .released: return (release, [.time(now)])
        case .deleted: return (forget, [])
        case .failed(_, let failure, let pause, _):
            let state: FetchState = failure.isRetryable ? .failedRetryable : .failedPermanent
            return (
                fail,
                [
                    .time(now), .text(state.rawValue), .time(pause.map { (now + $0).stored }),
                    .string(failure.failureClass.rawValue), .bool(failure.isRetryable),
                    .int(failure.httpStatus.map { min(max($0, 0), StoredBounds.statuses.upperBound) }),
                    .string(failure.message), .time(failure.retryAfter.map { (now + $0).stored }),
                ]
            )
        }
    }

    /// Returns the statement that applies an edit to the row of its token, with the values that its rows share. Returns
    /// nil for an edit without a token.
    static func ofToken(
        _ edit: LedgerEdit, of query: QueryID, at now: Timestamp
    ) -> (statement: RowStatement, shared: [Value])? {
        guard edit.lease != nil, let (statements, values) = change(edit, at: now) else { return nil }
        return (statements.byToken, [.integer(query.rawValue)] + values)
    }

    /// Returns the statement that applies an edit at its offset.
    /// - Parameter permitted: the token of a lease that does not prevent the edit. `nil` means that each lease that
    ///   counts prevents it.
    static func ofPlace(
        _ edit: LedgerEdit, permitted: LeaseToken?, of query: QueryID, at moment: StorageMoment
    ) -> WriteBatch.Request {
        let id = Value.integer(query.rawValue)
        guard let (statements, values) = change(edit, at: moment.now) else {
            return (expedite, [id, .int(edit.offset), .time(moment.now)])
        }
        let place: [Value] = [
            .int(edit.offset), permitted.map { .integer($0.rawValue) } ?? .null,
            .integer(moment.uptime.milliseconds), .text(moment.uptime.boot),
        ]
        return (statements.byPlace, [id] + values + place)
    }
}
#endif
