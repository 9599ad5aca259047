import PageModel

/// Transactions that change only the ledger.
enum LedgerWriting {
    static func claim(_ request: LeaseRequest, of query: QueryID, in session: Session) throws(StorageError)
        -> LeaseGrant
    {
        try session.write { moment throws(StorageError) in
            guard let record = try QueryTable.find(query, in: session.connection) else {
                return LeaseGrant([], at: moment.now)
            }
            let leases = try take(request, of: query, at: moment, in: session)
            if !leases.isEmpty {
                session.note(
                    ChangeSet(
                        query: query, version: record.version, contentVersion: record.contentVersion,
                        changes: [.ledger(leases.map(\.offset))]))
            }
            return try grant(leases, request, record, at: moment, in: session)
        }
    }

    /// Takes the leases of a request. Call inside a transaction.
    /// - Returns: the granted leases, in the order of the request.
    static func take(
        _ request: LeaseRequest, of query: QueryID, at moment: StorageMoment, in session: Session
    ) throws(StorageError) -> [Lease] {
        let lock = try session.owner()
        let owner = request.owner.stored(by: lock.name)
        var leases: [Lease] = []
        for offset in request.offsets {
            try LedgerEditing.check(offset)
            let isHeld = try LeaseTable.counts(offset, of: query, at: moment, in: session.connection) {
                lock.isAlive($0)
            }
            guard !isHeld else { continue }
            let lease = Lease(offset: offset, token: try session.newToken())
            try LeaseTable.take(lease, of: query, by: owner, for: request.duration, at: moment, in: session.connection)
            session.leases.add(lease, of: query, by: request.owner, for: request.duration, at: moment)
            leases.append(lease)
        }
        return leases
    }

    /// Creates the grant to return. Call as the last step of the transaction.
    static func grant(
        _ leases: [Lease], _ request: LeaseRequest, _ record: QueryRecord, at moment: StorageMoment, in session: Session
    ) throws(StorageError) -> LeaseGrant {
        var grant = LeaseGrant(leases, at: moment.now)
        if let range = request.outlineRange {
            grant.list = try StoreReading.excerpt(record, range, in: session.connection, at: moment)
        }
        return grant
    }

    static func record(
        _ edits: [LedgerEdit], for query: QueryID, in session: Session
    ) throws(StorageError) -> Set<LeaseToken> {
        try session.write { moment throws(StorageError) in
            guard let record = try QueryTable.find(query, in: session.connection) else { return [] }
            var editing = LedgerEditing(query, at: moment, in: session)
            try editing.apply(edits)
            if !editing.offsets.isEmpty {
                session.note(
                    ChangeSet(
                        query: query, version: record.version, contentVersion: record.contentVersion,
                        changes: [.ledger(editing.offsets)]))
            }
            return editing.lost
        }
    }

    /// Renews the leases of an owner. The kernel lock proves that the owner's process is alive; the heartbeat proves
    /// that the run still makes progress (R30).
    static func heartbeat(_ owner: LeaseOwner, for duration: Duration, in session: Session) throws(StorageError) -> Set<
        LeaseToken
    > {
        let leases = session.leases.leases(of: owner)
        guard !leases.isEmpty else { return [] }
        return try session.write { moment throws(StorageError) in
            var held: Set<LeaseToken> = []
            for (query, lease) in leases {
                guard
                    let offset = try LeaseTable.renew(
                        lease, of: query, for: duration, at: moment, in: session.connection)
                else {
                    session.leases.end(lease.token)
                    continue
                }
                session.leases.renewed(lease.token, at: offset, until: moment.uptime + duration)
                held.insert(lease.token)
            }
            return held
        }
    }
}
