#if PostgreSQL
import PageModel

/// Rows of `ledger`: the fetch records of pages (R26).
enum LedgerRow {
    static let columns = """
        start, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable, \
        http_status, error_message, retry_after_until, lease_token, lease_process, lease_name, lease_until, lease_boot
        """
    static let columnCount = 16

    static let within = SQL(
        "SELECT \(columns) FROM @ledger WHERE query = $1 AND start >= $2 AND start < $3 ORDER BY start")
    /// The records of a list, including those at positions out of bounds.
    static let all = SQL("SELECT \(columns) FROM @ledger WHERE query = $1 ORDER BY start")
    static let ofEveryList = SQL("SELECT \(columns), query FROM @ledger ORDER BY query, start")
    static let due = SQL(
        """
        SELECT \(columns), query FROM @ledger WHERE next_attempt_at IS NOT NULL AND next_attempt_at <= $1
        ORDER BY next_attempt_at, query, start LIMIT $2
        """)
    static let failing = SQL(
        """
        SELECT \(columns) FROM @ledger
        WHERE query = $1 AND state IN ('failed_retryable', 'failed_permanent') ORDER BY start LIMIT $2
        """)
    static let last = SQL("SELECT start FROM @ledger WHERE query = $1 ORDER BY start DESC LIMIT 1")

    /// Decodes a row. Returns nil when a number is out of bounds or the state is unknown; the page then counts as one
    /// without a fetch record (R46).
    /// - Parameter moment: the storage's time, from which the end of the lease is converted to wall time.
    static func entry(_ row: Row, at moment: StorageMoment) -> LedgerEntry? {
        guard StoredBounds.positions.contains(row.int(0)), StoredBounds.counters.contains(row.int(2)),
            StoredBounds.statuses.contains(row.optionalInt(8) ?? 0),
            [3, 4, 5, 10, 14].allSatisfy({ StoredBounds.contains(row.optionalTime($0)) }),
            let state = row.word(1).flatMap({ FetchState(rawValue: $0) })
        else { return nil }
        let failure = row.text(6).map {
            FetchFailure(
                FetchFailure.Class(rawValue: $0), row.text(9) ?? "", isRetryable: row.bool(7),
                httpStatus: row.optionalInt(8))
        }
        return LedgerEntry(
            offset: row.int(0), state: state, attempts: row.int(2), firstFailureAt: row.optionalTime(3),
            lastAttemptAt: row.optionalTime(4), nextAttemptAt: row.optionalTime(5), failure: failure,
            retryAfterUntil: row.optionalTime(10),
            leaseOwner: row.word(12).map { LeaseOwner(row.text(13) ?? "").stored(by: $0) },
            leaseExpiresAt: row.word(15).map { moment.wallTime(of: Uptime(milliseconds: row.int64(14), boot: $0)) },
            leaseToken: row.optionalInt(11).map { LeaseToken(rawValue: Int64($0)) })
    }

    // MARK: Moving and removing

    static let takingOut = SQL(
        "DELETE FROM @ledger WHERE query = $1 AND start >= $2 AND start < $3 AND NOT (start = 0 AND state = 'in_flight')"
    )
    static let deleting = SQL("DELETE FROM @ledger WHERE query = $1 AND start = $2")
    static let dropping = SQL("DELETE FROM @ledger WHERE query = $1 AND start >= $2 AND start < $3")
    private static let isFailing = "query = $1 AND state IN ('failed_retryable', 'failed_permanent')"
    /// The condition that the list has failures.
    static let hasFailures = "EXISTS (SELECT 1 FROM @ledger WHERE \(isFailing))"
    /// Deletes the failures in a range. Few lists have failures, so each range is sent in its own statement.
    static let droppingFailures = RowStatement(
        one: SQL("DELETE FROM @ledger WHERE \(isFailing) AND start >= $2 AND start < $3"))
    static let forgettingSuccess = SQL("DELETE FROM @ledger WHERE query = $1 AND start = $2 AND state = 'ok'")
    /// Makes lost pages due at once, and ends leases on them.
    static let queueing = SQL(
        """
        WITH lost AS (SELECT unnest($2::bigint[]) AS start),
        known AS (
            UPDATE @ledger AS l SET state = 'pending', next_attempt_at = $3, lease_token = NULL, lease_process = NULL,
                lease_name = NULL, lease_until = NULL, lease_boot = NULL
            FROM lost WHERE l.query = $1 AND l.start = lost.start RETURNING l.start
        )
        INSERT INTO @ledger (query, start, state, attempts, next_attempt_at)
        SELECT $1, start, 'pending', 0, $3 FROM lost WHERE start NOT IN (SELECT start FROM known)
        """)

    /// Removes the record that a shift would move onto the record of page one, which stays in place.
    static let yielding = SQL(
        """
        DELETE FROM @ledger WHERE query = $1 AND start = $2 AND start > 0
          AND EXISTS (SELECT 1 FROM @ledger WHERE query = $1 AND start = 0)
        """)
    /// Moves fetch records. A record at a position out of bounds is not moved, because its new position could overflow
    /// `bigint`.
    static let shifting = SQL(
        """
        UPDATE @ledger SET start = start + $4
        WHERE query = $1 AND start >= $2 AND start < $3 AND start <= \(StoredBounds.positions.upperBound)
        """)

    /// Returns the statements that move the fetch records of a stretch with its pages (R4). Leases move with the
    /// records. The record of page one belongs to a request and not to an item, so a shift to higher positions leaves
    /// it in place.
    static func shift(_ move: Rearrangement.Move, in query: QueryID) -> [(SQL, [Value])] {
        guard move.distance != 0 else { return [] }
        var range = move.range
        if move.distance > 0 { range = max(1, range.lowerBound)..<max(1, range.upperBound) }
        guard !range.isEmpty else { return [] }
        let id = Value.integer(query.rawValue)
        var statements: [(SQL, [Value])] = []
        if move.distance < 0, range.contains(-move.distance) {
            statements.append((yielding, [id, .int(-move.distance)]))
        }
        statements.append((shifting, [id, .int(range.lowerBound), .int(range.upperBound), .int(move.distance)]))
        return statements
    }
}
#endif
