#if PostgreSQL
public import PageModel
import Synchronization

// A plan is one transaction of two round trips: the first locks and reads, and the second writes and commits. Rows that
// `CommitReads` did not predict take further round trips.
extension PostgreSQLPageStore {
    public func commit(
        _ plan: CommitPlan, claiming request: LeaseRequest?
    ) async throws(StorageError) -> CommitReceipt {
        try checkWritable()
        for offset in request?.offsets ?? [] { try LedgerEditing.check(offset) }
        if request != nil { liveness.grantsUnderWay.add(1, ordering: .sequentiallyConsistent) }
        defer { if request != nil { liveness.grantsUnderWay.subtract(1, ordering: .sequentiallyConsistent) } }
        let began = ContinuousClock.now
        let (reads, nonce, attempt) = (CommitReads(plan), LeaseStatements.nonce(), CommitAttempt())
        let done: CommittedPlan
        do throws(StorageError) {
            done = try await announcingUnconfirmed([plan.query]) { () async throws(StorageError) in
                try await self.server.write(
                    isDone: { () async throws(StorageError) in
                        guard let committed = try await attempt.committed(plan.query, on: self.server) else {
                            return nil
                        }
                        // After a crash, a commit that waited for its standby is visible although no standby confirmed
                        // it. The flush is a later commit, which waits until the standby has received both.
                        if self.options.durability == .full { try await self.server.flush() }
                        return try await self.completing(committed, claiming: request, of: plan.query, nonce)
                    }
                ) { work async throws(StorageError) in
                    try await self.apply(plan, reads, claiming: request, nonce, attempt, work)
                }
            }
        } catch {
            if let abandoned = error.cause as? AbandonedPlan { return CommitReceipt(abandoned.outcome) }
            throw error
        }
        liveness.leases.withLock { leases in
            for token in plan.ledger.compactMap(\.lease) { leases.end(token) }
            guard let request, let grant = done.receipt.grant else { return }
            for lease in grant.leases {
                leases.add(lease, of: plan.query, by: request.owner, for: request.duration, at: done.moment)
            }
        }
        if done.renewed { liveness.renewed(at: began) }
        if !done.changes.changes.isEmpty { announcer.announce([done.changes]) }
        return done.receipt
    }

    private func apply(
        _ plan: CommitPlan, _ reads: CommitReads, claiming request: LeaseRequest?, _ nonce: Int64,
        _ attempt: CommitAttempt, _ work: WriteBatch
    ) async throws(StorageError) -> CommittedPlan {
        let id = Value.integer(plan.query.rawValue)
        var requests: [WriteBatch.Request] = [(ListRow.byIDLocked, [id]), server.timeOfCommit(of: plan.query)]
        func bounds(_ ranges: [Range<Int>]) -> [Value] {
            [.integers(ranges.map { Int64($0.lowerBound) }), .integers(ranges.map { Int64($0.upperBound) })]
        }
        requests.append(PageRow.meetingAndNext(reads.rows, of: plan.query))
        let takenAlong = max(options.journal.bytes, JournalDraft.mostRead)
        let hasItems = !reads.items.isEmpty
        if hasItems { requests.append((BodyRow.meetingSome, [id] + bounds(reads.items) + [.int(takenAlong)])) }
        let keys = reads.keys.map { BodyRow.key($0, in: plan.query) }
        if !keys.isEmpty { requests.append((BodyRow.holding, [id, .integers(keys)])) }
        let tokens =
            (plan.movesLedgerRows ? plan.ledger.compactMap(\.lease) : []) + [plan.requestLease].compactMap { $0 }
        if !tokens.isEmpty { requests.append((LedgerEditing.tokens, [id, .integers(tokens.map(\.rawValue))])) }

        var found = try await work.read(requests)[...]
        guard let row = found.removeFirst().first else {
            // The query was purged, so no plan for it applies any more.
            throw AbandonedPlan(.superseded(ListVersion(generation: 0, revision: 0))).error
        }
        let list = try whole(ListRow.read(row))
        guard plan.isBased(on: list.record) else { throw AbandonedPlan(.superseded(list.record.version)).error }
        let time = found.removeFirst()
        let moment = server.moment(time)
        let image = ListImage(plan.query, nextBody: list.nextBody, work)
        image.learn(found.removeFirst(), in: reads.rows)
        if hasItems { image.learnBodies(found.removeFirst()) }
        if !keys.isEmpty { image.learnHolders(found.removeFirst()) }
        let commit = ListCommit(
            plan, list, image, work, bound: options.journal, at: moment, step: revisionStep(),
            hasFailures: time.first?.bool(2) ?? true)
        let editing = LedgerEditing(plan.query, at: moment, work)
        if let held = tokens.isEmpty ? nil : found.removeFirst() {
            let times = held.all.map { (LeaseToken(rawValue: $0.int64(0)), $0.time(1)) }
            if plan.movesLedgerRows {
                let named = Set(plan.ledger.compactMap(\.lease))
                editing.resolveTokens(times.map(\.0).filter(named.contains))
            }
            commit.grantedAt = times.first { $0.0 == plan.requestLease }?.1
        }
        if let refusal = try await commit.applyEdits() { throw AbandonedPlan(refusal).error }
        try await editing.apply(plan.ledger)

        let renewal = request == nil ? nil : liveness.renewalIfDue()
        if let renewal { work.add(renewal) }
        var leases: [Lease] = []
        if let request {
            work.add(
                LeaseStatements.take(request, of: plan.query, by: liveness.name, at: moment, nonce: nonce)
            ) { rows in
                guard let taken = LeaseStatements.taken(rows, boot: moment.uptime.boot) else { return }
                if !taken.isAlive { self.liveness.expired() }
                leases = taken.leases
                for lease in leases { editing.note(lease.offset) }
            }
        }
        // All changes of the plan share one new version, in the same transaction (R51).
        var made = commit.list
        if commit.isVisible {
            if commit.list.holdings == nil { try await commit.recountHoldings() }
            made = commit.list
            try await advance(&made, commit.journal, at: moment.now, work)
        }
        made.nextBody = image.nextBody
        if made.record != list.record || made.nextBody != list.nextBody || made.holdings != list.holdings {
            work.add(made.saving(over: list.record))
        }
        let reading = request?.outlineRange.map { ExcerptReading($0, of: plan.query, work) }
        if let reads = accesses.drain(at: moment.now) { work.add(note(reads)) }
        var changes = ChangeSet(
            query: plan.query, version: made.record.version, contentVersion: made.record.contentVersion,
            changes: commit.changes)
        let isVersioned = made.record.contentVersion != list.record.contentVersion
        attempt.note(
            transaction: time.first?.rows.integer(0, 1), isVersioned: isVersioned, changes, moment: moment)
        try await work.commit()

        if !editing.offsets.isEmpty { changes.changes.append(.ledger(editing.offsets)) }
        var receipt = CommitReceipt(.committed(made.record.version), lostLeases: editing.lost)
        if request != nil {
            receipt.grant = LeaseGrant(leases, at: moment.now, list: reading?.outline(made.record, at: moment))
        }
        return CommittedPlan(receipt: receipt, changes: changes, moment: moment, renewed: renewal != nil)
    }

