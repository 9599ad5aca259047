import PageModel

/// The leases in the rows of `ledger` (R30). The row of a page in flight holds the token, the owner and the end of its
/// lease. The end is an uptime with the id of the boot.
enum LeaseTable {
    private static let holder = SQL(
        "SELECT lease_owner, lease_until, lease_boot FROM ledger WHERE query = ? AND offset = ? AND state = 'in_flight'"
    )

    /// Returns whether the page is in flight under a lease that has not ended and whose owner is alive.
    /// - Parameter isAlive: returns whether the owner with this name is alive.
    static func counts(
        _ offset: Int, of query: QueryID, at moment: StorageMoment, in connection: Connection,
        isAlive: (String) throws(StorageError) -> Bool
    ) throws(StorageError) -> Bool {
        let held = try connection.first(holder, query.rawValue, Int64(offset)) { row throws(StorageError) in
            (owner: row.text(0), end: Uptime(milliseconds: row.int64(1), boot: row.text(2)))
        }
        guard let held, !moment.isOver(held.end) else { return false }
        return try isAlive(held.owner)
    }

    // A forged count of attempts must not overflow. `verify` reports it.
    private static let take = SQL(
        """
        INSERT INTO ledger (query, offset, state, attempts, last_attempt_at, lease_token, lease_owner, lease_until, lease_boot)
        VALUES (?1, ?2, 'in_flight', 1, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT DO UPDATE SET
            attempts = CASE state WHEN 'ok' THEN 1 ELSE min(max(attempts, 0), \(StoredBounds.counters.upperBound - 1)) + 1 END, state = 'in_flight', last_attempt_at = ?3,
            next_attempt_at = CASE WHEN error_retryable THEN ?8 END, lease_token = ?4, lease_owner = ?5, lease_until = ?6,
            lease_boot = ?7
        """)

    /// Puts the page in flight. A retry becomes due again when its lease ends, because the retrying process may crash
    /// (R31).
    static func take(
        _ lease: Lease, of query: QueryID, by owner: String, for duration: Duration, at moment: StorageMoment,
        in connection: Connection
    ) throws(StorageError) {
        let end = moment.uptime + duration
        try connection.run(
            take, .int(query.rawValue), .int(lease.offset), .time(moment.now), .int(lease.token.rawValue), .text(owner),
            .int(end.milliseconds), .text(end.boot), .time((moment.now + duration).stored))
    }

    private static let holds = SQL("SELECT offset FROM ledger WHERE query = ? AND offset = ? AND lease_token = ?")
    // This statement scans the rows of the list. It runs only after a shift or a lost lease.
    private static let search = SQL("SELECT offset FROM ledger WHERE query = ? AND lease_token = ? LIMIT 1")

    /// Returns the offset of a token's row: `offset`, or the offset to which a shift has moved it. Returns `nil` when
    /// the lease was lost.
    static func place(
        of token: LeaseToken, near offset: Int, query: QueryID, in connection: Connection
    ) throws(StorageError) -> Int? {
        if try isHeld(token, at: offset, query: query, in: connection) { return offset }
        return try connection.number(search, .int(query.rawValue), .int(token.rawValue)).map { Int($0) }
    }

    static func isHeld(
        _ token: LeaseToken, at offset: Int, query: QueryID, in connection: Connection
    ) throws(StorageError) -> Bool {
        try connection.number(holds, .int(query.rawValue), .int(offset), .int(token.rawValue)) != nil
    }

    private static let grantTime = SQL(
        "SELECT last_attempt_at FROM ledger WHERE query = ? AND offset = ? AND lease_token = ?")

    /// Returns the time at which the lease on page one was granted, or `nil` when it was lost.
    static func grantTime(of token: LeaseToken, query: QueryID, in connection: Connection) throws(StorageError)
        -> Timestamp?
    {
        guard let offset = try place(of: token, near: 0, query: query, in: connection) else { return nil }
        return try connection.number(grantTime, .int(query.rawValue), .int(offset), .int(token.rawValue)).map {
            Timestamp(milliseconds: $0)
        }
    }

    private static let renew = SQL(
        """
        UPDATE ledger SET
            lease_until = ?4, lease_boot = ?5, next_attempt_at = CASE WHEN next_attempt_at IS NOT NULL THEN ?6 END
        WHERE query = ?1 AND offset = ?2 AND lease_token = ?3
        """)

    /// Renews a lease.
    /// - Returns: the offset of its row now, or `nil` when the lease was lost.
    static func renew(
        _ lease: Lease, of query: QueryID, for duration: Duration, at moment: StorageMoment, in connection: Connection
    ) throws(StorageError) -> Int? {
        guard let offset = try place(of: lease.token, near: lease.offset, query: query, in: connection) else {
            return nil
        }
        let end = moment.uptime + duration
        try connection.run(
            renew, .int(query.rawValue), .int(offset), .int(lease.token.rawValue), .int(end.milliseconds),
            .text(end.boot),
            .time((moment.now + duration).stored))
        return offset
    }
}
