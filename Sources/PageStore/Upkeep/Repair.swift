import PageModel

/// Repairs the damage that can be repaired, and drops the other damaged rows. The gaps that result are fetched again.
struct Repair {
    private let session: Session
    private let now: Timestamp
    private var pagesDropped = 0
    private var queriesDropped = 0
    private var repaired = 0
    private var removed: [QueryRecord] = []
    private var pinsLost: [QueryKey] = []
    private var changes: [QueryID: [ChangeSet.Change]] = [:]
    /// The changes for the journal of each list. Where the lost positions are not known, or the record was rebuilt, the
    /// journal restarts and readers must read the list again.
    private var journals: [QueryID: JournalDraft] = [:]

    private var connection: Connection { session.connection }

    /// The result of a repair.
    enum Ending: Sendable {
        case repaired(RepairReport)
        /// Rows cannot be read, or do not ascend. The readable rows must be copied to another file (`Salvage`).
        case needsNewFile(VerifyReport)
    }

    /// Repairs the store.
    /// - Parameter incomplete: lists that have already lost pages. Their gaps are queued, too.
    /// - Throws: `full` when the disk has no room for the repair. The message names the number of bytes that it needs,
    ///   unless an eviction can make room without a free byte: see `Verification.Damage.allowsRewriting`.
    static func run(
        in session: Session, incomplete: Set<QueryID> = [], at now: Timestamp
    ) throws(StorageError) -> Ending {
        do throws(StorageError) {
            return try attempt(in: session, incomplete: incomplete, at: now)
        } catch {
            guard error.code == .full, (try? mayRewrite(session.connection)) == false else { throw error }
            throw Salvage.shortage(
                of: Salvage.bytesNeeded(by: session.connection), for: session.connection.path, ": \(error.message)",
                cause: error)
        }
    }

    private static func mayRewrite(_ connection: Connection) throws(StorageError) -> Bool {
        try connection.transaction(.read) { () throws(StorageError) in
            try Verification.run(in: connection).damage.allowsRewriting(connection)
        }
    }

    private static func attempt(
        in session: Session, incomplete: Set<QueryID>, at now: Timestamp
    ) throws(StorageError) -> Ending {
        session.connection.timeLimit = nil
        session.identities.forgetAll()
        if session.connection.lacksIndexes {
            try Migrator.createIndexes(in: session.connection)
            session.connection.lacksIndexes = false
        }
        var repair = Repair(session, now)
        for query in incomplete { repair.changes[query] = [] }
        let before = try session.connection.transaction(.read) { () throws(StorageError) in
            Verification.run(in: session.connection)
        }
        // Writing to a damaged b-tree could damage it further.
        guard !before.damage.isTreeDamaged else { return .needsNewFile(before.report) }
        var after = before
        do throws(StorageError) {
            // A repaired row can reveal further damage. For example, when an unreachable page record is dropped, its
            // body becomes an orphan.
            for _ in 0..<mostPasses {
                guard let found = try repair.pass() else { return .needsNewFile(before.report) }
                after = found
                if after.report.isSound { break }
            }
        } catch {
            // Some rows can be read but not changed. The readable rows must be copied to another file.
            guard error.isUnreadableRow else { throw error }
            return .needsNewFile(before.report)
        }
        guard !after.damage.isFileDamaged else { return .needsNewFile(before.report) }
        var report = RepairReport(found: before.report, remaining: after.report)
        report.pagesDropped = repair.pagesDropped
        report.queriesDropped = repair.queriesDropped
        report.repaired = repair.repaired
        report.removed = repair.removed
        report.pinsLost = repair.pinsLost
        return .repaired(report)
    }

    private static let mostPasses = 3

