#if PostgreSQL
public import PageModel

/// Checks the stored items of a list.
extension PostgreSQLPageStore {
    private static let lengths = SQL(
        "SELECT id, octet_length(layout)::bigint + octet_length(payload)::bigint FROM @body WHERE query = $1")
    private static let wholeList = SQL(
        """
        SELECT \(PageRow.qualified), b.layout, b.payload
        FROM @page AS p LEFT JOIN @body AS b ON b.query = p.query AND b.id = p.body
        WHERE p.query = $1 AND p.start >= $2 ORDER BY p.start LIMIT 64
        """)

    public func damage(of query: QueryID, thoroughly: Bool) async throws(StorageError) -> StorageDamage {
        let id = Value.integer(query.rawValue)
        let found = try await server.read(
            [(ListRow.byID, [id]), (PageRow.all, [id]), (PostgreSQLPageStore.lengths, [id])], .long)
        guard let row = found[0].first else { return StorageDamage() }
        let record = try whole(ListRow.read(row)).record
        var damage = StorageDamage()
        let lengths = Dictionary(found[2].all.map { ($0.int64(0), $0.int(1)) }) { first, _ in first }
        let pages = PageRows(found[1].all, of: query).rows.filter {
            $0.summary.count > 0 && $0.summary.generation == record.version.generation
        }
        var readable: Set<Int64> = []
        if thoroughly {
            var next = 0
            while true {
                let portion = try await server.read((PostgreSQLPageStore.wholeList, [id, .int(next)]), .long)
                guard let last = portion.all.map({ $0.int(0) }).last else { break }
                for row in portion.all {
                    guard let page = PageRow(row, of: query),
                        BodyRow.content(of: page, row, at: PageRow.columnCount) != nil
                    else { continue }
                    readable.insert(page.body)
                }
                guard StoredBounds.positions.contains(last) else { break }
                next = last + 1
            }
        }
        for page in pages {
            let isServable = thoroughly ? readable.contains(page.body) : lengths[page.body] == page.bytes
            if !isServable { damage.pages.append(page.summary.range) }
        }
        return damage
    }
}
#endif
