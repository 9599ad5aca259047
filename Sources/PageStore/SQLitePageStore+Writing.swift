public import PageModel
import Synchronization

// Each write is one transaction (R3, R4).
extension SQLitePageStore {
    public func register(_ key: QueryKey) async throws(StorageError) -> QueryRecord {
        // Most queries are registered already. Finding one needs no write lock.
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
                // A pin does not change the list, so it makes no new version (R51).
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

    /// Removes all queries.
    ///
    /// A deletion writes to the file, so it can fail on a full disk. The file is then emptied instead, and this store
    /// is closed. The same happens when damage prevents a deletion. Emptying the file requires that no other process
    /// has the store open. A deletion can also succeed on a full disk that has no room for the rest of the work. The
    /// file is then emptied, too, unless it has a query that was registered after the deletion.
    /// - Returns: the removed queries, pages and bytes. If damage prevents the count, `pages` is 0, and `bytes` is the
    ///   size of the emptied files.
    /// - Throws: `StorageError`, as every write does. Throws `full` or `damaged` when another process has the store
    ///   open; this store is then closed, too.
    public func purgeAll() async throws(StorageError) -> PurgeReport {
        guard !isReadOnly else { throw StorageError(.permission, "\(path) is open for reading only") }
        let queries = try await read { reading throws(StorageError) in try QueryTable.ids(in: reading.connection) }
        let size = try? await read { reading throws(StorageError) in
            try Purge.size(of: queries, in: reading.connection)
        }
        let report: PurgeReport
        do throws(StorageError) {
            report = try await withWriter { session throws(StorageError) in
                try Purge.run(queries, withOrphans: true, in: session)
            }
        } catch {
            guard error.code == .full || error.code == .damaged else { throw error }
            return try await recreate(removing: queries, size, because: error)
        }
        guard report.isDiskFull else { return report }
        // Emptying the file would also remove a query that was registered since the deletion. This check keeps the
        // store open in that case. `Recreation.empty` repeats the check while it excludes all commits.
        let isEmpty = try? await read { reading throws(StorageError) in
            try QueryTable.ids(in: reading.connection).isEmpty
        }
        guard isEmpty == true else { return report }
        await leaveFile()
        let (path, options, now) = (path, options, now)
        let isEmptied = try await upkeep.run { () throws(StorageError) in
            try Recreation.empty(
                path, options, because: StorageError(.full, "the disk of \(path) is full"),
                after: { connection throws(StorageError) -> Bool? in
                    try QueryTable.ids(in: connection).isEmpty ? true : nil
                },
                then: { _ throws(StorageError) in SQLitePageStore.fillEmpty(path, options, at: now) }
            ) != nil
        }
        guard isEmptied else { return report }
        return PurgeReport(queries: report.queries, pages: report.pages, bytes: report.bytes)
    }

    /// Closes the connections, so that the file can be emptied.
    func leaveFile() async {
        pool.close()
        await writer.close()
        place.withLock { $0 = nil }
    }

    /// Makes an empty file an empty store, where there is room.
    private static func fillEmpty(_ path: String, _ options: Options, at now: Timestamp) {
        guard let identity = FileIdentity(path) else { return }
        _ = try? StoreOpening.openWriter(path, identity, options: options, now: now, withLog: false)
    }

    /// Empties the file after a deletion has failed, and makes it a store again where there is room.
    /// - Parameter size: the report that a successful deletion would return. `nil` means that the rows could not be
    ///   counted.
    private func recreate(
        removing queries: [QueryID], _ size: PurgeReport?, because cause: StorageError
    ) async throws(StorageError) -> PurgeReport {
        await leaveFile()
        let bytes = try Recreation.empty(path, because: cause)
        SQLitePageStore.fillEmpty(path, options, at: now)
        announcer.announce(queries.map { ChangeSet(query: $0, version: nil, changes: [.purged]) })
        return size ?? PurgeReport(queries: queries.count, pages: 0, bytes: bytes)
    }
}
