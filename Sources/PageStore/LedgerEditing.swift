import PageModel

/// Applies the ledger edits of one call inside its transaction (R26, R30). `LedgerEdit` says which edits a token
/// permits.
///
/// State: the tokens found so far, and the results of the edits.
struct LedgerEditing {
    private let query: QueryID
    private let session: Session
    private let moment: StorageMoment
    private var connection: Connection { session.connection }

    /// The offsets to announce, in order and without repetition.
    private(set) var offsets: [Int] = []
    /// The tokens whose lease was lost.
    private(set) var lost: Set<LeaseToken> = []
    /// The tokens that this call may use, and whether a row may still hold each of them.
    private var known: [LeaseToken: LeaseStatus] = [:]

    private enum LeaseStatus {
        /// A row held the token before the list edits of this call moved the rows.
        case held
        /// An edit of this call has used the token.
        case ended
    }

    init(_ query: QueryID, at moment: StorageMoment, in session: Session) {
        self.query = query
        self.moment = moment
        self.session = session
    }

    /// Looks up the tokens that the edits name. Call this before the list edits of the same plan move the rows.
    mutating func resolveTokens(_ edits: [LedgerEdit]) throws(StorageError) {
        for edit in edits {
            guard let token = edit.lease, known[token] == nil else { continue }
            if try LeaseTable.place(of: token, near: edit.offset, query: query, in: connection) != nil {
                known[token] = .held
            }
        }
    }

    mutating func apply(_ edits: [LedgerEdit]) throws(StorageError) {
        for edit in edits {
            if case .succeeded(let offset, nil) = edit, try succeedUnleased(offset) {
                note(offset)
                continue
            }
            guard let offset = try place(for: edit) else { continue }
            try apply(edit, at: offset)
            note(offset)
        }
    }

    /// Adds the offset of a page whose record changed.
    mutating func note(_ offset: Int) {
        if !offsets.contains(offset) { offsets.append(offset) }
    }

    // MARK: Finding the row

    /// Returns the offset at which an edit applies. Returns `nil` where it changes no row.
    private mutating func place(for edit: LedgerEdit) throws(StorageError) -> Int? {
        let offset = edit.offset
        if case .expedited = edit { return offset }
        if case .failed = edit { try LedgerEditing.check(offset) }
        if case .succeeded = edit { try LedgerEditing.check(offset) }
        guard let token = edit.lease else { return try isFree(offset) ? offset : nil }
        session.end(token)
        defer { if known[token] != nil { known[token] = .ended } }
        switch known[token] {
        case nil:
            guard let place = try LeaseTable.place(of: token, near: offset, query: query, in: connection) else {
                lost.insert(token)
                return nil
            }
            known[token] = .ended
            return place
        case .held:
            if try LeaseTable.isHeld(token, at: offset, query: query, in: connection) { return offset }
            if let moved = try LeaseTable.place(of: token, near: offset, query: query, in: connection) {
                try LedgerTable.drop(moved..<moved + 1, query: query, in: connection)
            }
            return try isFree(offset) ? offset : nil
        case .ended:
            return try isFree(offset) ? offset : nil
        }
    }

    private func isFree(_ offset: Int) throws(StorageError) -> Bool {
        try !LeaseTable.counts(offset, of: query, at: moment, in: connection) { name throws(StorageError) in
            try session.owner().isAlive(name)
        }
    }

    static func check(_ offset: Int) throws(StorageError) {
        guard offset >= 0, offset <= ListTotal.largest else {
            throw StorageError(.invalidPlan, "the offset \(offset) of a page is out of range")
        }
    }

    // MARK: Changing the row

    private static let noLease = "lease_token = NULL, lease_owner = NULL, lease_until = NULL, lease_boot = NULL"
    private static let succeed = SQL(
        """
        INSERT INTO ledger (query, offset, state, attempts, last_attempt_at) VALUES (?1, ?2, 'ok', 1, ?3)
        ON CONFLICT DO UPDATE SET
            state = 'ok', first_failure_at = NULL, next_attempt_at = NULL, error_class = NULL, error_retryable = NULL,
            http_status = NULL, error_message = NULL, retry_after_until = NULL, \(noLease)
        """)
    private static let succeedUnleased = SQL(succeed.text + " WHERE lease_token IS NULL")
    private static let fail = SQL(
        """
        INSERT INTO ledger (query, offset, state, attempts, first_failure_at, last_attempt_at, next_attempt_at,
                            error_class, error_retryable, http_status, error_message, retry_after_until)
        VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        ON CONFLICT DO UPDATE SET
            state = ?3, first_failure_at = coalesce(first_failure_at, ?4), next_attempt_at = ?5, error_class = ?6,
            error_retryable = ?7, http_status = ?8, error_message = ?9, retry_after_until = ?10, \(noLease)
        """)
    private static let release = SQL(
        """
        UPDATE ledger SET
            state = 'pending', attempts = max(attempts - 1, 0), next_attempt_at = CASE WHEN error_retryable THEN ?3 END, \(noLease)
        WHERE query = ?1 AND offset = ?2 AND state = 'in_flight'
        """)
    private static let expedite = SQL(
        """
        UPDATE ledger SET next_attempt_at = ?3, retry_after_until = NULL
        WHERE query = ?1 AND offset = ?2 AND state IN ('failed_retryable', 'failed_permanent')
        """)
    private static let forget = SQL("DELETE FROM ledger WHERE query = ? AND offset = ?")

    /// Records a success without a token in one statement. Most such successes meet no lease, so no lease is looked up
    /// first.
    /// - Returns: `false` when the page has a lease; the row is then unchanged.
    private func succeedUnleased(_ offset: Int) throws(StorageError) -> Bool {
        try LedgerEditing.check(offset)
        try connection.run(
            LedgerEditing.succeedUnleased, .int(query.rawValue), .int(offset), .time(moment.now))
        return connection.changes > 0
    }

    private func apply(_ edit: LedgerEdit, at offset: Int) throws(StorageError) {
        let (key, place, now) = (SQLValue.int(query.rawValue), SQLValue.int(offset), moment.now)
        switch edit {
        case .succeeded:
            try connection.run(LedgerEditing.succeed, key, place, .time(now))
        case .failed(_, let failure, let pause, _):
            let state: FetchState = failure.isRetryable ? .failedRetryable : .failedPermanent
            try connection.run(
                LedgerEditing.fail, key, place, .text(state.rawValue), .time(now),
                .time(pause.map { (now + $0).stored }),
                .text(failure.failureClass.rawValue), .bool(failure.isRetryable),
                .optional(failure.httpStatus.map { min(max($0, 0), StoredBounds.statuses.upperBound) }),
                .text(failure.message),
                .time(failure.retryAfter.map { (now + $0).stored }))
        case .released:
            try connection.run(LedgerEditing.release, key, place, .time(now))
        case .expedited:
            try connection.run(LedgerEditing.expedite, key, place, .time(now))
        case .deleted:
            try connection.run(LedgerEditing.forget, key, place)
        }
    }
}
