import PageModel

/// Rows of `page`.
enum PageTable {
    /// The columns in the order in which `PageRow` decodes them and the seal mixes them.
    static let columns = """
        offset, count, body, checksum, bytes, generation, revision, evidence, evidence_at, seams, fetched_at, \
        validated_at, fingerprint, cursor_in, cursor_out, request, entity_tag, last_modified, covers_total, seal
        """

    private static let all = SQL("SELECT \(columns) FROM page WHERE query = ? ORDER BY offset")
    private static let upwards = SQL(
        "SELECT \(columns) FROM page WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset")
    private static let downwards = SQL(
        "SELECT \(columns) FROM page WHERE query = ? AND offset >= ? AND offset < ? ORDER BY offset DESC")
    // The rows are not checked. A forged size must not make the sum over all lists overflow.
    private static let total = SQL(
        "SELECT coalesce(sum(max(0, min(bytes, \(StoredBounds.pageSizes.upperBound)))), 0) FROM page WHERE query = ?")
    private static let at = SQL("SELECT \(columns) FROM page WHERE query = ? AND offset = ?")
    // Pages do not overlap (R5), so at most one page that starts before the range reaches into it.
    private static let meeting = SQL(
        """
        SELECT \(columns) FROM page
        WHERE query = ?1 AND offset < ?3
          AND offset >= coalesce((SELECT max(offset) FROM page WHERE query = ?1 AND offset <= ?2), 0)
        ORDER BY offset
        """)
    // REPLACE overwrites a damaged row at the same offset.
    private static let store = SQL(
        "INSERT OR REPLACE INTO page (query, \(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    private static let deleteOne = SQL("DELETE FROM page WHERE query = ? AND offset = ?")
    private static let changeAge = SQL("UPDATE page SET validated_at = ?, seal = ? WHERE query = ? AND offset = ?")

    // MARK: Reading

    /// Returns the intact rows, strictly ascending. Calls `broken` with the offset in each damaged row. Omits rows on
    /// pages of the file that cannot be read.
    static func rows(
        of query: QueryID, in connection: Connection, broken: (Int) -> Void = { _ in }
    ) throws(StorageError) -> [PageRow] {
        try keyedRows(of: query, in: connection, broken: broken).finish().values
    }

    /// Returns whether a page of the file with rows of the list cannot be read, or the rows do not ascend.
    static func isTreeDamaged(of query: QueryID, in connection: Connection) throws(StorageError) -> Bool {
        try keyedRows(of: query, in: connection).isTreeDamaged
    }

    /// Returns the trusted rows: intact, strictly ascending and without overlap (R5).
    static func read(of query: QueryID, in connection: Connection) throws(StorageError) -> PageRows {
        PageRows(try keyedRows(of: query, in: connection).finish())
    }

    private static func keyedRows(
        of query: QueryID, in connection: Connection, broken: (Int) -> Void = { _ in }
    ) throws(StorageError) -> KeyedRows<PageRow> {
        var rows = KeyedRows<PageRow>()
        do throws(StorageError) {
            var without: [Int] = []
            try connection.each(all, .int(query.rawValue)) { row throws(StorageError) in
                let whole = PageRow(row, of: query)
                if whole == nil { without.append(row.int(0)) }
                rows.add(row.int64(0), whole)
            }
            without.forEach(broken)
            return rows
        } catch {
            guard error.isUnreadableRow else { throw error }
        }
        var without: Set<Int> = []
        func scan(_ sql: SQL) -> KeyedRows<PageRow>.Scan {
            { (range, visit) throws(StorageError) in
                try connection.each(sql, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound)) {
                    row throws(StorageError) in
                    let whole = PageRow(row, of: query)
                    if whole == nil { without.insert(row.int(0)) }
                    visit(row.int64(0), whole)
                }
            }
        }
        // The rows of the first scan are read again, so that their order can be checked.
        rows = KeyedRows()
        try rows.read(0..<Int64(ListTotal.largest) + 1, ascending: scan(upwards), descending: scan(downwards))
        without.sorted().forEach(broken)
        return rows
    }

    /// Returns whether the list has at most 16 pages and at most 32 ledger entries. Reads at most one row more of
    /// each.
    static func isShort(_ query: QueryID, in connection: Connection) throws(StorageError) -> Bool {
        do throws(StorageError) {
            return try connection.number(isLong, .int(query.rawValue)) == 0
        } catch {
            guard error.isUnreadableRow else { throw error }
            // Reading around damage takes longer.
            return false
        }
    }

    private static let isLong = SQL(
        """
        SELECT EXISTS (SELECT 1 FROM page WHERE query = ?1 LIMIT 1 OFFSET 16)
            OR EXISTS (SELECT 1 FROM ledger WHERE query = ?1 LIMIT 1 OFFSET 32)
        """)

    static func bytes(of query: QueryID, in connection: Connection) throws(StorageError) -> Int {
        do throws(StorageError) {
            return Int(try connection.number(total, .int(query.rawValue)) ?? 0)
        } catch {
            guard error.isUnreadableRow else { throw error }
            return try rows(of: query, in: connection).reduce(0) { $0 + $1.bytes }
        }
    }

    /// Returns the intact rows of pages that hold positions in `range`, ascending. An empty page is found at its own
    /// offset.
    static func rows(
        meeting range: Range<Int>, of query: QueryID, in connection: Connection, broken: (Int) -> Void = { _ in }
    ) throws(StorageError) -> [PageRow] {
        try keyedRows(meeting: range, of: query, in: connection, broken: broken).finish().values.filter {
            $0.summary.meets(range)
        }
    }

