import PageModel

/// Applies a `CommitPlan` in one transaction (R1), under the generation and revision it was planned for (R4).
///
/// Lives for one transaction; nothing of it outlives the commit or the rollback.
struct CommitTransaction {
    let session: Session
    let plan: CommitPlan
    private(set) var record: QueryRecord
    /// What observers will be told.
    var changes: [Change] = []
    /// True once positions moved: the revision goes up by one, however many edits moved them.
    var moved = false

    var connection: Connection { session.connection }
    var query: QueryID { plan.query }

    static func apply(_ plan: CommitPlan, in session: Session) throws(StorageError) -> CommitOutcome {
        var abandoned: CommitOutcome?
        do {
            return try session.write(at: plan.at) { () throws(StorageError) in
                try session.identities.refresh(session.connection)
                guard let record = try QueryTable.find(plan.query, in: session.connection) else {
                    // Purged since: no plan of its old life applies any more.
                    abandoned = .superseded(ListVersion(generation: 0, revision: 0))
                    throw .abandoned
                }
                guard record.version == plan.version else {
                    abandoned = .superseded(record.version)
                    throw .abandoned
                }
                var transaction = CommitTransaction(session: session, plan: plan, record: record)
                if let refusal = try transaction.run() {
                    abandoned = refusal
                    throw .abandoned
                }
                return .committed(transaction.record.version)
            }
        } catch {
            session.identities.forgetAll()
            if let abandoned { return abandoned }
            throw error
        }
    }

    private init(session: Session, plan: CommitPlan, record: QueryRecord) {
        self.session = session
        self.plan = plan
        self.record = record
    }

    /// Nil when everything was applied; otherwise why nothing may be.
    private mutating func run() throws(StorageError) -> CommitOutcome? {
        let before = record
        for edit in plan.edits {
            if let refusal = try apply(edit) { return refusal }
        }
        let offsets = try LedgerTable.apply(plan.ledger, query: query, at: plan.at, in: connection)
        if !offsets.isEmpty { changes.append(.ledger(offsets)) }
        if moved { record.version.revision += 1 }
        if record != before { try QueryTable.save(record, in: connection) }
        if !changes.isEmpty { session.note(ChangeSet(query: query, version: record.version, changes: changes)) }
        return nil
    }

    private mutating func apply(_ edit: ListEdit) throws(StorageError) -> CommitOutcome? {
        switch edit {
        case .put(let page):
            return try write(page)
        case .splice(let range, let page):
            return try splice(range, page)
        case .confirm(let offset, let validator):
            try confirm(offset, validator)
        case .beginGeneration:
            record.version = ListVersion(generation: record.version.generation + 1, revision: 0)
            changes.append(.generationBegan)
        case .demote(let range):
            try demote(range)
        case .truncate(let position):
            try truncate(at: position)
        case .dropOlderGenerations:
            let pages = try PageTable.rows(of: query, in: connection)
            for row in pages where row.summary.generation < record.version.generation { try delete(row) }
            changes.append(.olderGenerationsDropped)
        case .setTotal(let total):
            try check(total.count)
            guard record.total != total else { break }
            record.total = total
            changes.append(.total(total))
        case .setEnd(let end):
            try check(end)
            guard record.end != end else { break }
            record.end = end
            changes.append(.end(end))
        case .validated:
            record.validatedAt = plan.at
            changes.append(.validated)
        case .setSweep(let progress):
            try check(progress?.position)
            guard record.sweep != progress else { break }
            record.sweep = progress
            changes.append(.described)
        case .allowDuplicates:
            guard !record.allowsDuplicates else { break }
            record.allowsDuplicates = true
            changes.append(.described)
        case .describe(let paging, let source):
            guard record.paging != paging || record.source != source else { break }
            record.paging = paging
            record.source = source
            changes.append(.described)
        }
        return nil
    }

    /// What cannot be read back is not written.
    private func check(_ position: Int?) throws(StorageError) {
        guard let position, !(0...Total.largest).contains(position) else { return }
        throw StorageError(.invalidPlan, "\(position) is no position in a list")
    }

