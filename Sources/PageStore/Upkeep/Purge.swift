import PageModel

/// Removes queries and all their data.
enum Purge {
    private static let pageCount = SQL("SELECT count(*) FROM page WHERE query = ?")
    // Deletes by the query's own rows, damaged or not, and by its item hashes, which name the bodies of pages whose
    // records were lost. A body to which a page of another query refers stays.
    private static let removals = [
        SQL(
            """
            DELETE FROM body WHERE id IN (
                SELECT body FROM identity WHERE query = ?1 EXCEPT SELECT body FROM page WHERE query = ?1
            ) AND id NOT IN (SELECT body FROM page)
            """),
        SQL("DELETE FROM access WHERE body IN (SELECT body FROM page WHERE query = ?)"),
        SQL("DELETE FROM body WHERE id IN (SELECT body FROM page WHERE query = ?)"),
        SQL("DELETE FROM identity WHERE query = ?"),
        SQL("DELETE FROM page WHERE query = ?"),
        SQL("DELETE FROM ledger WHERE query = ?"),
        SQL("DELETE FROM tally WHERE query = ?"),
        SQL("DELETE FROM journal WHERE query = ?"),
    ]
    private static let exists = SQL("SELECT 1 FROM query WHERE id = ?")

    /// The largest size of the remaining data for which a purge rewrites the file. A rewrite of that size takes about
    /// half a second and as many bytes of memory, and other writers wait meanwhile.
    private static let mostBytesRewritten = 64 << 20

    /// Removes queries, overwrites their bytes in the file, rewrites the file, and empties the log. The removal is one
    /// transaction, unless the disk has too little room for it.
    /// - Parameter withOrphans: whether orphaned rows are removed, too. Defaults to false. Orphaned rows are also
    ///   removed with a damaged record whose name is not bound to its id.
    static func run(
        _ queries: [QueryID], withOrphans: Bool = false, in session: Session
    ) throws(StorageError) -> PurgeReport {
        session.identities.forgetAll()
        let connection = session.connection
        // Purged data must not be readable in the file afterwards.
        try connection.execute("PRAGMA secure_delete = ON")
        defer { try? connection.execute("PRAGMA secure_delete = FAST") }
        var report: PurgeReport
        do throws(StorageError) {
            report = try remove(queries, withOrphans: withOrphans, in: session)
        } catch {
            // A full store can be emptied instead, see `SQLitePageStore.purgeAll`.
            guard error.code == .full, !withOrphans else { throw error }
            let removed = try removePages(of: queries, in: session)
            report = try remove(queries, withOrphans: withOrphans, in: session)
            report.pages += removed.count
            report.bytes += removed.reduce(0) { $0 + $1.bytes }
        }
        if try UpkeepTable.hasLog(in: connection) { session.purgeIsCommitted() }
        if report.queries > 0 || withOrphans { report.mayRemainInFile = try !rewriteFile(of: connection) }
        do throws(StorageError) {
            report.mayRemainInLog = try !returnSpace(in: session, isUrgent: true)
        } catch {
            guard error.code == .full else { throw error }
            // The queries are gone. Their bytes stay until there is room to merge the log.
            report.mayRemainInLog = true
            report.isDiskFull = true
        }
        return report
    }

    /// Counts what a purge of these queries removes. Queries that do not exist are not counted.
    static func size(of queries: [QueryID], in connection: Connection) throws(StorageError) -> PurgeReport {
        var report = PurgeReport()
        for query in queries where try connection.number(exists, .int(query.rawValue)) != nil {
            report.queries += 1
            report.pages += Int(try connection.number(pageCount, .int(query.rawValue)) ?? 0)
            report.bytes += try PageTable.bytes(of: query, in: connection)
        }
        return report
    }

    private static func remove(
        _ queries: [QueryID], withOrphans: Bool, in session: Session
    ) throws(StorageError) -> PurgeReport {
        let connection = session.connection
        return try session.write { () throws(StorageError) -> PurgeReport in
            let report = try size(of: queries, in: connection)
            var removesOrphans = withOrphans
            for query in queries where try connection.number(exists, .int(query.rawValue)) != nil {
                // The pages of a record whose id was damaged are orphans.
                if try !QueryNames.isBound(query, in: connection) { removesOrphans = true }
                try remove(query, in: connection)
                session.note(ChangeSet(query: query, version: nil, changes: [.purged]))
            }
            if removesOrphans {
                for deletion in Orphans.deletions { try connection.run(deletion) }
            }
            if report.queries > 0 || removesOrphans { try UpkeepTable.noteLog(in: connection) }
            return report
        }
    }

    /// Removes the intact pages of queries in portions. The overwritten bytes of a large list need more room in the log
    /// than a nearly full disk has. After each portion the log is merged, so that the next portion uses the blocks of
    /// the log again. A process that ends meanwhile leaves a list with gaps.
    /// - Returns: the removed pages.
    /// - Throws: `full` when the disk has no room for one page.
    private static func removePages(
        of queries: [QueryID], in session: Session
    ) throws(StorageError) -> [Eviction.Candidate] {
        var left: [Eviction.Candidate] = []
        for query in queries {
            for row in try PageTable.rows(of: query, in: session.connection) {
                left.append(
                    Eviction.Candidate(
                        query: query, offset: row.summary.offset, bytes: row.bytes, usedAt: row.summary.fetchedAt,
                        isExempt: false))
            }
        }
        var removed: [Eviction.Candidate] = []
        var portion = mostPagesRemoved
        while !left.isEmpty {
            do throws(StorageError) {
                removed += try Eviction.remove(Array(left.prefix(portion)), in: session)
                left.removeFirst(min(portion, left.count))
            } catch {
                guard error.code == .full, portion > 1 else { throw error }
                portion = 1
            }
            _ = try? session.emptyLog(isUrgent: false)
        }
        return removed
    }