    /// Returns the trusted rows of pages that hold positions in `range`, and the damage in it.
    static func read(
        meeting range: Range<Int>, of query: QueryID, in connection: Connection
    ) throws(StorageError) -> PageRows {
        var rows = PageRows(try keyedRows(meeting: range, of: query, in: connection).finish())
        rows.restrict(to: range)
        return rows
    }

    private static func keyedRows(
        meeting range: Range<Int>, of query: QueryID, in connection: Connection, broken: (Int) -> Void = { _ in }
    ) throws(StorageError) -> KeyedRows<PageRow> {
        var rows = KeyedRows<PageRow>()
        var without: [Int] = []
        let end = max(range.upperBound, range.lowerBound == .max ? .max : range.lowerBound + 1)
        do throws(StorageError) {
            try connection.each(meeting, .int(query.rawValue), .int(range.lowerBound), .int(end)) {
                row throws(StorageError) in
                let whole = PageRow(row, of: query)
                if whole == nil { without.append(row.int(0)) }
                rows.add(row.int64(0), whole)
            }
            without.forEach(broken)
            return rows
        } catch {
            guard error.isUnreadableRow else { throw error }
            return try keyedRows(of: query, in: connection) { if range.contains($0) { broken($0) } }
        }
    }

    /// Returns the page that starts at `offset`, or nil when its row is missing, damaged or unreadable.
    static func row(at offset: Int, of query: QueryID, in connection: Connection) throws(StorageError) -> PageRow? {
        do throws(StorageError) {
            return try connection.first(at, query.rawValue, Int64(offset)) { row throws(StorageError) in
                PageRow(row, of: query)
            } ?? nil
        } catch {
            guard error.isUnreadableRow else { throw error }
            return nil
        }
    }

    // MARK: Writing

    static func store(_ row: PageRow, of query: QueryID, in connection: Connection) throws(StorageError) {
        let page = row.summary
        try connection.run(store) { statement throws(StorageError) in
            try statement.bind(1, query.rawValue)
            try statement.bind(2, page.offset)
            try statement.bind(3, page.count)
            try statement.bind(4, row.body)
            try statement.bind(5, row.checksum)
            try statement.bind(6, row.bytes)
            try statement.bind(7, page.generation)
            try statement.bind(8, page.revision)
            try statement.bind(9, page.evidence.rawValue)
            try statement.bind(10, page.evidenceAt)
            if page.innerInferredSeams.isEmpty {
                try statement.bindNull(11)
            } else {
                try statement.bind(11, PageRow.encode(page.innerInferredSeams))
            }
            try statement.bind(12, page.fetchedAt)
            try statement.bind(13, page.validatedAt)
            try statement.bind(14, page.fingerprint)
            try statement.bind(15, page.cursorIn?.text)
            try statement.bind(16, page.cursorOut?.text)
            try statement.bind(17, page.validator?.request)
            try statement.bind(18, page.validator?.entityTag)
            try statement.bind(19, page.validator?.lastModified)
            try statement.bind(20, page.validator?.coversTotal ?? false ? 1 : 0)
            try statement.bind(21, row.seal(in: query))
        }
    }

    /// Updates only the age of a page.
    static func touch(
        _ row: PageRow, at moment: Timestamp, of query: QueryID, in connection: Connection
    ) throws(StorageError) {
        var row = row
        row.summary.validatedAt = moment
        let seal = row.seal(in: query)
        try connection.run(changeAge) { statement throws(StorageError) in
            try statement.bind(1, moment)
            try statement.bind(2, seal)
            try statement.bind(3, query.rawValue)
            try statement.bind(4, row.summary.offset)
        }
    }

    static func delete(at offset: Int, of query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(deleteOne, .int(query.rawValue), .int(offset))
    }

    // MARK: Moving

    /// Copies intact rows to the scratch table, with a seal for their new offset. A damaged row is not copied, because
    /// a new seal would make it trusted. It is deleted with the others.
    private static let take = SQL(
        """
        INSERT INTO temp.moving_page SELECT
            query, offset + ?4, count, body, checksum, bytes, generation, ?5, evidence, evidence_at, seams, fetched_at,
            validated_at, fingerprint, cursor_in, cursor_out, NULL, NULL, NULL, 0,
            page_seal(
                query, offset + ?4, count, body, checksum, bytes, generation, ?5, evidence, evidence_at, seams, fetched_at,
                validated_at, fingerprint, cursor_in, cursor_out, NULL, NULL, NULL, 0)
        FROM page WHERE query = ?1 AND offset >= ?2 AND offset < ?3 AND offset <= 9007199254740992 AND seal = page_seal(
            query, offset, count, body, checksum, bytes, generation, revision, evidence, evidence_at, seams, fetched_at,
            validated_at, fingerprint, cursor_in, cursor_out, request, entity_tag, last_modified, covers_total)
        """)

    /// Moves a stretch of pages. The validator of a moved page is void, because its request would now return other
    /// items (R1).
    /// - Returns: whether every row was intact and was moved.
    static func shift(
        _ move: Rearrangement.Move, revision: Int, of query: QueryID, in connection: Connection
    ) throws(StorageError) -> Bool {
        try Shift.page.run(move, of: query, in: connection) { range throws(StorageError) in
            try connection.run(
                take, .int(query.rawValue), .int(range.lowerBound), .int(range.upperBound), .int(move.distance),
                .int(revision))
        }
    }
}
