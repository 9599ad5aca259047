import PageModel

/// A list in memory, as a plain value. A transaction edits a copy, and stores the copy unless an edit was refused.
struct MemoryList: Sendable {
    /// The reason why a plan is not applied.
    enum Refusal: Error {
        /// The list holds one of the items already, or holds other items at the positions (R5).
        case held([Range<Int>])
        /// The plan is invalid, for example because a position is out of range.
        case impossible(String)
    }

    var record: QueryRecord
    var ledger = MemoryLedger()
    private(set) var journal = MemoryJournal()
    /// The item changes of the running transaction (R48).
    var draft: JournalDraft
    private let bound: JournalBound
    /// The pages by offset, ascending.
    var pages: [MemoryPage] = []

    init(_ record: QueryRecord, _ bound: JournalBound) {
        self.record = record
        self.bound = bound
        draft = JournalDraft(bound)
    }

    /// Gives the list its next version, and records the transaction's changes (R48, R51).
    mutating func advance(stamp: UInt64, at now: Timestamp) {
        journal.append(draft, stamp: stamp, at: now, bound: bound)
        draft = JournalDraft(bound)
        record.contentVersion = journal.version
    }

    func isHeld(_ page: MemoryPage) -> Bool { page.summary.generation == record.version.generation }

    /// Applies the plan. Returns the changes, and the tokens in the plan that were lost. After a refusal the value must
    /// not be used any more.
    mutating func apply(_ plan: CommitPlan, at moment: StorageMoment) throws(Refusal) -> (
        [ChangeSet.Change], Set<LeaseToken>
    ) {
        var changes: [ChangeSet.Change] = []
        let total = record.total
        // The ledger is read before the edits of the plan move its records.
        let grantedAt = plan.requestLease.flatMap { ledger.grantTime(of: $0) }
        let held = plan.movesLedgerRows ? ledger.held(among: plan.ledger) : []
        for edit in plan.edits {
            if let change = try apply(edit, grantedAt, at: moment.now) { changes.append(change) }
        }
        if plan.bringsTotalBesidePageOne(before: total, after: record.total),
            let head = pages.firstIndex(where: { $0.offset == 0 })
        {
            pages[head].summary.validator?.coversTotal = false
        }
        // A commit raises the revision by one, however many of its edits moved positions.
        if plan.edits.contains(where: \.movesPositions) { record.version.revision += 1 }

        let applied = ledger.apply(plan.ledger, held: held, at: moment)
        if !applied.changedOffsets.isEmpty { changes.append(.ledger(applied.changedOffsets)) }
        return (changes, applied.lost)
    }

    func fulfils(_ preconditions: [PagePrecondition]) -> Bool {
        preconditions.allSatisfy { precondition in
            precondition.holds(
                of: pages.first { $0.offset == precondition.offset }?.summary, generation: record.version.generation)
        }
    }

    /// Takes leases, as the last step of a transaction (R30).
    /// - Parameter nextToken: the next unused token number, incremented with each lease.
    mutating func grant(
        _ request: LeaseRequest, at moment: StorageMoment, to process: String, _ nextToken: inout Int64
    ) -> LeaseGrant {
        var leases: [Lease] = []
        for offset in request.offsets {
            let lease = MemoryLedger.Lease(
                token: LeaseToken(rawValue: nextToken), owner: request.owner.stored(by: process),
                end: moment.uptime + request.duration)
            guard ledger.claim(offset, lease, retryAt: moment.now + request.duration, at: moment) else { continue }
            leases.append(Lease(offset: offset, token: lease.token))
            nextToken += 1
        }
        return LeaseGrant(leases, at: moment.now, list: request.outlineRange.map { outline($0, at: moment) })
    }

