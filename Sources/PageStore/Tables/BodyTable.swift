import PageModel

/// Rows of `body`, and of `identity` and `access`, which live and die with them.
enum BodyTable {
    private static let insert = SQL("INSERT INTO body (layout, payload) VALUES (?, ?)")
    private static let find = SQL("SELECT layout, payload FROM body WHERE id = ?")
    private static let deletions = [
        SQL("DELETE FROM body WHERE id = ?"), SQL("DELETE FROM access WHERE body = ?"),
    ]

    /// Writes the items of a page; returns the row of `page` that belongs to them.
    static func insert(
        _ content: PageContent, identities: [ItemIdentity], for summary: PageSummary, of query: QueryID,
        in connection: Connection
    ) throws(StorageError) -> PageRow {
        let layout = BodyCodec.layout(of: content)
        var failure: StorageError?
        // Bound in place: a page's bytes are not copied on their way to SQLite's.
        layout.withUnsafeBytes { layout in
            content.bytes.withUnsafeBytes { payload in
                do throws(StorageError) {
                    try connection.run(insert) { statement throws(StorageError) in
                        try statement.bindInPlace(1, layout)
                        try statement.bindInPlace(2, payload)
                    }
                } catch {
                    failure = error
                }
            }
        }
        if let failure { throw failure }
        let body = connection.lastInsertedRow
        try IdentityTable.insert(identities, of: body, query: query, in: connection)
        return PageRow(
            summary: summary, body: body, checksum: BodyCodec.checksum(layout: layout, identities),
            bytes: layout.count + content.bytes.count)
    }

    /// The items of a page; nil when their bytes are not what was stored.
    static func content(of row: PageRow, in connection: Connection) throws(StorageError) -> PageContent? {
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

    static func delete(_ body: Int64, of query: QueryID, in connection: Connection) throws(StorageError) {
        for deletion in deletions { try connection.run(deletion, .int(body)) }
        try IdentityTable.delete(body, query: query, in: connection)
    }
}
