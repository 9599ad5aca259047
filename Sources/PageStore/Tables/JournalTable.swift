import PageModel

/// Two numbers of the newest row of a list's journal. Both are 0 if the journal has no row.
struct JournalTail {
    var counter: Int
    /// The sum of the costs of its entries, in bytes.
    var kept: Int
}

/// Rows of `journal`: one for each version of a list, with the changes of its commit (R48, R51). The newest row also
/// holds the list's version, so a commit writes one row for both.
enum JournalTable {
    private static let newest = SQL("SELECT counter, kept FROM journal WHERE query = ? ORDER BY counter DESC LIMIT 1")
    private static let insert = SQL(
        "INSERT INTO journal (query, counter, stamp, at, cost, kept, changes, holdings, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    private static let since = SQL(
        """
        SELECT counter, stamp, at, cost, kept, changes, holdings, seal FROM journal
        WHERE query = ?1 AND counter >= ?2 ORDER BY counter LIMIT ?3
        """)
    private static let all = SQL(
        "SELECT counter, stamp, at, cost, kept, changes, holdings, seal FROM journal WHERE query = ?1 ORDER BY counter")
    private static let one = SQL(
        "SELECT counter, stamp, at, cost, kept, changes, holdings, seal FROM journal WHERE query = ? AND counter = ?")
    private static let ages = SQL("SELECT counter, at, cost FROM journal WHERE query = ? ORDER BY counter")
    private static let lastUntil = SQL(
        "SELECT counter, stamp FROM journal WHERE query = ? AND at <= ? ORDER BY counter DESC LIMIT 1")
    private static let oldest = SQL("SELECT counter, stamp FROM journal WHERE query = ? ORDER BY counter LIMIT 1")
    private static let deleteUntil = SQL("DELETE FROM journal WHERE query = ? AND counter <= ?")
    private static let deleteAll = SQL("DELETE FROM journal WHERE query = ?")

    // MARK: Writing

    /// Gives a list its next version. Call inside a write transaction, once for each commit that readers can see.
    /// - Parameters:
    ///   - tail: the end of the journal. `nil` means that it is looked up.
    ///   - stamp: a random number (R51).
    ///   - now: the time of the commit.
    ///   - holdings: the holdings of the list after the commit. `nil` means that they are not known.
    /// - Returns: the version, and the new end of the journal.
    static func append(
        _ draft: JournalDraft, to query: QueryID, after tail: JournalTail?, stamp: UInt64, at now: Timestamp,
        bound: JournalBound, holdings: ListHoldings?, in connection: Connection
    ) throws(StorageError) -> (version: ContentVersion, tail: JournalTail) {
        var found = tail
        if found == nil {
            found = try connection.first(newest, query.rawValue) { row throws(StorageError) in
                JournalTail(counter: row.int(0), kept: row.int(1))
            }
        }
        var (counter, kept) = (found?.counter ?? 0, found?.kept ?? 0)
        // No commit writes such a number, so the earlier rows are not trusted (R46).
        let isPossible = (0..<ListTotal.largest).contains(counter) && (0...ListTotal.largest).contains(kept)
        if !isPossible { (counter, kept) = (0, 0) }
        if draft.beginsAnew || !isPossible {
            // Without their rows, requests for changes since earlier versions return `truncated`.
            try delete(query, in: connection)
            kept = 0
        }
        var entry = JournalEntry(
            version: ContentVersion(counter: counter + 1, stamp: stamp), at: now, changes: draft.changes)
        if draft.beginsAnew { entry.changes = [] }
        let cost = entry.cost
        if kept + cost > bound.bytes { kept -= try prune(query, kept: kept + cost, bound, at: now, in: connection) }
        kept = min(kept + cost, ListTotal.largest)
        try write(entry, holdings?.kept, cost: cost, kept: kept, of: query, in: connection)
        return (entry.version, JournalTail(counter: counter + 1, kept: kept))
    }

    /// Deletes the oldest entries that may be deleted, until the journal takes at most three quarters of its bound.
    /// - Returns: the number of bytes saved.
    private static func prune(
        _ query: QueryID, kept: Int, _ bound: JournalBound, at now: Timestamp, in connection: Connection
    ) throws(StorageError) -> Int {
        var pruning = JournalPruning(bound, kept: kept, at: now)
        var (goesOn, last, next) = (true, Int?.none, Int?.none)
        try connection.each(ages, .int(query.rawValue), while: { goesOn }) { row throws(StorageError) in
            goesOn = pruning.next(at: row.time(1), cost: row.int(2))
            guard goesOn else { return }
            (last, next) = (next, row.int(0))
        }
        if let last { try connection.run(deleteUntil, .int(query.rawValue), .int(last)) }
        return kept - pruning.kept
    }

