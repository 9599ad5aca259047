#if PostgreSQL
import PageModel

/// Rows of `body`: the items of pages, and the hashes by which they are found.
enum BodyRow {
    /// Returns the key of an item in the index of the table, which covers the items of all lists.
    static func key(_ key: UInt64, in query: QueryID) -> Int64 {
        Int64(bitPattern: key ^ UInt64(bitPattern: query.rawValue) &* 0x9E37_79B9_7F4A_7C15)
    }

    /// Returns the key of an item from its key in the index.
    static func key(stored: Int64, in query: QueryID) -> UInt64 {
        UInt64(bitPattern: key(UInt64(bitPattern: stored), in: query))
    }

    private static func seal(_ query: QueryID, _ id: Int64, _ keys: [Int64], _ contents: [Int64]) -> UInt64 {
        var seal = RowChecksum(RowChecksum.identity)
        seal.mix(query.rawValue)
        seal.mix(id)
        keys.withUnsafeBytes { seal.mix($0) }
        contents.withUnsafeBytes { seal.mix($0) }
        return seal.value
    }

    /// Inserts a row of ``inserting(_:_:as:for:in:)``. A statement for several rows would be no faster, because most of
    /// the time goes into the index of items.
    static let insertion = RowStatement(
        one: SQL(
            "INSERT INTO @body (query, id, keys, contents, layout, payload, seal) VALUES ($1, $2, $3, $4, $5, $6, $7)"))
    static let deleting = SQL("DELETE FROM @body WHERE query = $1 AND id = $2")
    static let deletingAccess = SQL("DELETE FROM @access WHERE query = $1 AND body = $2")

    /// Returns the row of a page, and the values of the row that ``insertion`` writes for the items of the page.
    static func inserting(
        _ content: PageContent, _ identities: [ItemIdentity], as id: Int64, for summary: PageSummary, in query: QueryID
    ) -> (row: PageRow, values: [Value]) {
        let layout = BodyCodec.layout(of: content)
        let keys = identities.map { key($0.key, in: query) }
        let contents = identities.map { Int64(bitPattern: $0.content) }
        let row = PageRow(
            summary: summary, body: id, checksum: BodyCodec.checksum(layout: layout, identities),
            bytes: layout.count + content.bytes.count)
        return (
            row,
            [
                .integer(id), .integers(keys), .integers(contents), .bytes(layout), .bytes(content.bytes),
                .hash(seal(query, id, keys, contents)),
            ]
        )
    }

    /// Returns the columns keys, contents and seal of a body.
    static func hashes(of identities: [ItemIdentity], body: Int64, in query: QueryID) -> [Value] {
        let keys = identities.map { key($0.key, in: query) }
        let contents = identities.map { Int64(bitPattern: $0.content) }
        return [.integers(keys), .integers(contents), .hash(seal(query, body, keys, contents))]
    }

    /// Decodes the items of a page. Returns nil when the body is missing, or its bytes do not match the checksum.
    /// - Parameter column: the column of the layout. The payload is in the column after it.
    static func content(of row: PageRow, _ found: Row, at column: Int) -> PageContent? {
        found.rows.withBytes(found.index, column) { layout in
            found.rows.withBytes(found.index, column + 1) { payload in
                guard let layout, let payload, layout.count + payload.count == row.bytes else { return nil }
                let content = BodyCodec.content(layout: layout, payload: payload, checksum: row.checksum)
                return content?.count == row.summary.count ? content : nil
            }
        }
    }

    /// The identities in a row of `body` with the columns id, keys, contents and seal. Returns nil when the seal does
    /// not match.
    static func identities(_ row: Row, in query: QueryID, from first: Int) -> [ItemIdentity]? {
        guard let keys = row.rows.integers(row.index, first + 1),
            let contents = row.rows.integers(row.index, first + 2), keys.count == contents.count,
            seal(query, row.int64(first), keys, contents) == row.hash(first + 3)
        else { return nil }
        return zip(keys, contents).map {
            ItemIdentity(key: key(stored: $0, in: query), content: UInt64(bitPattern: $1))
        }
    }

    // MARK: Reading

    static let some = SQL(
        """
        SELECT b.id, b.layout, b.payload, a.used_at FROM @body AS b LEFT JOIN @access AS a ON a.query = b.query AND a.body = b.id
        WHERE b.query = $1 AND b.id = ANY($2::bigint[])
        """)

    /// The bodies of the pages in several ranges and of the next page after each range: the first of them, up to $4
    /// bytes in total.
    static let meetingSome = SQL(
        """
        SELECT b.id, b.layout, b.payload, a.used_at FROM (
            SELECT p.body, sum(p.bytes) OVER (ORDER BY p.start) AS taken FROM unnest($2::bigint[], $3::bigint[]) AS r(lower, upper)
            CROSS JOIN LATERAL (
                SELECT * FROM @page WHERE query = $1
                  AND start <= coalesce((SELECT min(start) FROM @page WHERE query = $1 AND start >= r.upper), r.upper)
                  AND start >= coalesce((SELECT max(start) FROM @page WHERE query = $1 AND start <= r.lower), 0)
            ) AS p
        ) AS w JOIN @body AS b ON b.query = $1 AND b.id = w.body
        LEFT JOIN @access AS a ON a.query = b.query AND a.body = b.id
        WHERE w.taken <= $4
        """)

    /// The pages that hold one of these items. The sum `b.query + 0` keeps the planner from scanning all bodies of the
    /// list.
    static let holding = SQL(
        """
        SELECT \(PageRow.qualified), b.keys FROM @body AS b JOIN @page AS p ON p.query = b.query AND p.body = b.id
        WHERE b.keys && $2::bigint[] AND b.query + 0 = $1
        """)

    /// The pages that hold one of these items, with the hashes of their items.
    static let locating = SQL(
        """
        SELECT \(PageRow.qualified), b.id, b.keys, b.contents, b.seal
        FROM @body AS b JOIN @page AS p ON p.query = b.query AND p.body = b.id
        WHERE b.keys && $2::bigint[] AND b.query + 0 = $1
        """)

    /// The pages with items in a range whose bodies have one of the given numbers, with these bodies.
    static let somePages = SQL(
        """
        SELECT \(PageRow.qualified), b.layout, b.payload
        FROM @page AS p JOIN @body AS b ON b.query = p.query AND b.id = p.body
        WHERE p.query = $1 AND b.id = ANY($4::bigint[]) AND p.start < $3
          AND p.start >= coalesce((SELECT max(start) FROM @page WHERE query = $1 AND start <= $2), 0)
        """)

    /// The pages with items in a range. OFFSET 0 makes the server find each body by its key. Without OFFSET, a plan
    /// that was made while the tables were new can scan all bodies of the list for each page.
    static let pages = SQL(
        """
        SELECT \(PageRow.qualified), b.layout, b.payload
        FROM @page AS p LEFT JOIN LATERAL (
            SELECT layout, payload FROM @body WHERE query = $1 AND id = p.body OFFSET 0
        ) AS b ON true
        WHERE p.query = $1 AND p.start < $3 AND p.start >= coalesce(\(PageRow.lastStart(upTo: "$2")), 0)
        ORDER BY p.start
        """)
}
#endif
