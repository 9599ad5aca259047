#if PostgreSQL
import PageModel

/// Applies a `CommitPlan` inside one transaction (R1), under the generation and revision it was planned for (R4).
///
/// State: the record, the holdings and the changes so far. An object lives for one transaction.
final class ListCommit {
    let plan: CommitPlan
    let work: WriteBatch
    let image: ListImage
    let moment: StorageMoment
    var list: ListRow
    /// The changes that are announced to observers after the commit.
    var changes: [ChangeSet.Change] = []
    /// The changes that the journal records (R48).
    var journal: JournalDraft
    /// True once an edit has moved positions, removed them or marked them as stale. The revision then rises by `step`,
    /// however many edits did so.
    var moved = false
    /// The number by which the commit raises the revision. It is random, except in tests, because a failover can lose
    /// commits. With steps of one, a later commit could give the list a lost revision again, with other positions. A
    /// plan made for the lost revision would then be applied to these positions (R4).
    let step: Int
    /// The time at which the lease for page one was granted; `nil` when the plan names no such lease, or the lease was
    /// lost.
    var grantedAt: Timestamp?
    /// Whether the list has failures when the commit begins. No other transaction can add a failure meanwhile, because
    /// that requires the lock of the list. This transaction records its own failures after its list edits.
    let hasFailures: Bool
    /// The record as it is stored before the commit.
    let before: ListRow

    var query: QueryID { plan.query }
    var now: Timestamp { moment.now }
    var generation: Int { list.record.version.generation }

    init(
        _ plan: CommitPlan, _ list: ListRow, _ image: ListImage, _ work: WriteBatch, bound: JournalBound,
        at moment: StorageMoment, step: Int, hasFailures: Bool
    ) {
        self.plan = plan
        self.step = step
        self.hasFailures = hasFailures
        self.list = list
        self.image = image
        self.work = work
        self.moment = moment
        before = list
        journal = JournalDraft(bound)
    }

    /// Applies the edits of the plan. Returns nil when all edits were applied. Otherwise returns the outcome with which
    /// the caller abandons the whole transaction.
    func applyEdits() async throws(StorageError) -> CommitOutcome? {
        for precondition in plan.preconditions {
            let page = try await image.row(at: precondition.offset)?.summary
            guard precondition.holds(of: page, generation: generation) else { return .superseded(list.record.version) }
        }
        for edit in plan.edits {
            if let refusal = try await apply(edit) { return refusal }
        }
        if plan.bringsTotalBesidePageOne(before: before.record.total, after: list.record.total) {
            try await clearTotalCoverage()
        }
        if moved { list.record.version.revision += step }
        if image.broken > 0 {
            // The positions of a damaged row are not known.
            journal.beginAnew()
            list.holdings = nil
        }
        return nil
    }

    private func apply(_ edit: ListEdit) async throws(StorageError) -> CommitOutcome? {
        switch edit {
        case .insertPage(let page): return try await write(page)
        case .rearrange(let rearrangement): return try await rearrange(rearrangement)
        case .markContiguous(let range): try await verify(range)
        case .touchPage(let offset, let validator): try await confirm(offset, validator)
        case .startGeneration:
            list.record.version = ListVersion(generation: generation + 1, revision: step - 1)
            changes.append(.generationBegan)
            list.holdings?.startGeneration()
            journal.generationBegan()
        case .markStale(let range): try await markStale(range)
        case .truncate(let position): try await truncate(at: position)
        case .dropOlderGenerations:
            for row in try await image.rows(olderThan: generation) { delete(row) }
            changes.append(.olderGenerationsDropped)
        case .setTotal(let total):
            try check(total.count)
            guard list.record.total != total else { break }
            list.record.total = total
            changes.append(.total(total))
        case .setEnd(let end):
            try check(end)
            guard list.record.end != end else { break }
            list.record.end = end
            changes.append(.end(end))
        case .setResultWindow(let window):
            try check(window)
            describe { $0.resultWindow = window }
        case .validated:
            list.record.validatedAt = now
            if let invalidatedAt = list.record.invalidatedAt,
                CommitPlan.isAsked(grantedAt, since: invalidatedAt, now: now)
            {
                list.record.invalidatedAt = nil
            }
            changes.append(.validated)
        case .invalidated: describe { $0.invalidatedAt = now }
        case .setFreshFor(let duration): describe { $0.freshFor = duration?.keptFreshness }
        case .setSweep(let progress):
            try check(progress?.position)
            describe { $0.sweep = progress }
        case .audited: describe { $0.lastAuditAt = now }
        case .setAllowsDuplicates(let allows):
            if !allows, list.record.allowsDuplicates, let repeated = try await firstRepeat() { return repeated }
            describe { $0.allowsDuplicates = allows }
        case .setUnproven(let isUnproven): describe { $0.isUnproven = isUnproven }
        case .describe(let paging, let source):
            describe {
                $0.paging = paging
                $0.source = source
            }
        }
        return nil
    }