    // MARK: Writing a page

    /// Stores a page where nothing is held.
    /// - Parameter quietly: whether what it is part of tells the observers.
    mutating func write(_ page: PageWrite, quietly: Bool = false) throws(StorageError) -> CommitOutcome? {
        guard page.offset >= 0, page.offset <= Total.largest - page.content.count else {
            throw StorageError(.invalidPlan, "a page cannot lie at offset \(page.offset)")
        }
        let identities = page.content.identities
        let fingerprint = PageContent.fingerprint(of: identities)
        // A page without items lies somewhere, too.
        for row in try rows(meeting: page.offset..<page.offset + max(page.content.count, 1)) {
            let held = row.summary
            if held.generation == record.version.generation, held.count > 0 {
                // Somebody else stored this very page meanwhile: then there is nothing to do but to agree (R6).
                if held.offset == page.offset, held.fingerprint == fingerprint {
                    try agree(row, with: page)
                    return nil
                }
                return .duplicates([held.range])
            }
            if held.offset == page.offset, held.count > 0, held.fingerprint == fingerprint,
                try BodyTable.content(of: row, in: connection) == page.content
            {
                // R6: fetched again, and what it was: it counts as held again, and no item is written anew.
                var revived = row
                revived.summary = summary(of: page, fingerprint)
                try PageTable.store(revived, of: query, in: connection)
                try stored(page, quietly: quietly)
                return nil
            }
            try delete(row)
        }
        if !record.allowsDuplicates, let repeated = try makeRoom(for: identities, of: page) { return repeated }
        try insert(summary(of: page, fingerprint), page.content, identities)
        try stored(page, quietly: quietly)
        // G1: what lies behind was seen next to something, but not to this.
        try doubt(page.range.upperBound)
        return nil
    }

    private mutating func stored(_ page: PageWrite, quietly: Bool) throws(StorageError) {
        if !quietly { changes.append(.stored(page.range)) }
        // What failed here before is history.
        try LedgerTable.dropFailures(in: page.range, query: query, in: connection)
    }

    /// The page is held already, item for item: it is as fresh as if it had been written.
    private mutating func agree(_ row: PageRow, with page: PageWrite) throws(StorageError) {
        var row = row
        row.summary.validatedAt = plan.at
        row.summary.validator = page.validator ?? row.summary.validator
        row.summary.cursorIn = page.cursorIn ?? row.summary.cursorIn
        row.summary.cursorOut = page.cursorOut ?? row.summary.cursorOut
        if page.evidence == .verified, row.summary.evidence == .inferred {
            row.summary.evidence = .verified
            row.summary.evidenceAt = plan.at
        }
        try PageTable.store(row, of: query, in: connection)
        changes.append(.confirmed(row.summary.range))
        try LedgerTable.dropFailures(in: row.summary.range, query: query, in: connection)
    }

    private func summary(of page: PageWrite, _ fingerprint: UInt64) -> PageSummary {
        PageSummary(
            offset: page.offset, count: page.content.count, generation: record.version.generation,
            revision: record.version.revision, evidence: page.offset == 0 ? .verified : page.evidence,
            evidenceAt: plan.at, fetchedAt: plan.at, validatedAt: plan.at, fingerprint: fingerprint,
            cursorIn: page.cursorIn, cursorOut: page.cursorOut, validator: page.validator)
    }

    /// R5: no id twice. Pages of older generations that hold one of these items give way (R19); a page that counts as
    /// held does not, and then the plan is refused.
    private mutating func makeRoom(
        for identities: [ItemIdentity], of page: PageWrite
    ) throws(StorageError) -> CommitOutcome? {
        let keys = identities.map(\.key)
        guard Set(keys).count == keys.count else { return .duplicates([page.range]) }
        var conflicts: [Range<Int>] = []
        for (body, offset) in try session.identities.bodies(holding: keys, in: query, connection) {
            // A row that is not whole, or not where it is said to be, holds nothing.
            // The index may be out of date, and hashes may be equal by chance: the items decide.
            guard let row = try PageTable.row(at: offset, of: query, in: connection), row.body == body,
                try sharesItems(row, with: page.content)
            else { continue }
            if row.summary.generation < record.version.generation {
                try delete(row)
            } else {
                conflicts.append(row.summary.range)
            }
        }
        return conflicts.isEmpty ? nil : .duplicates(conflicts.sorted { $0.lowerBound < $1.lowerBound })
    }

