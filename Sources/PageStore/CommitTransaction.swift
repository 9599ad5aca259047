import PageModel

/// Applies a `CommitPlan` in one transaction (R1), under the generation and revision it was planned for (R4).
///
/// Lives for one transaction; nothing of it outlives the commit or the rollback.
struct CommitTransaction {
    let session: Session
    let plan: CommitPlan
    private(set) var record: QueryRecord
    /// What was put: failures recorded for these positions are history.
    private var stored: [Range<Int>] = []
    /// True once positions moved: the revision goes up by one, however many edits moved them.
    var moved = false

    var connection: Connection { session.connection }
    var query: QueryID { plan.query }

    static func apply(_ plan: CommitPlan, in session: Session) throws(StorageError) -> CommitOutcome {
        var abandoned: CommitOutcome?
        do {
            return try session.connection.transaction(.write) { () throws(StorageError) in
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
        let before = record.version
        for edit in plan.edits {
            if let refusal = try apply(edit) { return refusal }
        }
        try LedgerTable.apply(plan.ledger, query: query, at: plan.at, in: connection)
        for range in stored { try LedgerTable.dropFailures(in: range, query: query, in: connection) }
        if moved { record.version.revision += 1 }
        if record.version != before { try QueryTable.setVersion(record.version, of: query, in: connection) }
        return nil
    }

    private mutating func apply(_ edit: ListEdit) throws(StorageError) -> CommitOutcome? {
        switch edit {
        case .put(let page):
            return try put(page)
        case .splice(let range, let page):
            return try splice(range, page)
        case .confirm(let offset, let validator):
            try confirm(offset, validator)
        case .beginGeneration:
            record.version = ListVersion(generation: record.version.generation + 1, revision: 0)
            session.identities.forget(query)
        case .demote(let range):
            try demote(range)
        case .truncate(let position):
            try cut(at: position)
            try PageTable.deleteAll(where: "offset >= ?2", position, query: query, in: connection)
            try LedgerTable.drop(position..<Int.max, query: query, in: connection)
            session.identities.forget(query)
        case .dropOlderGenerations:
            try PageTable.deleteAll(
                where: "generation < ?2", record.version.generation, query: query, in: connection)
            session.identities.forget(query)
        case .setTotal(let total):
            try QueryTable.set(total, of: query, in: connection)
        case .setEnd(let end):
            try QueryTable.setEnd(end, of: query, in: connection)
        case .validated:
            try QueryTable.setValidated(at: plan.at, query: query, in: connection)
        case .allowDuplicates:
            record.allowsDuplicates = true
            try QueryTable.allowDuplicates(query: query, in: connection)
        case .describe(let paging, let source):
            try QueryTable.describe(paging: paging, source: source, query: query, in: connection)
        }
        return nil
    }

    // MARK: Writing a page

    mutating func put(_ page: PageWrite) throws(StorageError) -> CommitOutcome? {
        guard page.offset >= 0, page.offset <= Total.largest else {
            throw StorageError(.invalidPlan, "a page cannot lie at offset \(page.offset)")
        }
        let identities = page.content.identities
        // A page without items lies somewhere, too.
        let place = page.offset..<page.offset + max(page.content.count, 1)
        for row in try PageTable.rows(meeting: place, of: query, in: connection) {
            let held = row.summary
            if held.generation == record.version.generation, held.count > 0 {
                // Somebody else stored this very page meanwhile: then there is nothing to do but to agree (R6).
                if held.offset == page.offset, held.fingerprint == PageContent.fingerprint(of: identities) {
                    try confirm(page.offset, page.validator)
                    return nil
                }
                return .duplicates([held.range])
            }
            if held.offset == page.offset, held.count > 0,
                try PageTable.content(of: row, query: query, in: connection) == page.content
            {
                // R6: fetched again, and what it was: it counts as held again, and no item is written anew.
                try PageTable.revive(row, as: page, in: record, at: plan.at, connection)
                session.identities.forget(query)
                stored.append(page.range)
                return nil
            }
            try delete(row)
        }
        if !record.allowsDuplicates, let repeated = try makeRoom(for: identities, of: page) { return repeated }

        let summary = PageSummary(
            offset: page.offset, count: page.content.count, generation: record.version.generation,
            revision: record.version.revision, evidence: page.offset == 0 ? .verified : page.evidence,
            evidenceAt: plan.at, fetchedAt: plan.at, validatedAt: plan.at,
            fingerprint: PageContent.fingerprint(of: identities), cursorIn: page.cursorIn,
            cursorOut: page.cursorOut, validator: page.validator)
        try insert(summary, page.content, identities)
        stored.append(page.range)
        return nil
    }

    /// R5: no id twice. Pages of older generations that hold one of these items give way (R19); a page that counts as
    /// held does not, and then the plan is refused.
    private mutating func makeRoom(
        for identities: [ItemIdentity], of page: PageWrite
    ) throws(StorageError) -> CommitOutcome? {
        let keys = identities.map(\.key)
        guard Set(keys).count == keys.count else { return .duplicates([page.range]) }
        var conflicts: [Range<Int>] = []
        for (body, place) in try session.identities.bodies(holding: keys, in: query, connection) {
            guard let row = try PageTable.row(at: place.offset, of: query, in: connection), row.body == body else {
                throw StorageError(.damaged, "the item index of \(connection.path) does not match its pages")
            }
            if row.summary.generation < record.version.generation {
                try delete(row)
            } else if try sharesItems(row, with: page.content) {
                conflicts.append(row.summary.range)
            }
        }
        return conflicts.isEmpty ? nil : .duplicates(conflicts.sorted { $0.lowerBound < $1.lowerBound })
    }

    /// Whether a page really holds one of these items, and not just an equal hash.
    private func sharesItems(_ row: PageRow, with content: PageContent) throws(StorageError) -> Bool {
        // Damaged bytes cannot tell; then the hash is believed, and the page is fetched again.
        guard let stored = try PageTable.content(of: row, query: query, in: connection) else { return true }
        let ids = Set((0..<content.count).compactMap { content.ids[$0] })
        let anonymous = Set((0..<content.count).filter { content.ids[$0] == nil }.map { content.payload(at: $0) })
        return (0..<stored.count).contains { index in
            stored.ids[index].map(ids.contains) ?? anonymous.contains(stored.payload(at: index))
        }
    }

    private mutating func confirm(_ offset: Int, _ validator: Validator?) throws(StorageError) {
        try connection.run(
            "UPDATE page SET validated_at = ? WHERE query = ? AND offset = ?", .time(plan.at), .int(query.rawValue),
            .int(offset))
        guard let validator else { return }
        try connection.run(
            """
            UPDATE page SET request = ?, entity_tag = ?, last_modified = ?, covers_total = ?
            WHERE query = ? AND offset = ?
            """, .text(validator.request), .optional(validator.entityTag), .optional(validator.lastModified),
            .bool(validator.coversTotal), .int(query.rawValue), .int(offset))
    }

    private mutating func demote(_ range: Range<Int>) throws(StorageError) {
        // Positions stay, but plans that counted on these pages must be made again.
        moved = true
        for row in try PageTable.rows(meeting: range, of: query, in: connection)
        where row.summary.generation == record.version.generation {
            try connection.run(
                "UPDATE page SET generation = ? WHERE query = ? AND offset = ?",
                .int(record.version.generation - 1), .int(query.rawValue), .int(row.summary.offset))
        }
        session.identities.forget(query)
    }

    // MARK: Rows

    mutating func rewrite(_ summary: PageSummary, _ content: PageContent) throws(StorageError) {
        var summary = summary
        let identities = content.identities
        summary.fingerprint = PageContent.fingerprint(of: identities)
        try insert(summary, content, identities)
    }

    private mutating func insert(
        _ summary: PageSummary, _ content: PageContent, _ identities: [ItemIdentity]
    ) throws(StorageError) {
        let body = try PageTable.insert(summary, content, identities: identities, query: query, in: connection)
        session.identities.add(
            body, at: BodyPlace(offset: summary.offset, generation: summary.generation), keys: identities.map(\.key),
            in: query)
    }

    mutating func delete(_ row: PageRow) throws(StorageError) {
        try PageTable.delete(row, query: query, in: connection)
        session.identities.remove(row.body, in: query)
    }
}

extension StorageError {
    /// Ends a transaction that must not commit; never leaves this file.
    fileprivate static var abandoned: StorageError { StorageError(.internal, "the plan was abandoned") }
}