    /// The largest number of pages that a purge on a nearly full disk removes in one transaction.
    private static let mostPagesRemoved = 4

    /// Rewrites the file from its rows (Decision 0002). SQLite overwrites a row that it deletes, but not the copies of
    /// the row in unused parts of the file's pages. SQLite leaves such copies when it moves rows from page to page.
    /// - Returns: false where the file is too large, damaged or in use, or where the disk has too little room.
    private static func rewriteFile(of connection: Connection) throws(StorageError) -> Bool {
        do throws(StorageError) {
            let pages = try connection.pragma("page_count") - connection.pragma("freelist_count")
            let (size, isTooMuch) = try pages.multipliedReportingOverflow(by: connection.pragma("page_size"))
            guard !isTooMuch, size <= mostBytesRewritten, size <= StoreFile.room(beside: connection.path) / 2,
                try isWhole(connection)
            else { return false }
            // The pragma undoes the change of another program, see `unreturnableBytes`. SQLite attaches the new file to
            // this connection during the VACUUM.
            if try connection.pragma("auto_vacuum") == 0 { try connection.execute("PRAGMA auto_vacuum = INCREMENTAL") }
            try connection.allowingAttached(1) { () throws(StorageError) in try connection.execute("VACUUM") }
            return true
        } catch {
            guard [.busy, .full, .tookTooLong].contains(error.code) || error.isUnreadableRow else { throw error }
            return false
        }
    }

    /// Returns whether rewriting the file from its rows loses nothing that a repair could use. A repair reads around
    /// damage, and finds the names of damaged and lost records in the index of names.
    private static func isWhole(_ connection: Connection) throws(StorageError) -> Bool {
        var isWhole = true
        try connection.pragma("quick_check(1)") { row throws(StorageError) in
            if row.text(0) != "ok" { isWhole = false }
        }
        let known = Set(try QueryTable.all(in: connection).map(\.id))
        return isWhole && QueryNames.bound(in: connection).keys.allSatisfy { known.contains($0) }
    }

    /// Deletes a query and its rows. Call inside a write transaction.
    static func remove(_ query: QueryID, in connection: Connection) throws(StorageError) {
        for removal in removals { try connection.run(removal, .int(query.rawValue)) }
        // SQLite does not delete a record whose name differs from its entry in the index of names.
        if try !QueryNames.isIndexed(query, in: connection) { try connection.execute(Repair.reindexNames) }
        try QueryTable.delete(query, in: connection)
    }

    /// Moves the last pages of the file into unused pages, and truncates the file.
    ///
    /// Each portion is one transaction, so that other writers get their turn. A portion needs room in the log for each
    /// page that it moves. Where the disk lacks that room, a smaller portion follows, and the log is merged in between.
    /// The file then becomes shorter, and the next portion uses the blocks of the log.
    /// - Throws: `full` when not one page can be moved.
    private static func shorten(in session: Session) throws(StorageError) {
        let connection = session.connection
        if try unreturnableBytes(of: connection) > 0 {
            _ = try rewriteFile(of: connection)
            return
        }
        var portion = mostPagesMoved
        while true {
            let before = try connection.pragma("freelist_count")
            guard before > 0 else { return }
            do throws(StorageError) {
                try connection.pragma("incremental_vacuum(\(portion))") { _ throws(StorageError) in }
                guard try connection.pragma("freelist_count") < before else { return }
                guard portion < mostPagesMoved else { continue }
                portion *= 2
            } catch {
                guard error.code == .full, portion > 1 else { throw error }
                portion = max(1, portion / 8)
            }
            _ = try? session.emptyLog(isUrgent: false)
        }
    }

    /// The largest number of database pages that one transaction moves.
    private static let mostPagesMoved = 2_048

    /// The bytes of the file that no row uses.
    static func unusedBytes(of connection: Connection) throws(StorageError) -> Int {
        let (bytes, isTooMuch) = try connection.pragma("freelist_count").multipliedReportingOverflow(
            by: connection.pragma("page_size"))
        return isTooMuch ? .max : Int(clamping: bytes)
    }

    /// The bytes that no row uses, if only a rewrite of the file returns them. That is so after another program has
    /// changed the file with `PRAGMA auto_vacuum` and VACUUM. 0 otherwise.
    static func unreturnableBytes(of connection: Connection) throws(StorageError) -> Int {
        try connection.pragma("auto_vacuum") == 0 ? unusedBytes(of: connection) : 0
    }

    /// Gives freed pages back to the file system, and empties the log, which may still hold purged data. Readers may
    /// delay that; a later commit then empties the log.
    /// - Parameter isUrgent: whether the call waits for readers and other writers to empty the log.
    /// - Returns: whether the log is free of purged data, from this purge and from earlier ones.
    @discardableResult
    static func returnSpace(in session: Session, isUrgent: Bool) throws(StorageError) -> Bool {
        let connection = session.connection
        do throws(StorageError) {
            try shorten(in: session)
            if try UpkeepTable.hasLog(in: connection) { return try session.finishPurges(isUrgent: isUrgent) }
            try session.emptyLog(isUrgent: isUrgent)
            return true
        } catch {
            guard error.code == .busy else { throw error }
            return try !UpkeepTable.hasLog(in: connection)
        }
    }
}
