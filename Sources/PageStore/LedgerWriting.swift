import PageModel

/// Transactions that touch nothing but the ledger.
enum LedgerWriting {
    static func claim(
        _ offsets: [Int], of query: QueryID, until expiry: Timestamp, at now: Timestamp, in session: Session
    ) throws(StorageError) -> [Int] {
        try session.write(at: now) { () throws(StorageError) in
            guard let record = try QueryTable.find(query, in: session.connection) else { return [] }
            let owner = try session.owner()
            var granted: [Int] = []
            for offset in offsets
            where try LedgerTable.claim(
                offset, query: query, until: expiry, at: now, owner: owner, in: session.connection)
            {
                granted.append(offset)
            }
            if !granted.isEmpty {
                session.note(ChangeSet(query: query, version: record.version, changes: [.ledger(granted)]))
            }
            return granted
        }
    }

    static func record(
        _ edits: [LedgerEdit], for query: QueryID, at now: Timestamp, in session: Session
    ) throws(StorageError) {
        try session.write(at: now) { () throws(StorageError) in
            guard let record = try QueryTable.find(query, in: session.connection) else { return }
            let offsets = try LedgerTable.apply(edits, query: query, at: now, in: session.connection)
            if !offsets.isEmpty {
                session.note(ChangeSet(query: query, version: record.version, changes: [.ledger(offsets)]))
            }
        }
    }
}