    /// Verifies, repairs and verifies again. Returns nil where a new file is needed.
    private mutating func pass() throws(StorageError) -> Verification? {
        let found = try session.write { () throws(StorageError) in
            let found = Verification.run(in: connection)
            if !found.damage.isTreeDamaged { try repairDamage(found.damage) }
            return found
        }
        guard !found.damage.isTreeDamaged else { return nil }
        if found.damage.isFileDamaged {
            // VACUUM rewrites the file from its rows, which removes structural damage. SQLite attaches the new file to
            // this connection during the VACUUM.
            try connection.allowingAttached(1) { () throws(StorageError) in try connection.execute("VACUUM") }
        }
        return try connection.transaction(.read) { () throws(StorageError) in Verification.run(in: connection) }
    }

    private init(_ session: Session, _ now: Timestamp) {
        self.session = session
        self.now = now
    }

    /// Rebuilds the indexes that are not tables of their own.
    private static let reindex = "\(reindexNames); REINDEX ledger_due; REINDEX ledger_failing"
    static let reindexNames = "REINDEX sqlite_autoindex_query_1"

    private mutating func repairDamage(_ damage: Verification.Damage) throws(StorageError) {
        // Deleting a row that is missing from an index would fail, so the indexes are rebuilt first.
        if damage.isFileDamaged { try connection.execute(Repair.reindex) }
        if damage.hasLostNotes {
            try Migrator.renewNotes(in: connection, now: now)
            try StoreStamp.renewUnlessIntact(in: connection)
            repaired += 1
        }
        for place in damage.identities { try renewHashes(place) }
        for place in damage.ledger { try LedgerTable.delete(at: place.offset, query: place.query, in: connection) }
        for place in damage.rows {
            try PageTable.delete(at: place.offset, of: place.query, in: connection)
            pagesDropped += 1
            changes[place.query, default: []].append(.dropped(place.offset..<place.offset))
            // The positions of a damaged row are not known.
            journals[place.query, default: JournalDraft(session.journalBound)].beginAnew()
        }
        for place in damage.pages { try drop(place) }
        for query in damage.namesakes {
            if let record = try? QueryTable.find(query, in: connection), record.isPinned { pinsLost.append(record.key) }
            try Purge.remove(query, in: connection)
            queriesDropped += 1
        }
        // Such a query may be the record of a lost query, under another id.
        for query in damage.queries where damage.names[query.record.id] == nil {
            try Purge.remove(query.record.id, in: connection)
            queriesDropped += 1
            removed.append(query.record)
        }
        pinsLost += damage.lost.compactMap { damage.names[$0] }
        for query in damage.lost { try QueryTable.insertUnsealed(damage.names[query]!, as: query, in: connection) }
        for query in damage.queries {
            if let name = damage.names[query.record.id] { try renew(query, name) }
        }
        for query in damage.holdings {
            // The next version of the list recounts its holdings.
            repaired += 1
            changes[query, default: []] += []
        }
        for query in damage.journals {
            repaired += 1
            journals[query, default: JournalDraft(session.journalBound)].beginAnew()
        }
        if damage.hasOrphans || !damage.rows.isEmpty || !damage.pages.isEmpty || queriesDropped > 0 {
            for deletion in Orphans.deletions { try connection.run(deletion) }
            repaired += damage.hasOrphans ? 1 : 0
        }
        if damage.hasImpossibleNotes {
            for deletion in ImpossibleNotes.deletions { try connection.run(deletion) }
            repaired += 1
        }
        let touched = Set(changes.keys).union(journals.keys)
        for query in touched.sorted(by: { $0.rawValue < $1.rawValue }) { try finish(query) }
    }

    private mutating func drop(_ place: Verification.Damage.Place) throws(StorageError) {
        guard let row = try PageTable.row(at: place.offset, of: place.query, in: connection) else { return }
        // The body is an orphan now, unless the record referred to the body of another page.
        try PageTable.delete(at: place.offset, of: place.query, in: connection)
        pagesDropped += 1
        changes[place.query, default: []].append(.dropped(row.summary.range))
        journals[place.query, default: JournalDraft(session.journalBound)].dropped(row.summary.range)
    }

