public import PageModel

/// Eviction (R40).
extension SQLitePageStore {
    /// Removes pages until the budget is kept (R40).
    ///
    /// On a full disk smaller portions are removed, and the log is merged in between. The file is shortened in
    /// portions, too. Where the disk has no room for that, the file keeps its length: see
    /// `EvictionReport.unreturnedBytes`.
    /// - Throws: `StorageError`, as every write does. Throws `full` when the disk has no room for the log of the
    ///   smallest portion. That log takes 300 KB or twelve pages of the file, whichever is more. The remaining pages
    ///   then stay.
    public func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport {
        try await evict(to: budget, exempt: exempt, mayRewrite: false)
    }

    /// Removes pages as `evict(to:exempt:)` does, also on a disk without a free byte. A deletion may have no room for
    /// its log, or the file cannot be shortened afterwards. The remaining rows are then held in memory and written over
    /// the file. That closes this store, and the journals of changes start again.
    ///
    /// **A crash of the process or of the system while the file is written loses the store**, because the disk has no
    /// room for a second copy.
    ///
    /// Damaged rows that can be read stay in the file as they are, for a later repair.
    /// - Throws: `StorageError`, as every write does. Throws `full`, and leaves the file as it is, when another process
    ///   has the store open, or when more than 256 MiB of items would remain. Throws `full`, too, when the remaining
    ///   rows need more bytes than the file and its log have, or than this process may write to a file. Throws
    ///   `damaged`, and leaves the file as it is, when rows cannot be read, or when a file with damaged rows has no
    ///   incremental vacuum. Throws `damaged`, too, when the file system refuses to write the file; the store is then
    ///   lost.
    public func evictRewritingFile(
        to budget: EvictionBudget, exempt: Set<QueryID>
    ) async throws(StorageError) -> EvictionReport {
        try await evict(to: budget, exempt: exempt, mayRewrite: true)
    }

    private func evict(
        to budget: EvictionBudget, exempt: Set<QueryID>, mayRewrite: Bool
    ) async throws(StorageError) -> EvictionReport {
        let exempt = exempt.union(announcer.hub.observedQueries)
        var eviction = try await withWriter { session throws(StorageError) in
            do throws(StorageError) {
                try session.noteReads(force: true)
            } catch {
                // On a full disk the read times stay unstored, so the order of eviction is slightly outdated. The
                // eviction still makes room.
                guard error.code == .full || error.isUnreadableRow else { throw error }
            }
            return try Eviction(budget, exempt: exempt, at: now, in: session.connection)
        }
        // Each portion is one transaction, so other writers wait for one portion at most.
        while let portion = eviction.next() {
            do throws(StorageError) {
                let (removed, damaged) = try await withWriter {
                    session throws(StorageError) -> ([Eviction.Candidate], Int) in
                    let removed = try Eviction.remove(portion, in: session)
                    return (
                        removed, try Eviction.damaged(among: portion, without: removed, in: session.connection)
                    )
                }
                eviction.removed(removed)
                eviction.leaves(damaged)
            } catch {
                guard error.code == .full else { throw error }
                guard eviction.makeSmaller(portion) else {
                    let shortage = await namingRoom(error)
                    guard mayRewrite else { throw shortage }
                    eviction.requeue(portion)
                    return try await rewriteFile(eviction, because: shortage)
                }
                // Merging the log makes room for the next portion. The merge may fail on a full disk, too.
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
        do throws(StorageError) {
            let unused = try await withWriter { session throws(StorageError) in
                _ = try Purge.returnSpace(in: session, isUrgent: false)
                return try Purge.unreturnableBytes(of: session.connection)
            }
            eviction.keeps(unused)
            let cause = StorageError(.full, "\(path) cannot be shortened")
            if unused > 0, mayRewrite, let report = try await rewriteUnlessRefused(eviction, because: cause) {
                return report
            }
        } catch {
            // The pages are removed. Their space is returned once the disk has room to move pages and to merge the log.
            guard error.code == .full else { throw error }
            let unused = try await withWriter { session throws(StorageError) in
                try Purge.unusedBytes(of: session.connection)
            }
            eviction.keeps(unused)
            // A refused rewrite leaves the file as it is.
            if mayRewrite, let report = try await rewriteUnlessRefused(eviction, because: error) { return report }
        }
        return eviction.report
    }

    /// Adds the room for the smallest portion to the error of a full disk.
    private func namingRoom(_ error: StorageError) async -> StorageError {
        let pageSize = try? await withWriter { session throws(StorageError) in
            try session.connection.pragma("page_size")
        }
        let kilobytes = (Eviction.logBytes(pageSize: Int(pageSize ?? 0)) + 999) / 1_000
        return StorageError(
            error.code, "\(error.message); a deletion needs \(kilobytes) KB of free space for the log", cause: error)
    }

    /// Rewrites the file without the remaining pages of the eviction.
    /// - Returns: nil when the file cannot be rewritten. The file is then unchanged.
    private func rewriteUnlessRefused(
        _ eviction: Eviction, because cause: StorageError
    ) async throws(StorageError) -> EvictionReport? {
        do throws(StorageError) {
            return try await rewriteFile(eviction, because: cause)
        } catch {
            guard error.code == .full else { throw error }
            return nil
        }
    }

    private func rewriteFile(
        _ eviction: Eviction, because cause: StorageError
    ) async throws(StorageError) -> EvictionReport {
        guard eviction.bytesLeftAfterAll <= Recreation.mostBytesInMemory else { throw cause }
        await leaveFile()
        let (doomed, path, options, now) = (eviction.remaining, path, options, now)
        let removed = try await upkeep.run { () throws(StorageError) in
            try Recreation.rewrite(path, options, because: cause) { connection throws(StorageError) -> MemoryCopy in
                let damage = Verification.run(in: connection).damage
                if damage.sparesLists { return try MemoryCopy(of: connection, without: doomed, at: now) }
                guard try damage.allowsRewriting(connection) else {
                    let room = "which needs \(Salvage.megabytes(Salvage.bytesNeeded(by: connection))) of free space"
                    throw StorageError(.damaged, "\(path) is damaged, and is rewritten only after a repair, \(room)")
                }
                return try MemoryCopy(ofDamaged: connection, without: doomed, at: now)
            }.removed
        }
        var eviction = eviction
        eviction.removed(removed)
        eviction.keeps(0)
        return eviction.report
    }
}