    /// Completes a commit that was made before its connection was lost. Takes the leases of the commit once more, with
    /// the same nonce, so that the caller receives them.
    private func completing(
        _ committed: (changes: ChangeSet, moment: StorageMoment), claiming request: LeaseRequest?, of query: QueryID,
        _ nonce: Int64
    ) async throws(StorageError) -> CommittedPlan {
        var receipt = CommitReceipt(
            .committed(committed.changes.version ?? ListVersion(generation: 0, revision: 0)))
        if let request { receipt.grant = try await grant(request, of: query, nonce: nonce).grant }
        return CommittedPlan(receipt: receipt, changes: committed.changes, moment: committed.moment, renewed: false)
    }

    /// Returns the number by which a transaction raises the revision of a list: see ``ListCommit/step``.
    func revisionStep() -> Int { options.countsUp ? 1 : Int.random(in: 1...1 << 20) }

    /// Gives a list its next version and appends the changes to its journal (R48, R51).
    func advance(
        _ list: inout ListRow, _ draft: JournalDraft, at now: Timestamp, _ work: WriteBatch
    ) async throws(StorageError) {
        let (query, before) = (list.record.id, list.record.contentVersion.counter)
        let id = Value.integer(query.rawValue)
        if draft.beginsAnew {
            // Without the rows of the earlier versions, requests for changes since these versions return `truncated`.
            work.add(JournalRow.deletingUntil, [id, .int(before)])
            list.journalBytes = 0
        }
        let entry = JournalEntry(
            version: ContentVersion(counter: before + 1, stamp: nextStamp()), at: now,
            changes: draft.beginsAnew ? [] : draft.changes)
        let cost = entry.cost
        if list.journalBytes + cost > options.journal.bytes, !draft.beginsAnew {
            // Drops the oldest entries that may be dropped, until the journal takes at most three quarters of its
            // bound.
            var pruning = JournalPruning(options.journal, kept: list.journalBytes + cost, at: now)
            var (last, next) = (Int?.none, Int?.none)
            for row in try await work.read([JournalRow.mayBeDropped(of: query, at: now)])[0].all {
                guard pruning.next(at: row.time(1), cost: row.int(2)) else { break }
                (last, next) = (next, row.int(0))
            }
            if let last { work.add(JournalRow.deletingUntil, [id, .int(last)]) }
            list.journalBytes = pruning.kept - cost
        }
        work.add(JournalRow.inserting(entry, cost: cost, to: query))
        list.journalBytes += cost
        list.record.contentVersion = entry.version
        list.holdings = list.holdings?.kept
    }

    func whole(_ read: ListRow.Read) throws(StorageError) -> ListRow {
        guard read.isWhole else {
            throw StorageError(.damaged, "the record of query \(read.row.record.id.rawValue) in \(name) is damaged")
        }
        copy?.observe(read.row.record)
        return read.row
    }

    /// Returns the request that stores the read times of bodies.
    func note(_ reads: (bodies: Set<ReadBody>, at: Timestamp)) -> WriteBatch.Request {
        (
            AccessRow.notingAll,
            [
                .integers(reads.bodies.map(\.query)), .integers(reads.bodies.map(\.body)), .time(reads.at.stored),
            ]
        )
    }
}

/// A plan that was applied.
struct CommittedPlan: Sendable {
    var receipt: CommitReceipt
    var changes: ChangeSet
    var moment: StorageMoment
    /// Whether the transaction renewed the heartbeat.
    var renewed: Bool
}

/// A plan that was not applied, as the cause of the error that ends the transaction.
struct AbandonedPlan: Error {
    let outcome: CommitOutcome

    init(_ outcome: CommitOutcome) { self.outcome = outcome }

    var error: StorageError { StorageError(.internal, "the plan was abandoned", cause: self) }
}
#endif
