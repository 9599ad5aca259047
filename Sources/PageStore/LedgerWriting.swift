import PageModel

/// Transactions that touch nothing but the ledger.
enum LedgerWriting {
    static func claim(
        _ request: LeaseRequest, of query: QueryID, at now: Timestamp, in session: Session
    ) throws(StorageError) -> LeaseGrant {
        try session.write(at: now) { () throws(StorageError) in
            guard let record = try QueryTable.find(query, in: session.connection) else { return LeaseGrant(offsets: []) }
            let granted = try take(request, of: query, at: now, in: session)
            if !granted.isEmpty {
                session.note(ChangeSet(
                        query: query, version: record.version, contentVersion: record.contentVersion, changes: [.ledger(granted)]))
            }
            return try grant(granted, request, record, in: session)
        }
    }

    /// Call inside a transaction.
    /// - Returns: the offsets that were granted, in the order in which they were asked for.
    static func take(
        _ request: LeaseRequest, of query: QueryID, at now: Timestamp, in session: Session
    ) throws(StorageError) -> [Int] {
        let owner = try session.owner()
        var granted: [Int] = []
        for offset in request.offsets
        where try LedgerTable.claim(
            offset, query: query, until: request.expiry, at: now, owner: owner, in: session.connection)
        {
            granted.append(offset)
        }
        return granted
    }

    /// Call inside the transaction, when everything else in it is done.
    static func grant(
        _ granted: [Int], _ request: LeaseRequest, _ record: QueryRecord, in session: Session
    ) throws(StorageError) -> LeaseGrant {
        var grant = LeaseGrant(offsets: granted)
        if let range = request.surroundings { grant.list = try StoreReading.excerpt(record, range, in: session.connection) }
        return grant
    }

    static func record(
        _ edits: [LedgerEdit], for query: QueryID, at now: Timestamp, in session: Session
    ) throws(StorageError) {
        try session.write(at: now) { () throws(StorageError) in
            guard let record = try QueryTable.find(query, in: session.connection) else { return }
            let offsets = try LedgerTable.apply(edits, query: query, at: now, in: session.connection)
            if !offsets.isEmpty {
                session.note(ChangeSet(
                        query: query, version: record.version, contentVersion: record.contentVersion, changes: [.ledger(offsets)]))
            }
        }
    }
}
