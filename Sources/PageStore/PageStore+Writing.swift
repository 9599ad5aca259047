public import PageModel
import Synchronization

// One transaction each (R3, R4).
extension PageStore {
    public func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        // Known ones are the rule, and need no write lock.
        if let known = try await query(key) { return known }
        return try await withWriter { session throws(StorageError) in
            try session.write { moment throws(StorageError) in
                let (record, isNew) = try QueryTable.register(key, at: moment.now, in: session.connection)
                if isNew { session.note(ChangeSet(query: record.id, version: record.version, changes: [.registered])) }
                return record
            }
        }
    }

    public func commit(
        _ plan: CommitPlan, claiming request: LeaseRequest?
    ) async throws(StorageError) -> CommitReceipt {
        try await withWriter { session throws(StorageError) in
            try CommitTransaction.apply(plan, claiming: request, in: session)
        }
    }

    public func claim(_ request: LeaseRequest, of query: QueryID) async throws(StorageError) -> LeaseGrant {
        try await withWriter { session throws(StorageError) in try LedgerWriting.claim(request, of: query, in: session) }
    }

    @discardableResult
    public func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        try await withWriter { session throws(StorageError) in try LedgerWriting.record(edits, for: query, in: session) }
    }

    public func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try await withWriter { session throws(StorageError) in try LedgerWriting.heartbeat(owner, for: duration, in: session) }
    }

    public func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try await withWriter { session throws(StorageError) in
            try session.write { () throws(StorageError) in
                guard var record = try QueryTable.find(query, in: session.connection), record.isPinned != isPinned else { return }
                record.isPinned = isPinned
                try QueryTable.save(record, in: session.connection)
                session.note(ChangeSet(query: query, version: record.version, changes: [.described]))
            }
        }
    }

    public func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        try await withWriter { session throws(StorageError) in try Purge.run(queries, in: session) }
    }

    /// Removes everything, and closes the store if that took emptying its file. On a full disk, where nothing can be deleted any
    /// more because deleting writes, the file is emptied instead; that needs the store for itself.
    /// - Throws: `full` when the disk is full and another process has the store open.
    public func purgeAll() async throws(StorageError) -> PurgeReport {
        guard !isReadOnly else { throw StorageError(.permission, "\(path) is open for reading only") }
        let queries = try await read { reading throws(StorageError) in try QueryTable.ids(in: reading.connection) }
        do throws(StorageError) {
            return try await purge(queries)
        } catch {
            guard error.code == .full || error.code == .damaged else { throw error }
            return try await recreate(removing: queries, because: error)
        }
    }

    public func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport {
        let exempt = exempt.union(announcer.hub.observedQueries)
        var eviction = try await withWriter { session throws(StorageError) in
            try session.noteReads(force: true)
            return try Eviction(budget, exempt: exempt, at: clock.now(), in: session.connection)
        }
        // In portions: nobody waits for the lock for longer than one of them takes.
        while let portion = eviction.next() {
            let removed = try await withWriter { session throws(StorageError) in try Eviction.remove(portion, in: session) }
            eviction.removed(removed)
        }
        try await withWriter { session throws(StorageError) in try Purge.returnSpace(in: session, isUrgent: false) }
        return eviction.report
    }

    private func recreate(
        removing queries: [QueryID], because cause: StorageError
    ) async throws(StorageError) -> PurgeReport {
        pool.close()
        await writer.close(after: checkpointer)
        place.withLock { $0 = nil }
        let bytes = try Recreation.empty(path, because: cause)
        // An empty store rather than an empty file, if there is room for that much.
        _ = try? StoreOpening.openWriter(path, options: options, now: clock.now())
        announcer.announce(queries.map { ChangeSet(query: $0, version: nil, changes: [.purged]) })
        return PurgeReport(queries: queries.count, pages: 0, bytes: bytes)
    }
}
