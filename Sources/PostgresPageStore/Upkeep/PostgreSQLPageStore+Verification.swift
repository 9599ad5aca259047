#if PostgreSQL
public import PageModel

/// Verifies and repairs a store.
extension PostgreSQLPageStore {
    private static let orphans = [
        "DELETE FROM @page AS r WHERE NOT EXISTS (SELECT 1 FROM @query AS q WHERE q.id = r.query)",
        "DELETE FROM @ledger AS r WHERE NOT EXISTS (SELECT 1 FROM @query AS q WHERE q.id = r.query)",
        "DELETE FROM @journal AS r WHERE NOT EXISTS (SELECT 1 FROM @query AS q WHERE q.id = r.query)",
        "DELETE FROM @tally AS r WHERE NOT EXISTS (SELECT 1 FROM @query AS q WHERE q.id = r.query)",
        "DELETE FROM @body AS r WHERE NOT EXISTS (SELECT 1 FROM @page AS p WHERE p.query = r.query AND p.body = r.id)",
        "DELETE FROM @access AS r WHERE NOT EXISTS (SELECT 1 FROM @body AS b WHERE b.query = r.query AND b.id = r.body)",
    ]
    private static let orphanCounts = orphans.map { SQL($0.replacing("DELETE FROM", with: "SELECT count(*) FROM")) }
    private static let orphanDeletions = orphans.map { SQL($0) }

    /// Reads the whole store and checks every seal and checksum, and every rule of the tables (R5). Changes nothing.
    /// The structure of the server's files is not checked: the server has `pg_amcheck` and data checksums for that.
    /// - Returns: the findings. Damage is a finding, and is not thrown.
    /// - Throws: `StorageError`, as every read does.
    public func verify() async throws(StorageError) -> VerifyReport {
        try await server.reading(.endless) { work async throws(StorageError) in
            var report = VerifyReport()
            for row in try await work.read([(ListRow.all, [])])[0].all {
                let read = ListRow.read(row)
                let query = read.row.record.id
                if !read.isWhole {
                    report.findings.append(
                        Finding(.query, query: query, "the record of the query is damaged"))
                }
                var check = ListCheck(query)
                try await check.run(read.isWhole ? read.row : nil, work)
                report.add(check)
                if let tally = try await work.read([(PostgreSQLPageStore.tally, [.integer(query.rawValue)])])[0].first,
                    PostgreSQLPageStore.tally(tally) == nil
                {
                    report.findings.append(Finding(.tally, query: query, "the tally has a number out of range"))
                }
            }
            let counts = try await work.read(PostgreSQLPageStore.orphanCounts.map { ($0, []) })
            let orphans = counts.reduce(0) { $0 + ($1.first?.int(0) ?? 0) }
            if orphans > 0 {
                let rows = orphans == 1 ? "1 row belongs" : "\(orphans) rows belong"
                report.findings.append(Finding(.orphan, "\(rows) to no query or page"))
            }
            report.findings += try await ImpossibleNotes.findings(in: self.options.schema, work)
            return report
        }
    }

    /// Drops damaged rows, rebuilds rows that intact rows determine, and queues the missing pages to be fetched. Purges
    /// a list whose name is damaged. Each list is repaired in a transaction of its own.
    /// - Returns: the findings, the repairs, and the damage that remains.
    /// - Throws: `StorageError`, as every write does.
    public func repair() async throws(StorageError) -> RepairReport {
        try checkWritable()
        let found = try await verify()
        var report = RepairReport(found: found, remaining: found)
        for query in Set(found.findings.compactMap(\.query)).sorted(by: { $0.rawValue < $1.rawValue }) {
            let repaired = try await repair(query)
            report.pagesDropped += repaired.pages
            report.queriesDropped += repaired.isPurged ? 1 : 0
            report.repaired += repaired.records
            if let changes = repaired.changes { announcer.announce([changes]) }
        }
        if !found.isSound {
            // A page row that was dropped can leave a body without a page.
            let deletions: [WriteBatch.Request] = PostgreSQLPageStore.orphanDeletions.map { ($0, []) }
            _ = try await server.write(deletions + ImpossibleNotes.removing(found.findings), .long)
            report.repaired += found.findings.count { $0.kind == .orphan || ImpossibleNotes.includes($0) }
        }
        report.remaining = try await verify()
        return report
    }

    private static let renewingHashes = SQL(
        "UPDATE @body SET keys = $3, contents = $4, seal = $5 WHERE query = $1 AND id = $2")
    private static let droppingTally = SQL("DELETE FROM @tally WHERE query = $1")