    private static func write(
        _ entry: JournalEntry, _ holdings: ListHoldings?, cost: Int, kept: Int, of query: QueryID,
        in connection: Connection
    ) throws(StorageError) {
        let changes = JournalCodec.encode(entry.changes)
        let held = holdings.map { HoldingsCodec.encode($0) }
        var seal = RowChecksum(RowChecksum.journal)
        seal.mix(query.rawValue)
        seal.mix(entry.version.counter)
        seal.mix(entry.version.stamp)
        seal.mix(entry.at.milliseconds)
        seal.mix(cost)
        seal.mix(kept)
        changes.withUnsafeBytes { seal.mix($0) }
        if let held { held.withUnsafeBytes { seal.mix($0) } } else { seal.mixNull() }
        try connection.run(insert) { statement throws(StorageError) in
            try statement.bind(1, query.rawValue)
            try statement.bind(2, entry.version.counter)
            try statement.bind(3, entry.version.stamp)
            try statement.bind(4, entry.at)
            try statement.bind(5, cost)
            try statement.bind(6, kept)
            try statement.bind(7, changes)
            if let held { try statement.bind(8, held) } else { try statement.bindNull(8) }
            try statement.bind(9, seal.value)
        }
    }

    static func delete(_ query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(deleteAll, .int(query.rawValue))
    }

    // MARK: Reading

    /// Returns the changes of a list since `version`.
    /// - Parameter current: the current version of the list.
    static func changes(
        of query: QueryID, since version: ContentVersion, current: ContentVersion, limit: Int, in connection: Connection
    ) throws(StorageError) -> ListChanges {
        guard version.counter <= current.counter, version.counter != current.counter || version == current else {
            return .truncated(current: current)
        }
        let limit = min(max(0, limit), ListTotal.largest)
        var entries: [JournalEntry] = []
        var (isWhole, isFirst, cost) = (true, true, 0)
        try connection.each(
            since, .int(query.rawValue), .int(version.counter), .int(limit + 2),
            while: { isWhole && cost <= ListChanges.mostBytes }
        ) { row throws(StorageError) in
            let entry = entry(row, of: query)
            if isFirst {
                // This is the row of `version` itself. The same counter may belong to other content, so the stamp is
                // compared.
                isFirst = false
                isWhole = entry?.version == version
                return
            }
            guard let entry, entry.version.counter == version.counter + entries.count + 1 else {
                return isWhole = false
            }
            if !entries.isEmpty { cost += entry.cost }
            entries.append(entry)
        }
        guard isWhole, !isFirst, entries.count > 0 || version == current else { return .truncated(current: current) }
        return ListChanges.page(entries, since: version, limit: limit)
    }

    /// Returns the version of a list at a time. Returns the first version for a time before that version, and nil when
    /// the journal does not reach back to the time.
    static func version(
        of query: QueryID, at moment: Timestamp, in connection: Connection
    ) throws(StorageError) -> ContentVersion? {
        let found = try connection.first(lastUntil, .int(query.rawValue), .time(moment)) { row throws(StorageError) in
            ContentVersion(counter: row.int(0), stamp: row.hash(1))
        }
        if let found { return found }
        let first = try connection.first(oldest, .int(query.rawValue)) { row throws(StorageError) in
            ContentVersion(counter: row.int(0), stamp: row.hash(1))
        }
        return first?.counter == 1 ? first : nil
    }

    /// Returns the holdings in the newest row of the list. Returns nil where they are not known, or where the row is
    /// damaged.
    static func holdings(of record: QueryRecord, in connection: Connection) throws(StorageError) -> ListHoldings? {
        do throws(StorageError) {
            let found = try connection.first(one, record.id.rawValue, Int64(record.contentVersion.counter)) {
                row throws(StorageError) -> ListHoldings? in
                guard entry(row, of: record.id)?.version == record.contentVersion else { return nil }
                return row.withBlob(6) { HoldingsCodec.decode($0) }
            }
            return found ?? nil
        } catch {
            guard error.isUnreadableRow else { throw error }
            return nil
        }
    }

    /// Returns true when there is at least one row, every row is intact, and their versions have no gap.
    static func isSound(_ query: QueryID, in connection: Connection) throws(StorageError) -> Bool {
        var (isSound, last) = (true, Int?.none)
        try connection.each(all, .int(query.rawValue), while: { isSound }) { row throws(StorageError) in
            let counter = entry(row, of: query)?.version.counter
            isSound = counter != nil && (last == nil || counter == last! + 1)
            last = counter
        }
        return isSound && last != nil
    }

    /// Decodes a row. Returns nil when its seal is invalid, or a number is out of bounds.
    private static func entry(_ row: borrowing Row, of query: QueryID) -> JournalEntry? {
        var seal = RowChecksum(RowChecksum.journal)
        seal.mix(query.rawValue)
        row.mix(7, into: &seal)
        guard seal.value == row.hash(7), (1...ListTotal.largest).contains(row.int(0)),
            (0...ListTotal.largest).contains(row.int(4)),
            let changes = row.withBlob(5, { JournalCodec.decode($0) })
        else { return nil }
        return JournalEntry(
            version: ContentVersion(counter: row.int(0), stamp: row.hash(1)), at: row.time(2), changes: changes)
    }
}
