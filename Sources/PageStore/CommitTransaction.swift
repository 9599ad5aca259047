import PageModel

/// Applies a `CommitPlan` in one transaction (R1), if the list still has the generation and the revision of the plan
/// (R4).
///
/// A value lives for one transaction and is discarded after the commit or the rollback.
struct CommitTransaction {
    let session: Session
    let plan: CommitPlan
    var record: QueryRecord
    /// The changes that are announced to observers after the commit.
    var changes: [ChangeSet.Change] = []
    /// The changes that the journal records (R48).
    var journal: JournalDraft
    private var tail: JournalTail?
    /// The holdings of the list, updated with each row. `nil` means that they are not known.
    var holdings: ListHoldings?
    /// True once an edit has moved positions, removed them or marked them as stale. The revision then rises by one,
    /// however many edits did so.
    var moved = false
    /// The leases granted at the end of the commit. `nil` when the caller requested none.
    private var grant: LeaseGrant?
    private var lostLeases: Set<LeaseToken> = []
    /// The time at which the lease for page one was granted. `nil` when the plan names no such lease, the lease was
    /// lost, or the list is not invalidated.
    private var grantedAt: Timestamp?
    private let moment: StorageMoment

    var connection: Connection { session.connection }
    var query: QueryID { plan.query }
    /// The time stored in everything that this transaction writes.
    var now: Timestamp { moment.now }

    static func apply(
        _ plan: CommitPlan, claiming request: LeaseRequest?, in session: Session
    ) throws(StorageError) -> CommitReceipt {
        var abandoned: CommitOutcome?
        do {
            return try session.write { moment throws(StorageError) in
                guard let list = try session.list(plan.query) else {
                    // The query was purged, so no plan for it applies any more.
                    abandoned = .superseded(ListVersion(generation: 0, revision: 0))
                    throw .abandoned
                }
                let record = list.record
                guard plan.isBased(on: record) else {
                    abandoned = .superseded(record.version)
                    throw .abandoned
                }
                for precondition in plan.preconditions {
                    let page = try PageTable.row(at: precondition.offset, of: plan.query, in: session.connection)?
                        .summary
                    guard precondition.holds(of: page, generation: record.version.generation) else {
                        abandoned = .superseded(record.version)
                        throw .abandoned
                    }
                }
                var transaction = CommitTransaction(session: session, plan: plan, list, moment: moment)
                if let refusal = try transaction.run(claiming: request) {
                    abandoned = refusal
                    throw .abandoned
                }
                return CommitReceipt(
                    .committed(transaction.record.version), grant: transaction.grant, lostLeases: transaction.lostLeases
                )
            }
        } catch {
            session.identities.forgetAll()
            if let abandoned { return CommitReceipt(abandoned) }
            throw error
        }
    }

    private init(session: Session, plan: CommitPlan, _ list: CommittedList, moment: StorageMoment) {
        self.moment = moment
        self.session = session
        self.plan = plan
        record = list.record
        tail = list.tail
        holdings = list.holdings
        journal = JournalDraft(session.journalBound)
    }

    /// Applies the plan. Returns nil when all edits were applied. Otherwise returns the reason; the caller then rolls
    /// the transaction back.
    private mutating func run(claiming request: LeaseRequest?) throws(StorageError) -> CommitOutcome? {
        let (before, heldBefore) = (record, holdings)
        changes.reserveCapacity(plan.edits.count + 1)
        var editing = LedgerEditing(query, at: moment, in: session)
        if plan.movesLedgerRows { try editing.resolveTokens(plan.ledger) }
        if record.invalidatedAt != nil, let token = plan.requestLease {
            grantedAt = try LeaseTable.grantTime(of: token, query: query, in: connection)
        }
        for edit in plan.edits {
            if let refusal = try apply(edit) { return refusal }
        }
        if plan.bringsTotalBesidePageOne(before: before.total, after: record.total) { try clearTotalCoverage() }
        try editing.apply(plan.ledger)
        lostLeases = editing.lost
        var leases: [Lease] = []
        if let request {
            leases = try LedgerWriting.take(request, of: query, at: moment, in: session)
            for lease in leases { editing.note(lease.offset) }
        }
        if !editing.offsets.isEmpty { changes.append(.ledger(editing.offsets)) }
        if moved { record.version.revision += 1 }
        if record != before { try QueryTable.save(record, in: connection) }
        // All changes of the plan share one new version, in the same transaction (R51).
        if changes.contains(where: \.isSeenByReaders) || holdings != heldBefore {
            if holdings == nil { try recount() }
            (record.contentVersion, tail) = try session.advance(
                query, journal, after: tail, holdings: holdings, at: now)
        }
        if let request { grant = try LedgerWriting.grant(leases, request, record, at: moment, in: session) }
        session.identities.setVersion(query, at: record.contentVersion)
        session.keepForNextCommit(CommittedList(record: record, tail: tail, holdings: holdings?.kept))
        if !changes.isEmpty {
            session.note(
                ChangeSet(
                    query: query, version: record.version, contentVersion: record.contentVersion, changes: changes))
        }
        return nil
    }