    /// - Parameter grantedAt: the time when page one was requested. `nil` means that the time is unknown.
    private mutating func apply(_ edit: ListEdit, _ grantedAt: Timestamp?, at now: Timestamp) throws(Refusal)
        -> ChangeSet.Change?
    {
        switch edit {
        case .insertPage(let page):
            return try put(page, at: now)
        case .rearrange(let rearrangement):
            return try rearrange(rearrangement, at: now)
        case .markContiguous(let range):
            return verify(range, at: now)
        case .touchPage(let offset, let validator):
            return confirm(offset, validator, at: now)
        case .startGeneration:
            record.version = ListVersion(generation: record.version.generation + 1, revision: 0)
            draft.generationBegan()
            return .generationBegan
        case .markStale(let range):
            cut(at: range.lowerBound)
            cut(at: range.upperBound)
            for index in pages.indices where isHeld(pages[index]) && pages[index].meets(range) {
                pages[index].summary.generation -= 1
            }
            draft.dropped(range)
            return .markedStale(range)
        case .truncate(let position):
            try check(position)
            cut(at: position)
            let out = takeOut { $0 >= position }
            draft.truncated(at: position, out)
            ledger.takeOut { $0 >= position }
            return out.isEmpty ? nil : .truncated(position)
        case .dropOlderGenerations:
            pages.removeAll { [generation = record.version.generation] in $0.summary.generation < generation }
            return .olderGenerationsDropped
        case .setTotal(let total):
            try check(total.count)
            guard record.total != total else { return nil }
            record.total = total
            return .total(total)
        case .setEnd(let end):
            try check(end)
            guard record.end != end else { return nil }
            record.end = end
            return .end(end)
        case .setResultWindow(let window):
            try check(window)
            return described { $0.resultWindow = window }
        case .validated:
            record.validatedAt = now
            if let invalidatedAt = record.invalidatedAt, CommitPlan.isAsked(grantedAt, since: invalidatedAt, now: now) {
                record.invalidatedAt = nil
            }
            return .validated
        case .invalidated:
            return described { $0.invalidatedAt = now }
        case .setFreshFor(let duration):
            return described { $0.freshFor = duration?.keptFreshness }
        case .setAllowsDuplicates(let allows):
            if !allows, record.allowsDuplicates { try checkUniqueKeys() }
            return described { $0.allowsDuplicates = allows }
        case .setSweep(let sweep):
            try check(sweep?.position)
            return described { $0.sweep = sweep }
        case .audited:
            return described { $0.lastAuditAt = now }
        case .setUnproven(let isUnproven):
            return described { $0.isUnproven = isUnproven }
        case .describe(let paging, let source):
            return described {
                $0.paging = paging
                $0.source = source
            }
        }
    }

    private mutating func described(_ change: (inout QueryRecord) -> Void) -> ChangeSet.Change? {
        let before = record
        change(&record)
        return record == before ? nil : .described
    }

    private func check(_ position: Int?) throws(Refusal) {
        guard let position, !(0...ListTotal.largest).contains(position) else { return }
        throw .impossible("the position \(position) is out of range")
    }

    // MARK: Pages

    /// Removes the pages at whose offsets `isGone` is true.
    /// - Returns: the removed pages that were held, for the journal. Empty if the journal cannot take all of them.
    mutating func takeOut(where isGone: (Int) -> Bool) -> [JournalDraft.TakenOut] {
        let gone = pages.filter { isGone($0.offset) }
        pages.removeAll { isGone($0.offset) }
        let held = gone.filter { isHeld($0) && !$0.isEmpty }
        return draft.takesIn(bytes: held.reduce(0) { $0 + $1.bytes }) ? held.map { ($0.offset, $0.content) } : []
    }

