import PageModel

/// Mends what can be mended, and drops what cannot: a hole that is known is better than bytes that are wrong.
struct Repair {
    private let session: Session
    private let now: Timestamp
    private var pagesDropped = 0
    private var queriesDropped = 0
    private var mended = 0
    private var changes: [QueryID: [Change]] = [:]
    /// What their journals record. Where more was lost than positions, readers begin anew.
    private var journals: [QueryID: JournalDraft] = [:]

    private var connection: Connection { session.connection }

    /// How a repair ended.
    enum Ending: Sendable {
        case mended(RepairReport)
        /// Rows cannot be read, or do not ascend: what is readable has to go to another file (`Salvage`).
        case needsNewFile(VerifyReport)
    }

    /// - Parameter incomplete: lists that have lost pages already; what they miss is queued.
    static func run(
        in session: Session, incomplete: Set<QueryID> = [], at now: Timestamp
    ) throws(StorageError) -> Ending {
        session.connection.timeLimit = nil
        session.identities.forgetAll()
        var repair = Repair(session, now)
        for query in incomplete { repair.changes[query] = [] }
        var before = try session.connection.transaction(.read) { () throws(StorageError) in Verification.run(in: session.connection) }
        // Writing to a b-tree that is damaged could damage it further.
        guard !before.damage.isTreeDamaged else { return .needsNewFile(before.report) }
        before = try session.write { () throws(StorageError) in
            let before = Verification.run(in: session.connection)
            if !before.damage.isTreeDamaged { try repair.mend(before.damage) }
            return before
        }
        guard !before.damage.isTreeDamaged else { return .needsNewFile(before.report) }
        if before.damage.isFileDamaged {
            // What SQLite finds wrong in the file's structure goes away when the file is written anew from its rows.
            // SQLite attaches the new file to itself while it does.
            try session.connection.allowingAttached(1) { () throws(StorageError) in try session.connection.execute("VACUUM") }
        }
        let after = try session.connection.transaction(.read) { () throws(StorageError) in
            Verification.run(in: session.connection)
        }
        guard !after.damage.isFileDamaged else { return .needsNewFile(before.report) }
        var report = RepairReport(found: before.report, left: after.report)
        report.pagesDropped = repair.pagesDropped
        report.queriesDropped = repair.queriesDropped
        report.mended = repair.mended
        return .mended(report)
    }

    private init(_ session: Session, _ now: Timestamp) {
        self.session = session
        self.now = now
    }

    private mutating func mend(_ damage: Verification.Damage) throws(StorageError) {
        if damage.hasLostNotes {
            try Migrator.renewNotes(in: connection, now: now)
            try StoreStamp.renewUnlessIntact(in: connection)
            mended += 1
        }
        for place in damage.identities { try renewHashes(place) }
        for place in damage.ledger { try LedgerTable.delete(at: place.offset, query: place.query, in: connection) }
        for place in damage.rows {
            try PageTable.delete(at: place.offset, of: place.query, in: connection)
            pagesDropped += 1
            changes[place.query, default: []].append(.dropped(place.offset..<place.offset))
            // Which positions are lost is not known.
            journals[place.query, default: JournalDraft(session.journalBound)].beginAnew()
        }
        for place in damage.pages { try drop(place) }
        for query in damage.queries { try renew(query) }
        for query in damage.journals {
            mended += 1
            journals[query, default: JournalDraft(session.journalBound)].beginAnew()
        }
        if damage.hasOrphans || !damage.rows.isEmpty || !damage.pages.isEmpty || queriesDropped > 0 {
            for deletion in Orphans.deletions { try connection.run(deletion) }
            mended += damage.hasOrphans ? 1 : 0
        }
        if damage.hasImpossibleNotes {
            for deletion in ImpossibleNotes.deletions { try connection.run(deletion) }
            mended += 1
        }
        let touched = Set(changes.keys).union(journals.keys)
        for query in touched.sorted(by: { $0.rawValue < $1.rawValue }) { try finish(query) }
    }

    private mutating func drop(_ place: Verification.Damage.Place) throws(StorageError) {
        guard let row = try PageTable.row(at: place.offset, of: place.query, in: connection) else { return }
        // Its body is an orphan now, unless the record named that of another page.
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
        // The list gets another version: an `IdentityIndex` of an earlier one is wrong.
        changes[place.query, default: []] += []
        mended += 1
    }

    /// A record whose name is whole is made anew from its pages: what else it said is asked of the origin again.
    private mutating func renew(_ query: SealedQuery) throws(StorageError) {
        guard query.hasItsName else {
            try Purge.remove(query.record.id, in: connection)
            queriesDropped += 1
            return
        }
        let pages = try PageTable.rows(of: query.record.id, in: connection)
        var record = query.record
        record.version = ListVersion(
            generation: pages.map(\.summary.generation).max() ?? 1, revision: (pages.map(\.summary.revision).max() ?? 0) + 1)
        record.total = .unknown
        record.end = nil
        record.validatedAt = nil
        record.invalidatedAt = nil
        record.freshFor = nil
        record.sweep = nil
        record.createdAt = min(pages.map(\.summary.fetchedAt).min() ?? now, now)
        record.paging = ""
        record.source = ""
        record.allowsDuplicates = false
        record.isPinned = false
        try QueryTable.save(record, in: connection)
        mended += 1
        changes[record.id, default: []].append(.total(.unknown))
        journals[record.id, default: JournalDraft(session.journalBound)].beginAnew()
    }

    /// Queues what is missing now, and makes plans that counted on it obsolete (R4).
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
        let version = try session.advance(query, journals[query] ?? JournalDraft(session.journalBound), at: now).version
        session.note(
            ChangeSet(
                query: query, version: record.version, contentVersion: version,
                changes: (changes[query] ?? []) + (queued.isEmpty ? [] : [.ledger(queued)])))
    }
}