    private mutating func renewHashes(_ place: Verification.Damage.Place) throws(StorageError) {
        guard let row = try PageTable.row(at: place.offset, of: place.query, in: connection),
            let content = try BodyTable.content(of: row, in: connection)
        else { return }
        try IdentityTable.insert(content.identities, of: row.body, query: place.query, in: connection)
        // The list gets another version, so an `IdentityIndex` of an earlier version becomes invalid.
        changes[place.query, default: []] += []
        repaired += 1
    }

    /// Rebuilds a record from its name and the pages of its list.
    /// - Parameters:
    ///   - query: the damaged record.
    ///   - name: the name that is bound to its id.
    private mutating func renew(_ query: ChecksummedQuery, _ name: QueryKey) throws(StorageError) {
        let pages = try PageTable.rows(of: query.record.id, in: connection).map(\.summary)
        let record = QueryRecord.rebuilt(query.record, as: name, from: pages, at: now)
        if try QueryTable.pin(of: record.id, in: connection) == nil, !record.isPinned { pinsLost.append(name) }
        try QueryTable.save(record, in: connection)
        repaired += 1
        changes[record.id, default: []].append(.total(.unknown))
        journals[record.id, default: JournalDraft(session.journalBound)].beginAnew()
    }

    /// Queues the gaps of a list, and makes plans for its earlier state obsolete (R4).
    private func finish(_ query: QueryID) throws(StorageError) {
        session.identities.forget(query)
        guard var record = try QueryTable.find(query, in: connection) else { return }
        record.version.revision += 1
        try QueryTable.save(record, in: connection)
        let list = ListOutline(
            record: record, pages: try PageTable.rows(of: query, in: connection).map(\.summary),
            ledger: [], readAt: now)
        var queued: [Int] = []
        for gap in list.gaps {
            try LedgerTable.drop(gap, query: query, in: connection)
            try LedgerTable.queue(gap.lowerBound, query: query, at: now, in: connection)
            queued.append(gap.lowerBound)
        }
        let version = try session.advance(
            query, journals[query] ?? JournalDraft(session.journalBound),
            holdings: ListHoldings(list.pages, generation: record.version.generation), at: now
        ).version
        session.note(
            ChangeSet(
                query: query, version: record.version, contentVersion: version,
                changes: (changes[query] ?? []) + (queued.isEmpty ? [] : [.ledger(queued)])))
    }
}

extension Verification.Damage {
    /// Whether all damage is in rows that a copy of the lists creates again: records of migrations, the stamp, journals
    /// and holdings.
    var sparesLists: Bool {
        pages.isEmpty && rows.isEmpty && identities.isEmpty && queries.isEmpty && lost.isEmpty && namesakes.isEmpty
            && ledger.isEmpty && !isFileDamaged && !isTreeDamaged && !hasOrphans && !hasImpossibleNotes
    }

    /// Whether every row can be read and deleted. Rows may have wrong checksums.
    var sparesTrees: Bool { !isFileDamaged && !isTreeDamaged }

    /// Whether an eviction may write the rows that stay over the file, see `MemoryCopy`. A copy lacks the rows that
    /// cannot be read, and with them the evidence of the damage. A file without incremental vacuum would not become
    /// shorter.
    func allowsRewriting(_ connection: Connection) throws(StorageError) -> Bool {
        if sparesLists { return true }
        guard sparesTrees else { return false }
        return try connection.pragma("auto_vacuum") != 0
    }

    /// Counts what a repair in place drops and rebuilds.
    func count(into report: inout RepairReport) {
        let nameless = queries.count { names[$0.record.id] == nil }
        report.pagesDropped = Set(pages).count + rows.count
        report.queriesDropped = namesakes.count + nameless
        report.repaired =
            identities.count + queries.count - nameless + holdings.count + journals.count
            + [hasOrphans, hasImpossibleNotes, hasLostNotes].count { $0 }
    }
}