    /// - Parameter quietly: whether the page belongs to a change that the journal records as a whole. Defaults to
    ///   false.
    mutating func put(_ page: PageWrite, at now: Timestamp, quietly: Bool = false) throws(Refusal) -> ChangeSet.Change {
        guard page.offset >= 0, page.offset <= ListTotal.largest - page.content.count else {
            throw .impossible("the offset \(page.offset) of a page is out of range")
        }
        let new = MemoryPage(page, in: record.version, at: now)
        // A page without items occupies its offset, too.
        let place = page.offset..<page.offset + max(page.content.count, 1)
        if let held = pages.first(where: { isHeld($0) && !$0.isEmpty && $0.meets(place) }) {
            // A page with the same items confirms the held page (R6). Any other page is refused.
            guard held.offset == new.offset, held.isSame(as: new) else {
                throw .held([held.range])
            }
            guard let agreed = updateMetadata(with: page, at: now) else { throw .held([held.range]) }
            return agreed
        }
        let same = pages.firstIndex {
            !$0.isEmpty && $0.offset == new.offset && $0.isSame(as: new)
        }
        if let same {
            // The refetched page is unchanged. It counts as held again and keeps its stored bytes (R6).
            let fingerprint = pages[same].summary.fingerprint
            pages[same].summary = new.summary
            pages[same].summary.fingerprint = fingerprint
            ledger.dropFailures(in: new.range)
            if !quietly { draft.loaded(new.range) }
            return .stored(new.range)
        }
        // Items of older generations are removed only at the positions of the new page. The others stay readable (R19).
        cut(at: place.lowerBound)
        cut(at: place.upperBound)
        pages.removeAll { $0.meets(place) }
        if !record.allowsDuplicates { try makeRoom(for: new) }
        let index = pages.firstIndex { $0.offset > new.offset } ?? pages.endIndex
        pages.insert(new, at: index)
        // These positions are fetched now, so earlier failures there no longer count, even those of other pages.
        ledger.dropFailures(in: new.range)
        markInferred(new.range.upperBound, now)
        if !quietly { draft.loaded(new.range) }
        return .stored(new.range)
    }

    /// Confirms a page that is held already: it becomes as fresh as a newly written page.
    private mutating func updateMetadata(with page: PageWrite, at now: Timestamp) -> ChangeSet.Change? {
        guard let index = pages.firstIndex(where: { $0.offset == page.offset }) else { return nil }
        pages[index].summary.validatedAt = now
        if let validator = page.validator { pages[index].summary.validator = validator }
        if let cursor = page.cursorIn { pages[index].summary.cursorIn = cursor }
        if let cursor = page.cursorOut { pages[index].summary.cursorOut = cursor }
        if page.evidence == .verified, pages[index].summary.evidence == .inferred {
            pages[index].summary.evidence = .verified
            pages[index].summary.evidenceAt = now
        }
        ledger.dropFailures(in: pages[index].range)
        return .confirmed(pages[index].range)
    }

    /// Marks a seam as inferred, because no answer contained both sides (G1). Position 0 has no seam and stays
    /// verified.
    mutating func markInferred(_ seam: Int, _ now: Timestamp) {
        guard let index = pages.firstIndex(where: { $0.offset == seam }) else { return }
        let evidence: Evidence = seam == 0 ? .verified : .inferred
        guard pages[index].summary.evidence != evidence else { return }
        pages[index].summary.evidence = evidence
        pages[index].summary.evidenceAt = now
    }

    /// Makes sure that no item is held twice (R5). The plan is refused if a held page has one of the items. Pages of
    /// older generations that have one are removed (R19).
    private mutating func makeRoom(for new: MemoryPage) throws(Refusal) {
        let keys = Set(new.keys)
        guard keys.count == new.keys.count else { throw .held([new.range]) }
        let held = pages.filter { isHeld($0) && !keys.isDisjoint(with: $0.keys) }
        guard held.isEmpty else { throw .held(held.map(\.range)) }
        pages.removeAll { !keys.isDisjoint(with: $0.keys) }
    }

    private func checkUniqueKeys() throws(Refusal) {
        var keys: Set<UInt64> = []
        for page in pages where isHeld(page) && !page.keys.allSatisfy({ keys.insert($0).inserted }) {
            throw .held([page.range])
        }
    }

    private mutating func confirm(_ offset: Int, _ validator: Validator?, at now: Timestamp) -> ChangeSet.Change? {
        guard let index = pages.firstIndex(where: { $0.offset == offset }) else { return nil }
        pages[index].summary.validatedAt = now
        if let validator { pages[index].summary.validator = validator }
        return .confirmed(pages[index].range)
    }
}

extension ListEdit {
    /// Whether the edit raises the revision, so that plans for the earlier positions are rejected (R4).
    fileprivate var movesPositions: Bool {
        switch self {
        case .markStale, .truncate: true
        case .rearrange(let rearrangement): rearrangement.movesPositions
        default: false
        }
    }
}