    /// Whether a page really holds one of these items, and not just an equal hash.
    private func sharesItems(_ row: PageRow, with content: PageContent) throws(StorageError) -> Bool {
        // Damaged bytes cannot tell; then the hash is believed, and the page is fetched again.
        guard let stored = try BodyTable.content(of: row, in: connection) else { return true }
        let ids = Set((0..<content.count).compactMap { content.ids[$0] })
        let anonymous = Set((0..<content.count).filter { content.ids[$0] == nil }.map { content.payload(at: $0) })
        return (0..<stored.count).contains { index in
            stored.ids[index].map(ids.contains) ?? anonymous.contains(stored.payload(at: index))
        }
    }

    private mutating func confirm(_ offset: Int, _ validator: Validator?) throws(StorageError) {
        guard var row = try PageTable.row(at: offset, of: query, in: connection) else { return }
        changes.append(.confirmed(row.summary.range))
        guard let validator, validator != row.summary.validator else {
            return try PageTable.touch(row, at: plan.at, of: query, in: connection)
        }
        row.summary.validatedAt = plan.at
        row.summary.validator = validator
        try PageTable.store(row, of: query, in: connection)
    }

    private mutating func demote(_ range: Range<Int>) throws(StorageError) {
        // Positions stay, but plans that counted on these pages must be made again.
        moved = true
        for var row in try rows(meeting: range) where row.summary.generation == record.version.generation {
            row.summary.generation -= 1
            try PageTable.store(row, of: query, in: connection)
        }
        changes.append(.demoted(range))
    }

    private mutating func truncate(at position: Int) throws(StorageError) {
        try check(position)
        moved = true
        try cut(at: position)
        for row in try rows(meeting: position..<Int.max) { try delete(row) }
        try LedgerTable.drop(position..<Int.max, query: query, in: connection)
        changes.append(.truncated(position))
    }

    // MARK: Rows

    /// The pages that hold positions in `range`. Rows that are not whole are dropped on the way, so that nothing is
    /// built around them; their bodies are left for `repair`.
    mutating func rows(meeting range: Range<Int>) throws(StorageError) -> [PageRow] {
        while true {
            var broken: [Int] = []
            let rows = try PageTable.rows(meeting: range, of: query, in: connection) { broken.append($0) }
            guard !broken.isEmpty else { return rows }
            for offset in broken { try PageTable.delete(at: offset, of: query, in: connection) }
            session.identities.forget(query)
        }
    }

    /// Writes a page that is made of others, which were read last at `usedAt`.
    mutating func rewrite(
        _ summary: PageSummary, _ content: PageContent, usedAt: Timestamp?
    ) throws(StorageError) {
        var summary = summary
        let identities = content.identities
        summary.fingerprint = PageContent.fingerprint(of: identities)
        let body = try insert(summary, content, identities)
        if let usedAt { try AccessTable.note([body], at: usedAt, in: connection) }
    }

    @discardableResult
    private mutating func insert(
        _ summary: PageSummary, _ content: PageContent, _ identities: [ItemIdentity]
    ) throws(StorageError) -> Int64 {
        let row = try BodyTable.insert(content, identities: identities, for: summary, of: query, in: connection)
        try PageTable.store(row, of: query, in: connection)
        session.identities.add(row.body, at: summary.offset, identities, in: query)
        return row.body
    }

    mutating func delete(_ row: PageRow) throws(StorageError) {
        try BodyTable.delete(row.body, of: query, in: connection)
        try PageTable.delete(at: row.summary.offset, of: query, in: connection)
        session.identities.remove(row.body, in: query)
    }
}

extension StorageError {
    /// Ends a transaction that must not commit; never leaves this file.
    fileprivate static var abandoned: StorageError { StorageError(.internal, "the plan was abandoned") }
}
