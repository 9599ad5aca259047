import PageModel

/// Rows of `ledger`: the fetch records of pages (R26).
enum LedgerTable {
    // MARK: Reading

    private static let columns = """
        offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable, \
        http_status, error_message, retry_after_until, lease_token, lease_owner, lease_until, lease_boot
        """
    private static let within = SQL(
        "SELECT \(columns) FROM ledger WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset")
    // The partial index gives the order, so the statement reads only rows that are due.
    private static let dueBefore = SQL(
        """
        SELECT \(columns), query FROM ledger INDEXED BY ledger_due
        WHERE next_attempt_at IS NOT NULL AND next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?
        """)

    static func entries(
        of query: QueryID, in connection: Connection, _ range: Range<Int> = 0..<Int.max, at moment: StorageMoment?
    ) throws(StorageError) -> [LedgerEntry] {
        try rows(of: query, in: connection, range, at: moment).finish().values.compactMap { $0 }
    }

    /// Returns whether rows of the list's ledger cannot be read, or do not ascend.
    static func isTreeDamaged(of query: QueryID, in connection: Connection) throws(StorageError) -> Bool {
        try rows(of: query, in: connection, 0..<Int.max, at: nil).isTreeDamaged
    }

    /// Reads the rows of a range. A value of `nil` stands for a row that `entry(_:at:)` rejects.
    private static func rows(
        of query: QueryID, in connection: Connection, _ range: Range<Int>, at moment: StorageMoment?
    ) throws(StorageError) -> KeyedRows<LedgerEntry?> {
        var rows = KeyedRows<LedgerEntry?>()
        do throws(StorageError) {
            try connection.each(
                within, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound)
            ) { row throws(StorageError) in rows.add(row.int64(0), .some(entry(row, at: moment))) }
            return rows
        } catch {
            guard error.isUnreadableRow else { throw error }
        }
        func scan(_ sql: SQL) -> KeyedRows<LedgerEntry?>.Scan {
            { (range, visit) throws(StorageError) in
                try connection.each(sql, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound)) {
                    row throws(StorageError) in
                    visit(row.int64(0), .some(entry(row, at: moment)))
                }
            }
        }
        rows = KeyedRows()
        let readable = Int64(max(range.lowerBound, 0))..<Int64(min(range.upperBound, ListTotal.largest + 1))
        if !readable.isEmpty { try rows.read(readable, ascending: scan(within), descending: scan(withinDescending)) }
        return rows
    }

    private static let withinDescending = SQL(
        "SELECT \(columns) FROM ledger WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset DESC")

    static func due(
        within: Duration, limit: Int, in connection: Connection, at moment: StorageMoment
    ) throws(StorageError) -> [DueFetch] {
        let latest = (moment.now + within).stored
        do throws(StorageError) {
            var due: [DueFetch] = []
            // SQLite treats a negative limit as no limit.
            try connection.each(dueBefore, .time(latest), .int(max(0, limit))) { row throws(StorageError) in
                if let entry = entry(row, at: moment) {
                    due.append(DueFetch(query: QueryID(rawValue: row.int64(15)), entry: entry))
                }
            }
            return due
        } catch {
            guard error.isUnreadableRow || error.isMissingIndex else { throw error }
        }
        guard limit > 0 else { return [] }
        // The index is damaged or missing, so the entries of all lists are read instead.
        var due: [(at: Timestamp, fetch: DueFetch)] = []
        for query in try QueryTable.ids(in: connection) {
            for entry in try entries(of: query, in: connection, at: moment) {
                if let next = entry.nextAttemptAt, next <= latest {
                    due.append((next, DueFetch(query: query, entry: entry)))
                }
            }
        }
        return due.sorted { $0.at < $1.at }.prefix(max(0, limit)).map(\.fetch)
    }

    /// Returns the entries of failing pages, by offset. Returns nil when there are more than `most`, or when they
    /// cannot be read.
    static func failures(
        of query: QueryID, most: Int, in connection: Connection, at moment: StorageMoment
    ) throws(StorageError) -> [LedgerEntry]? {
        do throws(StorageError) {
            var (count, failures) = (0, [LedgerEntry]())
            try connection.each(failing, .int(query.rawValue), .int(most + 1)) { row throws(StorageError) in
                count += 1
                if let entry = entry(row, at: moment) { failures.append(entry) }
            }
            return count <= most ? failures : nil
        } catch {
            if error.isMissingIndex {
                let failures = try entries(of: query, in: connection, at: moment).filter(\.state.isFailure)
                return failures.count <= most ? failures : nil
            }
            guard error.isUnreadableRow else { throw error }
            return nil
        }
    }

    private static let failing = SQL(
        """
        SELECT \(columns) FROM ledger INDEXED BY ledger_failing
        WHERE query = ? AND state IN ('failed_retryable', 'failed_permanent') ORDER BY offset LIMIT ?
        """)

    /// Returns the highest offset that has an entry. Returns nil where there is none, or where it cannot be read.
    static func last(of query: QueryID, in connection: Connection) throws(StorageError) -> Int? {
        do throws(StorageError) {
            return try connection.first(highest, query.rawValue) { row throws(StorageError) in row.optionalInt(0) }
                ?? nil
        } catch {
            guard error.isUnreadableRow else { throw error }
            return nil
        }
    }

    private static let highest = SQL("SELECT max(offset) FROM ledger WHERE query = ?")

    /// Returns the offsets in rows with a number out of bounds.
    static func impossible(of query: QueryID, in connection: Connection) throws(StorageError) -> [Int] {
        var offsets: [Int] = []
        do throws(StorageError) {
            try connection.each(everyOne, .int(query.rawValue)) { row throws(StorageError) in
                if entry(row, at: nil) == nil { offsets.append(row.int(0)) }
            }
        } catch {
            // Rows that cannot be read are another finding.
            guard error.isUnreadableRow else { throw error }
        }
        return offsets
    }

    private static let everyOne = SQL("SELECT \(columns) FROM ledger WHERE query = ? ORDER BY offset")

    /// Decodes a row. Returns nil when a number is outside `StoredBounds`; the fetch record is then unknown (R46).
    /// - Parameter moment: the time to compute the end of the lease with. `nil` means that the end is not needed.
    private static func entry(_ row: borrowing Row, at moment: StorageMoment?) -> LedgerEntry? {
        guard StoredBounds.positions.contains(row.int(0)), StoredBounds.counters.contains(row.int(2)),
            StoredBounds.flags.contains(row.optionalInt(7) ?? 0),
            StoredBounds.statuses.contains(row.optionalInt(8) ?? 0),
            [3, 4, 5, 10, 13].allSatisfy({ StoredBounds.contains(row.optionalTime($0)) }),
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
            retryAfterUntil: row.optionalTime(10), leaseOwner: row.optionalText(12),
            leaseExpiresAt: row.optionalText(14).flatMap { boot in
                moment?.wallTime(of: Uptime(milliseconds: row.int64(13), boot: boot))
            },
            leaseToken: row.optionalInt(11).map { LeaseToken(rawValue: Int64($0)) })
    }

    // MARK: Writing

    private static let forgetSuccess = SQL("DELETE FROM ledger WHERE query = ? AND offset = ? AND state = 'ok'")
    private static let queue = SQL(
        """
        INSERT INTO ledger (query, offset, state, attempts, next_attempt_at) VALUES (?1, ?2, 'pending', 0, ?3)
        ON CONFLICT DO UPDATE SET
            state = 'pending', next_attempt_at = ?3, lease_token = NULL, lease_owner = NULL, lease_until = NULL, lease_boot = NULL
        """)

    private static let forget = SQL("DELETE FROM ledger WHERE query = ? AND offset = ?")

    /// Makes a lost page due at once, and ends a lease on it.
    static func queue(_ offset: Int, query: QueryID, at now: Timestamp, in connection: Connection) throws(StorageError)
    {
        try connection.run(queue, .int(query.rawValue), .int(offset), .time(now))
    }

    /// Deletes the success record of a page that became part of another page.
    static func forgetSuccess(at offset: Int, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(forgetSuccess, .int(query.rawValue), .int(offset))
    }

    // MARK: Moving and removing

    private static let takeAlong = SQL(
        """
        INSERT INTO temp.moving_ledger SELECT
            query, offset + ?4, state, attempts, first_failure_at, last_attempt_at, next_attempt_at, error_class, error_retryable,
            http_status, error_message, retry_after_until, lease_token, lease_owner, lease_until, lease_boot
        FROM ledger WHERE query = ?1 AND offset >= ?2 AND offset < ?3 AND offset <= 9007199254740992
        """)

    /// Moves the records of a stretch with its pages (R4), together with their leases, which are found by their tokens
    /// (R30). The record of page one belongs to a request and not to an item, so a shift to higher positions leaves it
    /// in place.
    static func shift(_ move: Rearrangement.Move, query: QueryID, in connection: Connection) throws(StorageError) {
        var move = move
        if move.distance > 0 { move.range = max(1, move.range.lowerBound)..<max(1, move.range.upperBound) }
        try Shift.ledger.run(move, of: query, in: connection) { range throws(StorageError) in
            try connection.run(
                takeAlong, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound), .int(move.distance))
        }
    }

    private static let takeOut = SQL(
        "DELETE FROM ledger WHERE query = ? AND offset >= ? AND offset < ? AND NOT (offset = 0 AND state = 'in_flight')"
    )

    /// Deletes the records of positions that no longer exist, and their leases. The record of page one stays while it
    /// is in flight.
    static func takeOut(_ range: Range<Int>, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(takeOut, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound))
    }

    private static let dropFailed = SQL(
        """
        DELETE FROM ledger
        WHERE query = ? AND offset >= ? AND offset < ? AND state IN ('failed_retryable', 'failed_permanent')
        """)
    private static let dropAll = SQL("DELETE FROM ledger WHERE query = ? AND offset >= ? AND offset < ?")

    /// Deletes failures at positions that have been fetched since, possibly as part of another page.
    static func dropFailures(in range: Range<Int>, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(dropFailed, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound))
    }

    /// Deletes the record at an offset, whatever its state.
    static func delete(at offset: Int, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(forget, .int(query.rawValue), .int(offset))
    }

    static func drop(_ range: Range<Int>, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(dropAll, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound))
    }
}
