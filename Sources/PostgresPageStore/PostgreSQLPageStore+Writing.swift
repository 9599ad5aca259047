#if PostgreSQL
public import PageModel
import Synchronization

// Each write is one transaction (R4). A transaction that changes existing lists first locks their records, in the order
// of their ids.
extension PostgreSQLPageStore {
    /// The id of a new list: a number of the sequence in the higher bits, and random lower bits. After a crash, a
    /// failover or a restored backup the sequence can return the number again. The random bits keep a replica that
    /// still knows the lost list from writing into the new one.
    private static let nextID = SQL("SELECT nextval('@query_id') * $1 + $2")

    public func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        // Most queries are registered already, and a lookup needs no lock.
        if let known = try await query(key) { return known }
        try checkWritable()
        guard key.text.utf8.count + key.scope.utf8.count < 1 << 28 else {
            throw StorageError(.tooLarge, "a key of this size exceeds the limit of \(name)")
        }
        let made: QueryRecord
        do throws(StorageError) {
            made = try await insert(key)
        } catch {
            guard error.cause is AlreadyRegistered else { throw error }
            guard let known = try await query(key) else {
                throw StorageError(.busy, "the query was registered and purged at the same time")
            }
            return known
        }
        announcer.announce([
            ChangeSet(
                query: made.id, version: made.version, contentVersion: made.contentVersion, changes: [.registered])
        ])
        return made
    }

    private func insert(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        try await server.write { work async throws(StorageError) in
            let factor: Int64 = self.options.countsUp ? 1 : 1 << 30
            let values = [Value.integer(factor), .integer(.random(in: 0..<factor))]
            let found = try await work.read([(PostgreSQLPageStore.nextID, values), Server.readTime, Server.flushing])
            let now = self.server.moment(found[1]).now
            var list = ListRow(
                QueryRecord(
                    id: QueryID(rawValue: found[0].first?.int64(0) ?? 0), key: key,
                    version: ListVersion(generation: 1, revision: 0), total: .unknown, end: nil, validatedAt: nil,
                    createdAt: now.stored, allowsDuplicates: false, paging: "", source: ""))
            try await self.advance(&list, JournalDraft(self.options.journal), at: now, work)
            var isNew = false
            work.add(list.insertion) { isNew = $0.affected > 0 }
            _ = try await work.read([])
            guard isNew else {
                throw StorageError(.busy, "another replica is registering the query", cause: AlreadyRegistered())
            }
            return list.record
        }
    }

    public func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        try checkWritable()
        for offset in request.offsets { try LedgerEditing.check(offset) }
        liveness.grantsUnderWay.add(1, ordering: .sequentiallyConsistent)
        defer { liveness.grantsUnderWay.subtract(1, ordering: .sequentiallyConsistent) }
        let (grant, changes) = try await grant(request, of: query, nonce: LeaseStatements.nonce())
        if let changes { announcer.announce([changes]) }
        return grant
    }

    /// Takes leases in one round trip, or in two if the heartbeat expired meanwhile.
    /// - Parameter nonce: the random part of the tokens. A repeated call with the same nonce takes its own leases
    ///   again.
    func grant(
        _ request: LeaseRequest, of query: QueryID, nonce: Int64
    ) async throws(StorageError) -> (grant: LeaseGrant, changes: ChangeSet?) {
        let began = ContinuousClock.now
        let moment = server.moment
        let renewal = liveness.renewalIfDue()
        var requests: [WriteBatch.Request] = [(ListRow.byIDLocked, [.integer(query.rawValue)])]
        if let renewal { requests.append(renewal) }
        requests.append(
            LeaseStatements.take(request, of: query, by: liveness.name, at: moment, nonce: nonce))
        if let range = request.outlineRange { requests += ExcerptReading.requests(range, of: query) }
        if let moment, let reads = accesses.drain(at: moment.now) { requests.append(note(reads)) }
        var found = try await server.write(requests)[...]
        if renewal != nil { liveness.renewed(at: began) }
        let row = found.removeFirst().first
        if renewal != nil { found.removeFirst() }
        guard let taken = LeaseStatements.taken(found.removeFirst(), boot: moment?.uptime.boot ?? ServerClock.boot)
        else { throw StorageError(.internal, "taking leases returned no time") }
        guard taken.isAlive || renewal != nil || row == nil else {
            // The heartbeat expired while the transaction waited for the list.
            liveness.expired()
            return try await grant(request, of: query, nonce: nonce)
        }
        var grant = LeaseGrant(taken.leases, at: taken.moment.now)
        guard let row else { return (grant, nil) }
        let record = try whole(ListRow.read(row)).record
        if let range = request.outlineRange {
            grant.list = ExcerptReading.outline(
                record, range, found.removeFirst(), found.removeFirst(), at: taken.moment)
        }
        liveness.leases.withLock { leases in
            for lease in grant.leases {
                leases.add(lease, of: query, by: request.owner, for: request.duration, at: taken.moment)
            }
        }
        guard !grant.leases.isEmpty else { return (grant, nil) }
        return (
            grant,
            ChangeSet(
                query: query, version: record.version, contentVersion: record.contentVersion,
                changes: [.ledger(grant.offsets)])
        )
    }

    /// Runs `write`. If the server made the commit but no standby confirmed it, notifies the observers that the lists
    /// of `queries` may have changed (R41). Rethrows the error in any case.
    func announcingUnconfirmed<Value>(
        _ queries: [QueryID], _ write: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        do throws(StorageError) {
            return try await write()
        } catch {
            if (error.cause as? PostgresError)?.code == .standbyMissing { announcer.announceInvalidated(queries) }
            throw error
        }
    }

    @discardableResult
    public func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        try checkWritable()
        let done = try await announcingUnconfirmed([query]) { () async throws(StorageError) in
            try await self.recording(edits, for: query)
        }
        liveness.leases.withLock { leases in
            for token in edits.compactMap(\.lease) { leases.end(token) }
        }
        if let changes = done.changes { announcer.announce([changes]) }
        return done.lost
    }

    private func recording(
        _ edits: [LedgerEdit], for query: QueryID
    ) async throws(StorageError) -> (lost: Set<LeaseToken>, changes: ChangeSet?) {
        try await server.write { work async throws(StorageError) -> (lost: Set<LeaseToken>, changes: ChangeSet?) in
            let found = try await work.read([
                (ListRow.byIDLocked, [.integer(query.rawValue)]), self.server.timeOfWrite,
            ])
            guard let row = found[0].first else {
                try await work.commit()
                return ([], nil)
            }
            let record = try self.whole(ListRow.read(row)).record
            let moment = self.server.moment(found[1])
            let editing = LedgerEditing(query, at: moment, work)
            try await editing.apply(edits)
            if let reads = self.accesses.drain(at: moment.now) { work.add(self.note(reads)) }
            try await work.commit()
            guard !editing.offsets.isEmpty else { return (editing.lost, nil) }
            return (
                editing.lost,
                ChangeSet(
                    query: query, version: record.version, contentVersion: record.contentVersion,
                    changes: [.ledger(editing.offsets)])
            )
        }
    }

    public func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try checkWritable()
        let own = liveness.leases.withLock { $0.leases(of: owner) }
        guard !own.isEmpty else { return [] }
        let began = ContinuousClock.now
        let moment = server.moment
        let queries = Set(own.map(\.query.rawValue)).sorted()
        let found = try await server.write(
            [
                (LeaseStatements.lockingLists, [.integers(queries)]), liveness.renewal,
                LeaseStatements.renew(own.map(\.lease.token), for: duration, at: moment),
            ])
        liveness.renewed(at: began)
        var held: Set<LeaseToken> = []
        liveness.leases.withLock { leases in
            for row in found.last?.all.map({ $0 }) ?? [] {
                let token = LeaseToken(rawValue: row.int64(0))
                let end =
                    StorageMoment(
                        ServerClock(
                            now: row.int64(2), uptime: row.int64(3), boot: moment?.uptime.boot ?? ServerClock.boot)
                    ).uptime + duration
                leases.renewed(token, at: row.int(1), until: end)
                held.insert(token)
            }
            for (_, lease) in own where !held.contains(lease.token) { leases.end(lease.token) }
        }
        return held
    }

    public func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try checkWritable()
        let changes = try await server.write { work async throws(StorageError) -> ChangeSet? in
            let found = try await work.read([(ListRow.byIDLocked, [.integer(query.rawValue)]), Server.flushing])
            guard let row = found[0].first else {
                try await work.commit()
                return nil
            }
            let before = try self.whole(ListRow.read(row))
            guard before.record.isPinned != isPinned else {
                try await work.commit()
                return nil
            }
            var list = before
            list.record.isPinned = isPinned
            work.add(list.saving(over: before.record))
            try await work.commit()
            // A pin does not change the list, so it makes no new version (R51).
            return ChangeSet(
                query: query, version: list.record.version, contentVersion: list.record.contentVersion,
                changes: [.described])
        }
        if let changes { announcer.announce([changes]) }
    }

    public func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        try checkWritable()
        let ids = Value.integers(Set(queries.map(\.rawValue)).sorted())
        let removed: Result<[Rows], StorageError>
        do throws(StorageError) {
            removed = .success(
                try await announcingUnconfirmed(queries) { () async throws(StorageError) in
                    try await self.server.write(
                        [(LeaseStatements.lockingLists, [ids]), (PostgreSQLPageStore.sizes, [ids])]
                            + PostgreSQLPageStore.removals.map { ($0, [ids]) }, .long)
                })
        } catch {
            removed = .failure(error)
        }
        // Even after an error, all given lists leave the copy. The server may have removed them already, and a repeated
        // purge would then find none of them there.
        await copy?.purge(queries)
        let found = try removed.get()
        let gone = found[0].all.map { QueryID(rawValue: $0.int64(0)) }
        announcer.announce(gone.map { ChangeSet(query: $0, version: nil, changes: [.purged]) })
        // The flush is a transaction of its own with the shorter busy budget, because it may wait for a standby. The
        // removal of a long list can take longer.
        try await server.flush()
        // A crash or a failover before the flush may have undone the removal.
        guard try await server.read((PostgreSQLPageStore.left, [ids])).count == 0 else {
            return try await purge(queries)
        }
        return PurgeReport(
            queries: gone.count, pages: found[1].first?.int(0) ?? 0, bytes: found[1].first?.int(1) ?? 0)
    }

    private static let left = SQL("SELECT id FROM @query WHERE id = ANY($1::bigint[])")
    private static let sizes = SQL("\(countAndBytes) WHERE query = ANY($1::bigint[])")
    static let removals =
        ["page", "body", "access", "ledger", "journal", "tally"].map {
            SQL("DELETE FROM @\($0) WHERE query = ANY($1::bigint[])")
        } + [SQL("DELETE FROM @query WHERE id = ANY($1::bigint[])")]

    /// Removes all queries with everything stored for them.
    /// - Returns: the numbers of removed queries, pages and bytes.
    /// - Throws: `StorageError`, as every write does.
    public func purgeAll() async throws(StorageError) -> PurgeReport {
        try await purge(
            try await server.read((PostgreSQLPageStore.everyID, []), .long).all.map {
                QueryID(rawValue: $0.int64(0))
            })
    }

    static let everyID = SQL("SELECT id FROM @query ORDER BY id")
}

/// Another replica registered the query first.
private struct AlreadyRegistered: Error {}
#endif