    private func repair(_ query: QueryID) async throws(StorageError) -> RepairedList {
        let id = Value.integer(query.rawValue)
        return try await server.write(.endless) { work async throws(StorageError) in
            let locked = try await work.read([
                (ListRow.byIDLocked, [id]), self.server.timeOfWrite, (PostgreSQLPageStore.tally, [id]),
            ])
            var repaired = RepairedList()
            guard let row = locked[0].first else { return repaired }
            let read = ListRow.read(row)
            let now = self.server.moment(locked[1]).now
            guard read.hasItsName else {
                // The pages may belong to another list.
                for statement in PostgreSQLPageStore.removals { work.add(statement, [.integers([query.rawValue])]) }
                repaired.isPurged = true
                repaired.changes = ChangeSet(query: query, version: nil, changes: [.purged])
                return repaired
            }
            var check = ListCheck(query)
            try await check.run(read.isWhole ? read.row : nil, work)
            var list = read.row
            if !read.isWhole {
                repaired.records += 1
                let damaged = read.row.record
                list = ListRow(QueryRecord.rebuilt(damaged, as: damaged.key, from: check.remaining, at: now))
                list.record.contentVersion.counter = max(0, min(damaged.contentVersion.counter, ListTotal.largest / 2))
                list.nextBody = try await self.freeBody(query, work)
            }
            if let tally = locked[2].first, PostgreSQLPageStore.tally(tally) == nil {
                work.add(PostgreSQLPageStore.droppingTally, [id])
                repaired.records += 1
            }
            for (page, identities) in check.staleHashes {
                let hashes = BodyRow.hashes(of: identities, body: page.body, in: query)
                work.add(PostgreSQLPageStore.renewingHashes, [id, .integer(page.body)] + hashes)
                repaired.records += 1
            }
            for offset in check.brokenRecords {
                work.add(LedgerRow.deleting, [id, .int(offset)])
                repaired.records += 1
            }
            for offset in check.brokenRows { work.add(PageRow.deleting, [id, .int(offset)]) }
            for page in check.lostPages {
                work.add(BodyRow.deleting, [id, .integer(page.body)])
                work.add(PageRow.deleting, [id, .int(page.summary.offset)])
            }
            repaired.pages = check.brokenRows.count + check.lostPages.count
            // The start of a damaged row may be wrong, so the gaps are queued, and not the starts of the lost pages.
            let gaps =
                repaired.pages > 0
                ? ListOutline(record: list.record, pages: check.remaining, ledger: [], readAt: now).gaps : []
            for gap in gaps {
                work.add(LedgerRow.dropping, [id, .int(gap.lowerBound), .int(gap.upperBound)])
            }
            let queued = gaps.map(\.lowerBound)
            if !queued.isEmpty {
                work.add(LedgerRow.queueing, [id, .integers(queued.map { Int64($0) }), .time(now)])
            }
            if check.isJournalDamaged || check.areHoldingsWrong { repaired.records += 1 }
            list.holdings = ListHoldings(check.remaining, generation: list.record.version.generation).kept
            // Plans for the earlier state are obsolete (R4).
            list.record.version.revision += self.revisionStep()
            // A repair restarts the journal: the positions of damaged rows are not known.
            var journal = JournalDraft(self.options.journal)
            journal.beginAnew()
            work.add(JournalRow.deletingUntil, [id, .integer(.max)])
            try await self.advance(&list, journal, at: now, work)
            work.add(list.rewriting)
            repaired.changes = ChangeSet(
                query: query, version: list.record.version, contentVersion: list.record.contentVersion,
                changes: check.lostPages.map { .dropped($0.summary.range) } + [.described]
                    + (queued.isEmpty ? [] : [.ledger(queued)]))
            return repaired
        }
    }

    // Larger numbers are damage and belong to no page.
    private static let freeNumber = SQL(
        "SELECT coalesce(max(id), 0) + 1 FROM @body WHERE query = $1 AND id < \(Int64.max >> 2)")

    private func freeBody(_ query: QueryID, _ work: WriteBatch) async throws(StorageError) -> Int64 {
        let rows = try await work.read([(PostgreSQLPageStore.freeNumber, [.integer(query.rawValue)])])
        return rows[0].first?.int64(0) ?? 1
    }

    /// Returns the number of queries with a damaged record. `summaries` omits these queries, `verify` reports them, and
    /// `repair` repairs them.
    /// - Throws: `StorageError`, as every read does.
    public func damagedQueries() async throws(StorageError) -> Int {
        try await server.read((ListRow.all, []), .long).all.count { !ListRow.read($0).isWhole }
    }

    /// Counts page rows and adds up their sizes. Negative sizes count as 0 and the sum is capped, so damaged sizes
    /// cause no overflow.
    static let countAndBytes =
        "SELECT count(*), least(coalesce(sum(greatest(bytes, 0)), 0), \(StoredBounds.sizes.upperBound))::bigint FROM @page"
    private static let pageSizes = SQL("\(countAndBytes) WHERE query = $1")

    /// Returns the intact records of all queries, and the readable parts of the damaged records.
    /// - Throws: `StorageError`, as every read does. Damaged records are part of the result, and are not thrown.
    package func storedQueries() async throws(StorageError) -> StoredQueries {
        var found = StoredQueries()
        for row in try await server.read((ListRow.all, []), .long).all {
            let read = ListRow.read(row)
            let record = read.row.record
            guard !read.isWhole else {
                found.records.append(record)
                continue
            }
            let sizes = try await server.read((PostgreSQLPageStore.pageSizes, [.integer(record.id.rawValue)]), .long)
                .first
            found.damaged.append(
                StoredQueries.Damaged(
                    id: record.id, key: record.key, hasItsName: read.hasItsName, pages: sizes?.int(0) ?? 0,
                    bytes: sizes?.int(1) ?? 0))
        }
        return found
    }
}

private struct RepairedList: Sendable {
    var pages = 0
    var records = 0
    var isPurged = false
    var changes: ChangeSet?
}

extension VerifyReport {
    fileprivate mutating func add(_ check: ListCheck) {
        findings += check.findings
        queries += 1
        pages += check.pages
        items += check.items
        bytes += check.bytes
    }
}
#endif
