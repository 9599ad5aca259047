import PageModel

/// Rows of `body`, and the rows of `identity` and `access` that share their lifetime.
enum BodyTable {
    private static let insert = SQL("INSERT INTO body (layout, payload, id) VALUES (?, ?, ?)")
    private static let smallest = SQL("SELECT min(id) FROM body")
    private static let lengths = SQL("SELECT length(layout) + length(payload) FROM body WHERE id = ?")
    // CROSS: SQLite must not scan the bodies of all lists (https://www.sqlite.org/optoverview.html#crossjoin).
    private static let offsets = SQL(
        """
        SELECT page.offset FROM page CROSS JOIN body ON body.id = page.body
        WHERE page.query = ? AND length(body.layout) + length(body.payload) = page.bytes
        """)
    private static let find = SQL("SELECT layout, payload FROM body WHERE id = ?")
    private static let deletion = SQL("DELETE FROM body WHERE id = ?")
    private static let accessDeletion = SQL("DELETE FROM access WHERE body = ?")

    /// Writes the items of a page. Returns the `page` row for them.
    static func insert(
        _ content: PageContent, identities: [ItemIdentity], for summary: PageSummary, of query: QueryID,
        in connection: Connection
    ) throws(StorageError) -> PageRow {
        let layout = BodyCodec.layout(of: content)
        let body = try insertAround(layout, content.bytes, in: connection)
        try connection.reaching(.identities) { () throws(StorageError) in
            try IdentityTable.insert(identities, of: body, query: query, in: connection)
        }
        return PageRow(
            summary: summary, body: body, checksum: BodyCodec.checksum(layout: layout, identities),
            bytes: layout.count + content.bytes.count)
    }

    /// Inserts a body after all others. Where that place cannot be reached, inserts it before all others.
    private static func insertAround(
        _ layout: [UInt8], _ payload: [UInt8], in connection: Connection
    ) throws(StorageError) -> Int64 {
        let isDone: Void? = try connection.reaching(.newBodies) { () throws(StorageError) in
            try insert(layout, payload, as: nil, in: connection)
        }
        if isDone == nil {
            let first = max(min(try connection.number(smallest) ?? 0, 0), .min + 1)
            try insert(layout, payload, as: first - 1, in: connection)
        }
        return connection.lastInsertedRow
    }

    private static func insert(
        _ layout: [UInt8], _ payload: [UInt8], as id: Int64?, in connection: Connection
    ) throws(StorageError) {
        var failure: StorageError?
        // Bound in place, so that the bytes of a page are not copied before SQLite copies them.
        layout.withUnsafeBytes { layout in
            payload.withUnsafeBytes { payload in
                do throws(StorageError) {
                    try connection.run(insert) { statement throws(StorageError) in
                        try statement.bindInPlace(1, layout)
                        try statement.bindInPlace(2, payload)
                        if let id { try statement.bind(3, id) } else { try statement.bindNull(3) }
                    }
                } catch {
                    failure = error
                }
            }
        }
        if let failure { throw failure }
    }

    /// Returns the items of a page, or nil when their bytes do not match the checksum or cannot be read.
    static func content(of row: PageRow, in connection: Connection) throws(StorageError) -> PageContent? {
        try connection.reaching(.body(row.body)) { () throws(StorageError) in try soundContent(of: row, in: connection)
        } ?? nil
    }

    private static func soundContent(of row: PageRow, in connection: Connection) throws(StorageError) -> PageContent? {
        let content = try connection.first(find, .int(row.body)) { found throws(StorageError) -> PageContent? in
            found.withBlob(0) { layout in
                found.withBlob(1) { payload in
                    guard layout.count + payload.count == row.bytes else { return nil }
                    return BodyCodec.content(layout: layout, payload: payload, checksum: row.checksum)
                }
            }
        }
        guard let content, let content, content.count == row.summary.count else { return nil }
        return content
    }

    /// Returns whether the body of a page exists and has the recorded length. Does not read its bytes.
    static func isThere(_ row: PageRow, in connection: Connection) throws(StorageError) -> Bool {
        let found = try connection.reaching(.body(row.body)) { () throws(StorageError) in
            try connection.number(lengths, .int(row.body))
        }
        guard let found, let length = found else { return false }
        return length == Int64(row.bytes)
    }

    /// Returns the offsets of pages of a list for which `isThere` is true. One statement finds them all. If a part of
    /// the file cannot be read, some offsets are missing from the result.
    static func present(of query: QueryID, in connection: Connection) throws(StorageError) -> Set<Int> {
        var present: Set<Int> = []
        do throws(StorageError) {
            try connection.each(offsets, .int(query.rawValue)) { row throws(StorageError) in
                _ = present.insert(row.int(0))
            }
        } catch {
            guard error.isUnreadableRow else { throw error }
        }
        return present
    }

    static func delete(_ body: Int64, of query: QueryID, in connection: Connection) throws(StorageError) {
        // A row that cannot be reached becomes an orphan, which `repair` drops.
        try connection.reaching(.body(body)) { () throws(StorageError) in try connection.run(deletion, .int(body)) }
        try connection.reaching(.accesses) { () throws(StorageError) in try connection.run(accessDeletion, .int(body)) }
        try connection.reaching(.identities) { () throws(StorageError) in
            try IdentityTable.delete(body, query: query, in: connection)
        }
    }
}
