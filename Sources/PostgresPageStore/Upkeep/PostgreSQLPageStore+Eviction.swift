#if PostgreSQL
public import PageModel

/// The removal of the pages that were read longest ago (R40).
extension PostgreSQLPageStore {
    private static let candidates = SQL(
        """
        SELECT p.query, p.start, p.bytes, greatest(p.fetched_at, coalesce(a.used_at, p.fetched_at)), coalesce(q.pinned, false)
        FROM @page AS p LEFT JOIN @access AS a ON a.query = p.query AND a.body = p.body
        LEFT JOIN @query AS q ON q.id = p.query ORDER BY p.query, p.start
        """)
    /// The largest number of pages that one transaction removes.
    private static let portion = 256

    private func candidates(exempt: Set<QueryID>) async throws(StorageError) -> (
        candidates: [EvictionPlan.Candidate], now: Timestamp
    ) {
        let found = try await server.read([Server.readTime, (PostgreSQLPageStore.candidates, [])], .long)
        let candidates = found[1].all.map { row in
            let query = QueryID(rawValue: row.int64(0))
            return EvictionPlan.Candidate(
                query: query, offset: row.int(1), bytes: min(max(0, row.int(2)), 1 << 40), usedAt: row.time(3).stored,
                isExempt: row.bool(4) || exempt.contains(query))
        }
        return (candidates, server.moment(found[0]).now)
    }

    /// Returns the report of an eviction without removing anything. Read times of this process that are not stored yet
    /// are not considered (R40).
    /// - Parameters:
    ///   - budget: the bounds to keep.
    ///   - exempt: queries that stay, besides those that are pinned or observed in this process.
    /// - Throws: `StorageError`, as every read does.
    public func evictionPreview(
        to budget: EvictionBudget, exempt: Set<QueryID>
    ) async throws(StorageError) -> EvictionReport {
        let (candidates, now) = try await candidates(exempt: exempt.union(observedQueries))
        return report(EvictionPlan.victims(among: candidates, budget: budget, at: now), of: candidates)
    }

    public func evict(to budget: EvictionBudget, exempt: Set<QueryID>) async throws(StorageError) -> EvictionReport {
        try checkWritable()
        if let reads = accesses.drain(at: server.moment?.now, force: true) {
            _ = try await server.write([note(reads)])
        }
        let (candidates, now) = try await candidates(exempt: exempt.union(observedQueries))
        let victims = EvictionPlan.victims(among: candidates, budget: budget, at: now)
        var removed: [EvictionPlan.Candidate] = []
        var rest = victims[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(PostgreSQLPageStore.portion))
            rest = rest.dropFirst(part.count)
            removed += try await remove(part)
        }
        return report(removed, of: candidates)
    }

    private func report(
        _ removed: [EvictionPlan.Candidate], of candidates: [EvictionPlan.Candidate]
    ) -> EvictionReport {
        let bytes = removed.reduce(0) { $0 + $1.bytes }
        return EvictionReport(
            pages: removed.count, bytes: bytes, queries: Set(removed.map(\.query)).count,
            bytesLeft: candidates.reduce(0) { $0 + $1.bytes } - bytes)
    }

    private static let lists = SQL(
        "SELECT \(ListRow.columns) FROM @query WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE")
    private static let pages = SQL(
        """
        SELECT p.query, \(PageRow.qualified) FROM unnest($1::bigint[], $2::bigint[]) AS v(query, start)
        JOIN @page AS p ON p.query = v.query AND p.start = v.start
        """)

    /// Removes the chosen pages, and returns those that were removed. Skips a page if another page is at its offset
    /// now, with another size or fetched later. Skips the pages of a list with a damaged record.
    private func remove(_ victims: [EvictionPlan.Candidate]) async throws(StorageError) -> [EvictionPlan.Candidate] {
        let queries = Set(victims.map(\.query.rawValue)).sorted()
        let done = try await server.write(.long) { work async throws(StorageError) in
            let found = try await work.read([
                (PostgreSQLPageStore.lists, [.integers(queries)]), self.server.timeOfWrite,
                (
                    PostgreSQLPageStore.pages,
                    [.integers(victims.map(\.query.rawValue)), .integers(victims.map { Int64($0.offset) })]
                ),
            ])
            let now = self.server.moment(found[1]).now
            var rows: [QueryID: [Int: PageRow]] = [:]
            for row in found[2].all {
                let query = QueryID(rawValue: row.int64(0))
                if let page = PageRow(row, of: query, from: 1) { rows[query, default: [:]][page.summary.offset] = page }
            }
            var removed: [EvictionPlan.Candidate] = []
            var sets: [ChangeSet] = []
            for row in found[0].all {
                let read = ListRow.read(row)
                guard read.isWhole else { continue }
                let before = read.row
                let query = before.record.id
                var list = before
                var journal = JournalDraft(self.options.journal)
                var changes: [ChangeSet.Change] = []
                for victim in victims where victim.query == query {
                    guard let page = rows[query]?[victim.offset], page.bytes == victim.bytes,
                        page.summary.fetchedAt <= victim.usedAt
                    else { continue }
                    let id = Value.integer(query.rawValue)
                    work.add(BodyRow.deleting, [id, .integer(page.body)])
                    work.add(BodyRow.deletingAccess, [id, .integer(page.body)])
                    work.add(PageRow.deleting, [id, .int(victim.offset)])
                    // The page is a gap now, so its success record is deleted.
                    work.add(LedgerRow.forgettingSuccess, [id, .int(victim.offset)])
                    journal.dropped(page.summary.range)
                    list.holdings?.remove(
                        page.summary.range, isHeld: page.summary.generation == before.record.version.generation)
                    changes.append(.dropped(page.summary.range))
                    removed.append(victim)
                }
                guard !changes.isEmpty else { continue }
                try await self.advance(&list, journal, at: now, work)
                work.add(list.saving(over: before.record))
                sets.append(
                    ChangeSet(
                        query: query, version: list.record.version, contentVersion: list.record.contentVersion,
                        changes: changes))
            }
            try await work.commit()
            return EvictedPages(pages: removed, changes: sets)
        }
        announcer.announce(done.changes)
        return done.pages
    }
}

private struct EvictedPages: Sendable {
    var pages: [EvictionPlan.Candidate]
    var changes: [ChangeSet]
}
#endif