    private func describe(_ change: (inout QueryRecord) -> Void) {
        let known = list.record
        change(&list.record)
        if list.record != known { changes.append(.described) }
    }

    /// Throws `invalidPlan` for a position outside the bounds of stored positions, because a read would refuse a row
    /// with such a position.
    func check(_ position: Int?) throws(StorageError) {
        guard let position, !StoredBounds.positions.contains(position) else { return }
        throw StorageError(.invalidPlan, "the position \(position) is out of range")
    }

    // MARK: Rows

    func isHeld(_ row: PageRow) -> Bool { row.summary.generation == generation }

    func delete(_ row: PageRow) {
        image.delete(row)
        let isHeld = isHeld(row)
        list.holdings?.remove(row.summary.range, isHeld: isHeld)
    }

    func insert(
        _ summary: PageSummary, _ content: PageContent, _ identities: [ItemIdentity], usedAt: Timestamp? = nil
    ) {
        image.insert(summary, content, identities, usedAt: usedAt)
        let isHeld = summary.generation == generation
        list.holdings?.add(summary.range, isHeld: isHeld)
    }

    /// Writes a page that is made from other pages, which were last read at `usedAt`.
    func rewrite(_ summary: PageSummary, _ content: PageContent, usedAt: Timestamp?) {
        var summary = summary
        let identities = content.identities
        summary.fingerprint = PageContent.fingerprint(of: identities)
        insert(summary, content, identities, usedAt: usedAt)
    }

    /// Deletes the pages in `range`. Returns the held items of these pages for the journal, or none if their bytes
    /// exceed its bound.
    func takeOut(_ range: Range<Int>) async throws(StorageError) -> [JournalDraft.TakenOut] {
        let rows = try await image.rows(meeting: range)
        let held = rows.filter { isHeld($0) && $0.summary.count > 0 }
        var takenOut: [JournalDraft.TakenOut] = []
        if journal.takesIn(bytes: held.reduce(0) { $0 + $1.bytes }) {
            try await image.prepareContents(of: held)
            for row in held {
                if let content = try await image.content(of: row) {
                    takenOut.append((row.summary.offset, content))
                } else {
                    journal.dropped(row.summary.range)
                }
            }
        }
        for row in rows { delete(row) }
        return takenOut
    }

    func takeOutRecords(_ range: Range<Int>) {
        work.add(LedgerRow.takingOut, [.integer(query.rawValue), .int(range.lowerBound), .int(range.upperBound)])
    }

    // MARK: The version

    /// Whether readers can see the commit, so that the list gets another version (R51).
    var isVisible: Bool { changes.contains(where: \.isSeenByReaders) || list.holdings != before.holdings }

    /// Recounts unknown holdings from the pages of the list, if the plan validates page one or sets the end. Other
    /// plans leave them unknown, because a recount reads all page records.
    func recountHoldings() async throws(StorageError) {
        let isSettled = plan.edits.contains { edit in
            switch edit {
            case .validated, .setEnd: true
            default: false
            }
        }
        guard list.holdings == nil, isSettled else { return }
        let found = try await work.read([(PageRow.all, [.integer(query.rawValue)])])
        list.holdings = ListHoldings(
            PageRows(found[0].all, of: query).rows.lazy.map(\.summary), generation: generation)
    }
}
#endif
