#if PostgreSQL
import PageModel

/// Applies the ledger edits of one call inside its transaction (R26, R30). The documentation of `LedgerEdit` says which
/// edits a token permits.
///
/// State: the tokens named so far, and the results of the edits. The object belongs to the task that runs the
/// transaction.
final class LedgerEditing {
    private let query: QueryID
    private let work: WriteBatch
    private let moment: StorageMoment
    /// The offsets to announce, in order and without repetition. Complete once the transaction is committed.
    private(set) var offsets: [Int] = []
    /// The tokens whose lease was lost. Complete once the transaction is committed.
    private(set) var lost: Set<LeaseToken> = []
    /// Every token that the edits name.
    private(set) var named: Set<LeaseToken> = []
    /// The tokens that this call may use, and whether a row may still hold each of them.
    private var known: [LeaseToken: LeaseStatus] = [:]
    /// The tokens in collected statements whose results have not arrived.
    private var unresolved: Set<LeaseToken> = []

    private enum LeaseStatus {
        /// A row held the token before the list edits of this call moved the rows.
        case held
        /// An edit of this call has used the token.
        case ended
    }

    init(_ query: QueryID, at moment: StorageMoment, _ work: WriteBatch) {
        self.query = query
        self.moment = moment
        self.work = work
    }

    /// Selects those of the given tokens that a row holds, with the times of their grants, for ``resolveTokens(_:)``.
    static let tokens = SQL(
        "SELECT lease_token, last_attempt_at FROM @ledger WHERE lease_token = ANY($2::bigint[]) AND query = $1")

    /// Notes the tokens that rows hold before the list edits of the same plan move them.
    func resolveTokens(_ tokens: [LeaseToken]) {
        for token in tokens { known[token] = .held }
    }

    func apply(_ edits: [LedgerEdit]) async throws(StorageError) {
        for edit in edits {
            switch edit {
            case .failed, .succeeded: try LedgerEditing.check(edit.offset)
            case .released, .expedited, .deleted: break
            }
            if let token = edit.lease {
                named.insert(token)
                // The place of this edit depends on whether an earlier edit found the token, so send that one first.
                if unresolved.contains(token) { _ = try await work.read([]) }
            }
            apply(edit)
        }
    }

    private func apply(_ edit: LedgerEdit) {
        let offset = edit.offset
        guard let token = edit.lease, let ofToken = LedgerStatements.ofToken(edit, of: query, at: moment.now) else {
            return add(edit, permitted: nil)
        }
        switch known[token] {
        case nil:
            unresolved.insert(token)
            work.add([.integer(token.rawValue)], to: ofToken.statement, ofToken.shared) { found in
                self.unresolved.remove(token)
                guard let row = found.all.first(where: { $0.int64(0) == token.rawValue }) else {
                    self.lost.insert(token)
                    return
                }
                self.known[token] = .ended
                self.note(row.int(1))
            }
        case .held:
            known[token] = .ended
            work.add(
                LedgerStatements.removingMoved,
                [.integer(query.rawValue), .integer(token.rawValue), .int(offset)])
            add(edit, permitted: token)
        case .ended:
            add(edit, permitted: nil)
        }
    }

    private func add(_ edit: LedgerEdit, permitted: LeaseToken?) {
        work.add(LedgerStatements.ofPlace(edit, permitted: permitted, of: query, at: moment)) { found in
            if found.count > 0 { self.note(edit.offset) }
        }
    }

    /// Adds the offset of a page whose fetch record changed.
    func note(_ offset: Int) {
        if !offsets.contains(offset) { offsets.append(offset) }
    }

    static func check(_ offset: Int) throws(StorageError) {
        guard StoredBounds.positions.contains(offset) else {
            throw StorageError(.invalidPlan, "the offset \(offset) of a page is out of range")
        }
    }
}
#endif
