import PageModel

/// Rows of `ledger`: the fetch record of every page that was ever attempted (R26).
enum LedgerTable {
    static func entries(
        of query: QueryID, in connection: Connection, _ range: Range<Int> = 0..<Int.max
    ) throws(StorageError) -> [LedgerEntry] {
        var entries: [LedgerEntry] = []
        try connection.each(
            """
            SELECT offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class,
                   error_retryable, http_status, error_message, retry_after_until, lease_owner, lease_expires_at
            FROM ledger WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset
            """, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound)
        ) { row throws(StorageError) in
            guard row.int(0) <= Total.largest, row.int(2) >= 0, row.int(2) < Int.max else {
                throw StorageError(.damaged, "a ledger record has impossible numbers")
            }
            let failure = row.optionalText(6).map {
                FetchFailure(
                    FetchFailure.Class(rawValue: $0), row.optionalText(9) ?? "", isRetryable: row.bool(7),
                    httpStatus: row.optionalInt(8))
            }
            entries.append(
                LedgerEntry(
                    offset: row.int(0),
                    // The column is checked by the schema.
                    state: FetchState(rawValue: row.text(1)) ?? .pending,
                    attempts: row.int(2),
                    firstFailureAt: row.optionalTime(3),
                    lastAttemptAt: row.optionalTime(4),
                    nextAttemptAt: row.optionalTime(5),
                    failure: failure,
                    retryAfterUntil: row.optionalTime(10),
                    leaseOwner: row.optionalText(11),
                    leaseExpiresAt: row.optionalTime(12)))
        }
        return entries
    }

    static func apply(
        _ edits: [LedgerEdit], query: QueryID, at now: Timestamp, in connection: Connection
    ) throws(StorageError) {
        for edit in edits { try apply(edit, query: query, at: now, in: connection) }
    }

    private static func apply(
        _ edit: LedgerEdit, query: QueryID, at now: Timestamp, in connection: Connection
    ) throws(StorageError) {
        switch edit {
        case .succeeded(let offset):
            try connection.run(
                """
                INSERT INTO ledger (query, offset, state, attempts, last_attempt_at) VALUES (?1, ?2, 'ok', 1, ?3)
                ON CONFLICT DO UPDATE SET
                    state = 'ok', first_failure_at = NULL, next_attempt_at = NULL, error_class = NULL,
                    error_retryable = NULL, http_status = NULL, error_message = NULL, retry_after_until = NULL,
                    lease_owner = NULL, lease_expires_at = NULL
                """, .int(query.rawValue), .int(offset), .time(now))
        case .failed(let offset, let failure, let nextAttemptAt):
            try connection.run(
                """
                INSERT INTO ledger (query, offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at,
                                    error_class, error_retryable, http_status, error_message, retry_after_until)
                VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
                ON CONFLICT DO UPDATE SET
                    state = ?3, first_failure_at = coalesce(first_failure_at, ?4), next_attempt_at = ?5,
                    error_class = ?6, error_retryable = ?7, http_status = ?8, error_message = ?9,
                    retry_after_until = ?10, lease_owner = NULL, lease_expires_at = NULL
                """,
                .int(query.rawValue), .int(offset),
                .text((failure.isRetryable ? FetchState.failedRetryable : .failedPermanent).rawValue), .time(now),
                .time(nextAttemptAt), .text(failure.failureClass.rawValue), .bool(failure.isRetryable),
                .optional(failure.httpStatus), .text(failure.message), .time(failure.retryAfter.map { now + $0 }))
        case .released(let offset):
            try connection.run(
                """
                UPDATE ledger SET state = 'pending', lease_owner = NULL, lease_expires_at = NULL
                WHERE query = ? AND offset = ? AND state = 'in_flight'
                """, .int(query.rawValue), .int(offset))
        case .forgotten(let offset):
            try connection.run(
                "DELETE FROM ledger WHERE query = ? AND offset = ?", .int(query.rawValue), .int(offset))
        }
    }

    /// Puts the page in flight under a lease, unless somebody who lives has it in flight (R30).
    static func claim(
        _ offset: Int, query: QueryID, until expiry: Timestamp, at now: Timestamp, owner: OwnerLock,
        in connection: Connection
    ) throws(StorageError) -> Bool {
        let held = try connection.first(
            "SELECT lease_owner, lease_expires_at FROM ledger WHERE query = ? AND offset = ? AND state = 'in_flight'",
            .int(query.rawValue), .int(offset)
        ) { row throws(StorageError) in (owner: row.text(0), expiry: row.time(1)) }
        if let held, held.expiry > now, owner.isAlive(held.owner) {
            // A lease that ends much later than one taken now would was taken by a clock that is not ours (R29).
            if held.expiry - now <= (expiry - now) * 2 { return false }
        }
        try connection.run(
            """
            INSERT INTO ledger (query, offset, state, attempts, last_attempt_at, lease_owner, lease_expires_at)
            VALUES (?1, ?2, 'in_flight', 1, ?3, ?4, ?5)
            ON CONFLICT DO UPDATE SET
                attempts = CASE state WHEN 'ok' THEN 1 ELSE attempts + 1 END,
                state = 'in_flight', last_attempt_at = ?3, next_attempt_at = NULL,
                lease_owner = ?4, lease_expires_at = ?5
            """, .int(query.rawValue), .int(offset), .time(now), .text(owner.name), .time(expiry))
        return true
    }

    /// Moves the rows at and behind `position` along with their pages (R4).
    static func shift(
        from position: Int, by distance: Int, query: QueryID, in connection: Connection
    ) throws(StorageError) {
        try Shift.rows(of: "ledger", from: position, by: distance, query: query, in: connection)
    }

    /// Forgets failures at positions that have been fetched after all, perhaps as part of another page.
    static func dropFailures(in range: Range<Int>, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(
            """
            DELETE FROM ledger
            WHERE query = ? AND offset >= ? AND offset < ? AND state IN ('failed_retryable', 'failed_permanent')
            """, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound))
    }

    static func drop(_ range: Range<Int>, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(
            "DELETE FROM ledger WHERE query = ? AND offset >= ? AND offset < ?", .int(query.rawValue),
            .int(range.lowerBound), .int(range.upperBound))
    }
}

/// Moving rows whose offset is part of their primary key.
enum Shift {
    /// Where rows wait while they move: beyond every position that can exist (R44), so that no two rows ever meet.
    private static let parking = 1 << 60

    static func rows(
        of table: StaticString, from position: Int, by distance: Int, query: QueryID, in connection: Connection
    ) throws(StorageError) {
        guard distance != 0 else { return }
        // SQLite checks uniqueness row by row: moved in place, a row would meet its not yet moved neighbour.
        try connection.run(
            "UPDATE \(table) SET offset = offset + ? WHERE query = ? AND offset >= ?", .int(parking + distance),
            .int(query.rawValue), .int(position))
        try connection.run(
            "UPDATE \(table) SET offset = offset - ? WHERE query = ? AND offset >= ?", .int(parking),
            .int(query.rawValue), .int(parking + position + distance))
    }
}
