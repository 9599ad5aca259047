#if PostgreSQL
import PageModel

/// Rows of `journal`: one for each version of a list, with the changes of its commit (R48).
enum JournalRow {
    private static let insert = SQL(
        "INSERT INTO @journal (query, counter, stamp, at, cost, changes, seal) VALUES ($1, $2, $3, $4, $5, $6, $7)")
    static let deletingUntil = SQL("DELETE FROM @journal WHERE query = $1 AND counter <= $2")
    // The entries up to the second entry of the last ten minutes. `JournalPruning` drops none after it. While a list
    // grows fast, all entries are that young, and every commit over the bound would read all of them.
    private static let prunable = SQL(
        """
        SELECT counter, at, cost FROM @journal WHERE query = $1 AND counter <= coalesce(
            (SELECT counter FROM @journal WHERE query = $1 AND at > $2 AND at <= $3 ORDER BY counter LIMIT 1 OFFSET 1),
            \(Int64.max))
        ORDER BY counter
        """)
    static let since = SQL(
        """
        SELECT counter, stamp, at, cost, changes, seal FROM @journal
        WHERE query = $1 AND counter >= $2 ORDER BY counter LIMIT $3
        """)
    static let all = SQL(
        "SELECT counter, stamp, at, cost, changes, seal, query FROM @journal ORDER BY query, counter")
    static let has = SQL("SELECT 1::bigint FROM @journal WHERE query = $1 AND counter = $2 AND stamp = $3")
    static let lastUntil = SQL(
        "SELECT counter, stamp FROM @journal WHERE query = $1 AND at <= $2 ORDER BY counter DESC LIMIT 1")
    static let oldest = SQL("SELECT counter, stamp FROM @journal WHERE query = $1 ORDER BY counter LIMIT 1")

    /// The request for the entries that ``JournalPruning`` considers, oldest first: their counters, times and costs.
    static func mayBeDropped(of query: QueryID, at now: Timestamp) -> WriteBatch.Request {
        (
            prunable,
            [.integer(query.rawValue), .time(now + JournalBound.age * -1), .time(now + JournalBound.age)]
        )
    }

    static func inserting(_ entry: JournalEntry, cost: Int, to query: QueryID) -> (SQL, [Value]) {
        let changes = JournalCodec.encode(entry.changes)
        let sum = changes.withUnsafeBytes {
            seal(query, entry.version.counter, entry.version.stamp, entry.at.milliseconds, cost, $0)
        }
        return (
            insert,
            [
                .integer(query.rawValue), .int(entry.version.counter), .hash(entry.version.stamp), .time(entry.at),
                .int(cost), .bytes(changes), .hash(sum),
            ]
        )
    }

    /// Decodes a row. Returns nil when its seal does not match, its counter is out of range, or its changes cannot be
    /// decoded.
    static func entry(_ row: Row, of query: QueryID) -> JournalEntry? {
        row.rows.withBytes(row.index, 4) { bytes -> JournalEntry? in
            guard let bytes, (1...ListTotal.largest).contains(row.int(0)),
                seal(query, row.int(0), row.hash(1), row.int64(2), row.int(3), bytes) == row.hash(5),
                let changes = JournalCodec.decode(bytes)
            else { return nil }
            return JournalEntry(
                version: ContentVersion(counter: row.int(0), stamp: row.hash(1)), at: row.time(2), changes: changes)
        }
    }

    private static func seal(
        _ query: QueryID, _ counter: Int, _ stamp: UInt64, _ at: Int64, _ cost: Int, _ changes: UnsafeRawBufferPointer
    ) -> UInt64 {
        var seal = RowChecksum(RowChecksum.journal)
        seal.mix(query.rawValue)
        seal.mix(counter)
        seal.mix(stamp)
        seal.mix(at)
        seal.mix(cost)
        seal.mix(changes)
        return seal.value
    }

    /// Returns the changes since `version`, from the rows of that version and of the versions after it.
    /// - Parameter current: the current version of the list.
    static func changes(
        _ rows: Rows, of query: QueryID, since version: ContentVersion, current: ContentVersion, limit: Int
    ) -> ListChanges {
        guard version.counter <= current.counter, version.counter != current.counter || version == current else {
            return .truncated(current: current)
        }
        var entries: [JournalEntry] = []
        for (index, row) in rows.all.enumerated() {
            // The first row belongs to `version` itself. The same counter may belong to other content (R51).
            guard let entry = entry(row, of: query), entry.version.counter == version.counter + index,
                index > 0 || entry.version == version
            else { return .truncated(current: current) }
            if index > 0 { entries.append(entry) }
        }
        guard rows.count > 0, !entries.isEmpty || version == current || limit < 0 else {
            return .truncated(current: current)
        }
        return ListChanges.page(entries, since: version, limit: limit)
    }
}
#endif
