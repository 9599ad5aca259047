public import PageModel
import Synchronization

// One transaction each (R3, R4).
extension PageStore {
    public func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        // Known ones are the rule, and need no write lock.
        if let known = try await query(key) { return known }
        return try await withWriter { session throws(StorageError) in
            try session.write { moment throws(StorageError) in
                var (record, isNew) = try QueryTable.register(key, at: moment.now, in: session.connection)
                guard isNew else { return record }
                record.contentVersion = try session.advance(
                    record.id, JournalDraft(session.journalBound), holdings: ListHoldings(), at: moment.now
                ).version
                session.note(
                    ChangeSet(
                        query: record.id, version: record.version, contentVersion: record.contentVersion,
                        changes: [.registered]))
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
        try await withWriter { session throws(StorageError) in try LedgerWriting.claim(request, of: query, in: session)
        }
    }

    @discardableResult
    public func record(_ edits: [LedgerEdit], for query: QueryID) async throws(StorageError) -> Set<LeaseToken> {
        try await withWriter { session throws(StorageError) in try LedgerWriting.record(edits, for: query, in: session)
        }
    }

    public func heartbeat(_ owner: LeaseOwner, for duration: Duration) async throws(StorageError) -> Set<LeaseToken> {
        try await withWriter { session throws(StorageError) in
            try LedgerWriting.heartbeat(owner, for: duration, in: session)
        }
    }

    public func setPinned(_ isPinned: Bool, _ query: QueryID) async throws(StorageError) {
        try await withWriter { session throws(StorageError) in
            try session.write { () throws(StorageError) in
                guard var record = try QueryTable.find(query, in: session.connection), record.isPinned != isPinned
                else { return }
                record.isPinned = isPinned
                try QueryTable.save(record, in: session.connection)
                // Not a version of its own: it says nothing of the list (R51).
                session.note(
                    ChangeSet(
                        query: query, version: record.version, contentVersion: record.contentVersion,
                        changes: [.described]))
            }
        }
    }

    public func purge(_ queries: [QueryID]) async throws(StorageError) -> PurgeReport {
        try await withWriter { session throws(StorageError) in try Purge.run(queries, in: session) }
    }

    /// Removes everything, and closes the store if that took emptying its file. On a full disk, where nothing can be
    /// deleted any more because deleting writes, the file is emptied instead; that needs the store for itself.
    /// - Throws: `full` when the disk is full and another process has the store open.
    public func purgeAll() async throws(StorageError) -> PurgeReport {
        guard !isReadOnly else { throw StorageError(.permission, "\(path) is open for reading only") }
        let queries = try await read { reading throws(StorageError) in try QueryTable.ids(in: reading.connection) }
        do throws(StorageError) {
            return try await withWriter { session throws(StorageError) in
                try Purge.run(queries, withOrphans: true, in: session)
            }
        } catch {
            guard error.code == .full || error.code == .damaged else { throw error }
            return try await recreate(removing: queries, because: error)
        }
    }

    /// Removes pages until the budget is kept. On a full disk it removes fewer at a time, and merges the log in
    /// between. Where not even one page can be removed, because deleting writes, what stays is held in memory while the
    /// file is made anew; that needs the store for itself, and closes it. A process that is killed in that moment
    /// leaves a store that is sound and may be empty.
    /// - Throws: `full` when the disk is full and another process has the store open, or more than 256 MiB stay.
    public func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport {
        let exempt = exempt.union(announcer.hub.observedQueries)
        var eviction = try await withWriter { session throws(StorageError) in
            do throws(StorageError) {
                try session.noteReads(force: true)
            } catch {
                // On a full disk the order is a little older, and room is made all the same.
                guard error.code == .full || error.isUnreadableRow else { throw error }
            }
            return try Eviction(budget, exempt: exempt, at: now, in: session.connection)
        }
        // In portions: nobody waits for the lock for longer than one of them takes.
        while let portion = eviction.next() {
            do throws(StorageError) {
                let removed = try await withWriter { session throws(StorageError) in
                    try Eviction.remove(portion, in: session)
                }
                eviction.removed(removed)
            } catch {
                guard error.code == .full else { throw error }
                guard eviction.makeSmaller(portion) else {
                    return try await evictAnew(eviction, portion, because: error)
                }
                // What the log holds is merged, and its room is there for the next portion. On a full disk that may
                // fail, too.
                _ = try? await withWriter { session throws(StorageError) in
                    try Purge.returnSpace(in: session, isUrgent: true)
                }
            }
            if eviction.isShortOfSpace {
                _ = try? await withWriter { session throws(StorageError) in
                    try Purge.returnSpace(in: session, isUrgent: true)
                }
            }
        }
        _ = try await withWriter { session throws(StorageError) in try Purge.returnSpace(in: session, isUrgent: false) }
        return eviction.report
    }

    private func evictAnew(
        _ eviction: Eviction, _ failed: [Eviction.Candidate], because cause: StorageError
    ) async throws(StorageError) -> EvictionReport {
        var eviction = eviction
        eviction.putBack(failed)
        guard eviction.bytesLeftAfterAll <= Recreation.mostBytesInMemory else { throw cause }
        let (doomed, path, options, now) = (eviction, path, options, now)
        let rows = try await withWriter { session throws(StorageError) in
            try MemoryCopy(of: session.connection, without: doomed.remaining, at: now)
        }
        pool.close()
        await writer.close()
        place.withLock { $0 = nil }
        _ = try Recreation.empty(path, because: cause)
        try await upkeep.run { () throws(StorageError) in
            guard let identity = FileIdentity(path) else { throw .moved(path) }
            try rows.write(to: try StoreOpening.openWriter(path, identity, options: options, now: now, withLog: false))
        }
        while let portion = eviction.next() { eviction.removed(portion) }
        return eviction.report
    }

    private func recreate(
        removing queries: [QueryID], because cause: StorageError
    ) async throws(StorageError) -> PurgeReport {
        pool.close()
        await writer.close()
        place.withLock { $0 = nil }
        let bytes = try Recreation.empty(path, because: cause)
        // An empty store rather than an empty file, if there is room for that much.
        _ = try? StoreOpening.openWriter(path, identity, options: options, now: now, withLog: false)
        announcer.announce(queries.map { ChangeSet(query: $0, version: nil, changes: [.purged]) })
        return PurgeReport(queries: queries.count, pages: 0, bytes: bytes)
    }
}
