import PageModel

/// Reads, writes and deletes the rows of a commit, and records these changes in the journal, the holdings and the index
/// of items.
extension CommitTransaction {
    /// Returns the pages that hold positions in `range`. Rows with an invalid seal are deleted first, so that no edit
    /// builds on them. Their bodies remain for `repair`.
    /// - Parameter spared: an offset at which a damaged row is left in place. Defaults to none.
    mutating func rows(meeting range: Range<Int>, sparing spared: Int? = nil) throws(StorageError) -> [PageRow] {
        var deleted: Set<Int> = []
        while true {
            var broken: [Int] = []
            let rows = try PageTable.rows(meeting: range, of: query, in: connection) {
                if $0 != spared { broken.append($0) }
            }
            guard !broken.isEmpty else { return rows }
            // A scan returns this row, but a search for its key does not find it. The row is in the wrong part of the
            // b-tree.
            guard deleted.isDisjoint(with: broken) else {
                throw StorageError(
                    .damaged,
                    "a page row in \(connection.path) has a key that does not match its position in the b-tree")
            }
            deleted.formUnion(broken)
            for offset in broken { try PageTable.delete(at: offset, of: query, in: connection) }
            discardChangeTracking()
        }
    }

    /// Discards the changes for the journal, the holdings, and the list's entries in the index of items. Call when a
    /// damaged row was deleted, because its positions are not known. Readers then have to read the list again.
    mutating func discardChangeTracking() {
        journal.beginAnew()
        holdings = nil
        session.identities.forget(query)
    }

    /// Writes a page that is made from other pages, which were last read at `usedAt`.
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
    mutating func insert(
        _ summary: PageSummary, _ content: PageContent, _ identities: [ItemIdentity]
    ) throws(StorageError) -> Int64 {
        let row = try BodyTable.insert(content, identities: identities, for: summary, of: query, in: connection)
        try PageTable.store(row, of: query, in: connection)
        session.identities.add(row.body, at: summary.offset, identities, in: query)
        holdings?.add(summary.range, isHeld: summary.generation == record.version.generation)
        return row.body
    }

    /// Deletes the pages in `range` and returns the items that the journal records for them.
    mutating func takeOut(_ range: Range<Int>) throws(StorageError) -> [JournalDraft.TakenOut] {
        let rows = try rows(meeting: range)
        let held = rows.filter { $0.summary.generation == record.version.generation && $0.summary.count > 0 }
        var takenOut: [JournalDraft.TakenOut] = []
        if journal.takesIn(bytes: held.reduce(0) { $0 + $1.bytes }) {
            for row in held {
                if let content = try BodyTable.content(of: row, in: connection) {
                    takenOut.append((row.summary.offset, content))
                } else {
                    journal.dropped(row.summary.range)
                }
            }
        }
        for row in rows { try delete(row) }
        return takenOut
    }

    mutating func delete(_ row: PageRow) throws(StorageError) {
        try BodyTable.delete(row.body, of: query, in: connection)
        try PageTable.delete(at: row.summary.offset, of: query, in: connection)
        session.identities.remove(row.body, in: query)
        holdings?.remove(row.summary.range, isHeld: row.summary.generation == record.version.generation)
    }
}