    private mutating func apply(_ edit: ListEdit) throws(StorageError) -> CommitOutcome? {
        switch edit {
        case .insertPage(let page):
            return try write(page)
        case .rearrange(let rearrangement):
            return try rearrange(rearrangement)
        case .markContiguous(let range):
            try verify(range)
        case .touchPage(let offset, let validator):
            try confirm(offset, validator)
        case .startGeneration:
            record.version = ListVersion(generation: record.version.generation + 1, revision: 0)
            changes.append(.generationBegan)
            holdings?.startGeneration()
            journal.generationBegan()
        case .markStale(let range):
            try markStale(range)
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
        case .setResultWindow(let window):
            try check(window)
            guard record.resultWindow != window else { break }
            record.resultWindow = window
            changes.append(.described)
        case .validated:
            record.validatedAt = now
            if let invalidatedAt = record.invalidatedAt, CommitPlan.isAsked(grantedAt, since: invalidatedAt, now: now) {
                record.invalidatedAt = nil
            }
            changes.append(.validated)
        case .invalidated:
            guard record.invalidatedAt != now else { break }
            record.invalidatedAt = now
            changes.append(.described)
        case .setFreshFor(let duration):
            guard record.freshFor != duration?.keptFreshness else { break }
            record.freshFor = duration?.keptFreshness
            changes.append(.described)
        case .setSweep(let progress):
            try check(progress?.position)
            guard record.sweep != progress else { break }
            record.sweep = progress
            changes.append(.described)
        case .audited:
            guard record.lastAuditAt != now else { break }
            record.lastAuditAt = now
            changes.append(.described)
        case .setAllowsDuplicates(let allows):
            guard record.allowsDuplicates != allows else { break }
            if !allows, let repeated = try firstRepeat() { return repeated }
            record.allowsDuplicates = allows
            changes.append(.described)
        case .setUnproven(let isUnproven):
            guard record.isUnproven != isUnproven else { break }
            record.isUnproven = isUnproven
            changes.append(.described)
        case .describe(let paging, let source):
            guard record.paging != paging || record.source != source else { break }
            record.paging = paging
            record.source = source
            changes.append(.described)
        }
        return nil
    }

    /// Throws `invalidPlan` for a position that could not be read back.
    func check(_ position: Int?) throws(StorageError) {
        guard let position, !(0...ListTotal.largest).contains(position) else { return }
        throw StorageError(.invalidPlan, "the position \(position) is out of range")
    }

    /// Recounts the holdings from the pages of the list, if the plan validates page one or sets the end. Other plans
    /// leave unknown holdings unknown, because a recount reads all page records.
    private mutating func recount() throws(StorageError) {
        let isSettled = plan.edits.contains { edit in
            switch edit {
            case .validated, .setEnd: true
            default: false
            }
        }
        guard isSettled else { return }
        let rows = try PageTable.read(of: query, in: connection).rows
        holdings = ListHoldings(rows.lazy.map(\.summary), generation: record.version.generation)
    }
}

extension StorageError {
    /// The error that ends a transaction without a commit. `apply` catches it, so it never leaves this file.
    fileprivate static var abandoned: StorageError { StorageError(.internal, "the plan was abandoned") }
}
