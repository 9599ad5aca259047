import PageModel

/// Rows of `ledger`: the fetch record of every page that was ever attempted (R26).
enum LedgerTable {
    // MARK: Reading

    private static let columns = """
        offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable, \
        http_status, error_message, retry_after_until, lease_owner, lease_expires_at
        """
    private static let within = SQL(
        "SELECT \(columns) FROM ledger WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset")
    // In the order of the partial index, so that what is not due is never looked at.
    private static let dueBefore = SQL(
        """
        SELECT \(columns), query FROM ledger INDEXED BY ledger_due
        WHERE next_attempt_at IS NOT NULL AND next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?
        """)

    static func entries(
        of query: QueryID, in connection: Connection, _ range: Range<Int> = 0..<Int.max
    ) throws(StorageError) -> [LedgerEntry] {
        try rows(of: query, in: connection, range).finish().values.compactMap { $0 }
    }

    /// Whether rows of the list's ledger cannot be read, or do not ascend.
    static func isTreeDamaged(of query: QueryID, in connection: Connection) throws(StorageError) -> Bool {
        try rows(of: query, in: connection, 0..<Int.max).isTreeDamaged
    }

    /// `nil` stands for a row that `entry(_:)` does not believe.
    private static func rows(
        of query: QueryID, in connection: Connection, _ range: Range<Int>
    ) throws(StorageError) -> KeyedRows<LedgerEntry?> {
        var rows = KeyedRows<LedgerEntry?>()
        do throws(StorageError) {
            try connection.each(
                within, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound)
            ) { row throws(StorageError) in rows.add(row.int64(0), .some(entry(row))) }
            return rows
        } catch {
            guard error.isUnreadableRow else { throw error }
        }
        func scan(_ sql: SQL) -> KeyedRows<LedgerEntry?>.Scan {
            { (range, visit) throws(StorageError) in
                try connection.each(sql, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound)) { row throws(StorageError) in
                    visit(row.int64(0), .some(entry(row)))
                }
            }
        }
        rows = KeyedRows()
        let readable = Int64(max(range.lowerBound, 0))..<Int64(min(range.upperBound, Total.largest + 1))
        if !readable.isEmpty { try rows.read(readable, ascending: scan(within), descending: scan(withinDescending)) }
        return rows
    }

    private static let withinDescending = SQL(
        "SELECT \(columns) FROM ledger WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset DESC")

    static func due(
        before moment: Timestamp, limit: Int, in connection: Connection
    ) throws(StorageError) -> [DueFetch] {
        do throws(StorageError) {
            var due: [DueFetch] = []
            try connection.each(dueBefore, .time(moment), .int(limit)) { row throws(StorageError) in
                if let entry = entry(row) { due.append(DueFetch(query: QueryID(rawValue: row.int64(13)), entry: entry)) }
            }
            return due
        } catch {
            guard error.isUnreadableRow else { throw error }
        }
        // The index is damaged: the entries of all lists are read instead.
        var due: [(at: Timestamp, fetch: DueFetch)] = []
        for query in try QueryTable.ids(in: connection) {
            for entry in try entries(of: query, in: connection) {
                if let next = entry.nextAttemptAt, next <= moment { due.append((next, DueFetch(query: query, entry: entry))) }
            }
        }
        return due.sorted { $0.at < $1.at }.prefix(max(0, limit)).map(\.fetch)
    }

    /// The offsets that stand in rows which say impossible things.
    static func impossible(of query: QueryID, in connection: Connection) throws(StorageError) -> [Int] {
        var offsets: [Int] = []
        do throws(StorageError) {
            try connection.each(everyOne, .int(query.rawValue)) { row throws(StorageError) in
                if entry(row) == nil { offsets.append(row.int(0)) }
            }
        } catch {
            // The rows that cannot be read are another finding.
            guard error.isUnreadableRow else { throw error }
        }
        return offsets
    }

    private static let everyOne = SQL("SELECT \(columns) FROM ledger WHERE query = ? ORDER BY offset")

    /// Returns nil when a number is outside `StoredBounds`: then nothing is known of that page's fetching (R46).
    private static func entry(_ row: borrowing Row) -> LedgerEntry? {
        guard StoredBounds.positions.contains(row.int(0)), StoredBounds.counters.contains(row.int(2)),
            StoredBounds.flags.contains(row.optionalInt(7) ?? 0), StoredBounds.statuses.contains(row.optionalInt(8) ?? 0),
            [3, 4, 5, 10, 12].allSatisfy({ StoredBounds.contains(row.optionalTime($0)) }),
            let state = FetchState(rawValue: row.text(1))
        else { return nil }
        let failure = row.optionalText(6).map {
            FetchFailure(
                FetchFailure.Class(rawValue: $0), row.optionalText(9) ?? "", isRetryable: row.bool(7),
                httpStatus: row.optionalInt(8))
        }
        return LedgerEntry(
            offset: row.int(0), state: state, attempts: row.int(2), firstFailureAt: row.optionalTime(3),
            lastAttemptAt: row.optionalTime(4), nextAttemptAt: row.optionalTime(5), failure: failure,
            retryAfterUntil: row.optionalTime(10), leaseOwner: row.optionalText(11), leaseExpiresAt: row.optionalTime(12))
    }

    // MARK: Writing

    private static let succeed = SQL(
        """
        INSERT INTO ledger (query, offset, state, attempts, last_attempt_at) VALUES (?1, ?2, 'ok', 1, ?3)
        ON CONFLICT DO UPDATE SET
            state = 'ok', first_failure_at = NULL, next_attempt_at = NULL, error_class = NULL, error_retryable = NULL,
            http_status = NULL, error_message = NULL, retry_after_until = NULL, lease_owner = NULL, lease_expires_at = NULL
        """)
    private static let fail = SQL(
        """
        INSERT INTO ledger (query, offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at,
                            error_class, error_retryable, http_status, error_message, retry_after_until)
        VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        ON CONFLICT DO UPDATE SET
            state = ?3, first_failure_at = coalesce(first_failure_at, ?4), next_attempt_at = ?5, error_class = ?6,
            error_retryable = ?7, http_status = ?8, error_message = ?9, retry_after_until = ?10, lease_owner = NULL,
            lease_expires_at = NULL
        """)
    private static let release = SQL(
        """
        UPDATE ledger SET
            state = 'pending', attempts = max(attempts - 1, 0), next_attempt_at = CASE WHEN error_retryable THEN ?3 END,
            lease_owner = NULL, lease_expires_at = NULL
        WHERE query = ?1 AND offset = ?2 AND state = 'in_flight'
        """)
    private static let renew = SQL(
        """
        UPDATE ledger SET
            lease_expires_at = ?3, next_attempt_at = CASE WHEN next_attempt_at IS NOT NULL THEN ?3 END
        WHERE query = ?1 AND offset = ?2 AND state = 'in_flight'
        """)
    private static let hasten = SQL(
        """
        UPDATE ledger SET next_attempt_at = ?3, retry_after_until = NULL
        WHERE query = ?1 AND offset = ?2 AND state IN ('failed_retryable', 'failed_permanent')
        """)
    private static let forget = SQL("DELETE FROM ledger WHERE query = ? AND offset = ?")
    private static let forgetSuccess = SQL("DELETE FROM ledger WHERE query = ? AND offset = ? AND state = 'ok'")
    private static let queue = SQL(
        """
        INSERT INTO ledger (query, offset, state, attempts, next_attempt_at) VALUES (?1, ?2, 'pending', 0, ?3)
        ON CONFLICT DO UPDATE SET state = 'pending', next_attempt_at = ?3, lease_owner = NULL, lease_expires_at = NULL
        """)

    /// - Returns: the offsets that others should hear of, in order, each once.
    @discardableResult
    static func apply(
        _ edits: [LedgerEdit], query: QueryID, at now: Timestamp, in connection: Connection
    ) throws(StorageError) -> [Int] {
        var offsets: [Int] = []
        for edit in edits {
            guard let offset = try apply(edit, query: query, at: now, in: connection) else { continue }
            if !offsets.contains(offset) { offsets.append(offset) }
        }
        return offsets
    }

    private static func apply(
        _ edit: LedgerEdit, query: QueryID, at now: Timestamp, in connection: Connection
    ) throws(StorageError) -> Int? {
        let key = SQLValue.int(query.rawValue)
        switch edit {
        case .succeeded(let offset):
            try check(offset)
            try connection.run(succeed, key, .int(offset), .time(now))
            return offset
        case .failed(let offset, let failure, let nextAttemptAt):
            try check(offset)
            let state: FetchState = failure.isRetryable ? .failedRetryable : .failedPermanent
            try connection.run(
                fail, key, .int(offset), .text(state.rawValue), .time(now), .time(nextAttemptAt?.stored),
                .text(failure.failureClass.rawValue), .bool(failure.isRetryable), .optional(failure.httpStatus.map { min(max($0, 0), StoredBounds.statuses.upperBound) }),
                .text(failure.message), .time(failure.retryAfter.map { (now + $0).stored }))
            return offset
        case .released(let offset):
            try connection.run(release, key, .int(offset), .time(now))
            return offset
        case .renewed(let offset, let expiry):
            try connection.run(renew, key, .int(offset), .time(expiry))
            return nil
        case .hastened(let offset):
            try connection.run(hasten, key, .int(offset), .time(now))
            return offset
        case .forgotten(let offset):
            try connection.run(forget, key, .int(offset))
            return offset
        }
    }

    /// Makes a page that was lost due at once.
    static func queue(_ offset: Int, query: QueryID, at now: Timestamp, in connection: Connection) throws(StorageError) {
        try connection.run(queue, .int(query.rawValue), .int(offset), .time(now))
    }

    /// The page at `offset` became part of another one; that it once arrived on its own says nothing any more.
    static func forgetSuccess(at offset: Int, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(forgetSuccess, .int(query.rawValue), .int(offset))
    }

    private static func check(_ offset: Int) throws(StorageError) {
        guard offset >= 0, offset <= Total.largest else {
            throw StorageError(.invalidPlan, "no page can lie at offset \(offset)")
        }
    }

    // MARK: Leases

    private static let holder = SQL(
        "SELECT lease_owner, lease_expires_at FROM ledger WHERE query = ? AND offset = ? AND state = 'in_flight'")
    private static let take = SQL(
        """
        INSERT INTO ledger (query, offset, state, attempts, last_attempt_at, lease_owner, lease_expires_at)
        VALUES (?1, ?2, 'in_flight', 1, ?3, ?4, ?5)
        ON CONFLICT DO UPDATE SET
            attempts = CASE state WHEN 'ok' THEN 1 ELSE attempts + 1 END, state = 'in_flight', last_attempt_at = ?3,
            next_attempt_at = CASE WHEN error_retryable THEN ?5 END, lease_owner = ?4, lease_expires_at = ?5
        """)

    /// Puts the page in flight under a lease, unless somebody who lives has it in flight (R30). A retry is due again when its
    /// lease ends: whoever tries may die of it (R31).
    static func claim(
        _ offset: Int, query: QueryID, until expiry: Timestamp, at now: Timestamp, owner: OwnerLock,
        in connection: Connection
    ) throws(StorageError) -> Bool {
        try check(offset)
        let held = try connection.first(holder, query.rawValue, Int64(offset)) { row throws(StorageError) in
            (owner: row.text(0), expiry: row.time(1))
        }
        if let held, held.expiry > now, owner.isAlive(held.owner) {
            // A lease that ends much later than one taken now would was taken by a clock that is not ours (R29).
            if held.expiry - now <= (expiry - now) * 2 { return false }
        }
        try connection.run(take, .int(query.rawValue), .int(offset), .time(now), .text(owner.name), .time(expiry))
        return true
    }

    // MARK: Moving and removing

    private static let takeAlong = SQL(
        """
        INSERT INTO temp.moving_ledger SELECT
            query, offset + ?4, CASE state WHEN 'in_flight' THEN 'pending' ELSE state END, attempts, first_failure_at,
            last_attempt_at, next_attempt_at, error_class, error_retryable, http_status, error_message, retry_after_until,
            NULL, NULL
        FROM ledger WHERE query = ?1 AND offset >= ?2 AND offset < ?3 AND offset <= 9007199254740992 AND (state <> 'in_flight' OR error_class IS NOT NULL)
        """)

    /// Moves the records of a stretch along with its pages (R4).
    ///
    /// What was asked for at the old positions is answered for them: leases do not move, and of a page that was only in flight
    /// nothing is left to say. The record of page one is that of a request, not of an item, and stays where it is.
    static func shift(_ move: Rearrangement.Move, query: QueryID, in connection: Connection) throws(StorageError) {
        var move = move
        if move.distance > 0 { move.range = max(1, move.range.lowerBound)..<max(1, move.range.upperBound) }
        try Shift.ledger.run(move, of: query, in: connection) { range throws(StorageError) in
            try connection.run(
                takeAlong, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound), .int(move.distance))
        }
    }

    private static let dropFailed = SQL(
        """
        DELETE FROM ledger
        WHERE query = ? AND offset >= ? AND offset < ? AND state IN ('failed_retryable', 'failed_permanent')
        """)
    private static let dropAll = SQL("DELETE FROM ledger WHERE query = ? AND offset >= ? AND offset < ?")

    /// Forgets failures at positions that have been fetched after all, perhaps as part of another page.
    static func dropFailures(in range: Range<Int>, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(dropFailed, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound))
    }

    /// Removes the record at an offset, whatever it says.
    static func delete(at offset: Int, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(forget, .int(query.rawValue), .int(offset))
    }

    static func drop(_ range: Range<Int>, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(dropAll, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound))
    }
}
