import PageModel

/// Rows of `identity`: the hashes of each page's items. A scan of them reads no payloads.
enum IdentityTable {
    private static let insert = SQL("INSERT OR REPLACE INTO identity (query, body, hashes, seal) VALUES (?, ?, ?, ?)")
    private static let delete = SQL("DELETE FROM identity WHERE query = ? AND body = ?")
    private static let ofQuery = SQL("SELECT body, hashes, seal FROM identity WHERE query = ? ORDER BY body")
    private static let one = SQL("SELECT hashes, seal FROM identity WHERE query = ? AND body = ?")

    static func insert(
        _ identities: [ItemIdentity], of body: Int64, query: QueryID, in connection: Connection
    ) throws(StorageError) {
        var failure: StorageError?
        BodyCodec.withHashes(of: identities) { hashes in
            do throws(StorageError) {
                try connection.run(insert) { statement throws(StorageError) in
                    try statement.bind(1, query.rawValue)
                    try statement.bind(2, body)
                    try statement.bindInPlace(3, hashes)
                    try statement.bind(4, seal(of: hashes, body: body, query: query))
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    static func delete(_ body: Int64, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(delete, .int(query.rawValue), .int(body))
    }

    /// Returns the first position of each of `keys` in the list's current generation.
    static func locate(
        _ keys: Set<UInt64>, in record: QueryRecord, _ connection: Connection
    ) throws(StorageError) -> [UInt64: ItemPlace] {
        var hits: [Int64: [(index: Int, identity: ItemIdentity)]] = [:]
        try scan(record.id, connection) { body, hashes in
            BodyCodec.eachKey(in: hashes) { index, key in
                guard keys.contains(key) else { return }
                hits[body, default: []].append(
                    (index, ItemIdentity(key: key, content: BodyCodec.content(at: index, in: hashes))))
            }
        }
        guard !hits.isEmpty else { return [:] }
        var places: [UInt64: ItemPlace] = [:]
        let offsets = try self.offsets(of: record.id, connection)
        for (body, found) in hits {
            // The row of the page holds the offset, and its seal proves it.
            guard let offset = offsets[body], let row = try PageTable.row(at: offset, of: record.id, in: connection),
                row.body == body, row.summary.generation == record.version.generation
            else { continue }
            for hit in found where offset + hit.index < places[hit.identity.key]?.position ?? .max {
                places[hit.identity.key] = ItemPlace(position: offset + hit.index, content: hit.identity.content)
            }
        }
        return places
    }

    /// Calls `visit` with the hashes of each page of a query. Hashes with an invalid seal are recomputed from the
    /// items.
    static func scan(
        _ query: QueryID, _ connection: Connection, _ visit: (Int64, UnsafeRawBufferPointer) -> Void
    ) throws(StorageError) {
        var visited: Set<Int64>?
        var broken: Set<Int64> = []
        var last = Int64.min
        let isDone: Void? = try connection.reaching(.identities) { () throws(StorageError) in
            try connection.each(ofQuery, .int(query.rawValue)) { row throws(StorageError) in
                let body = row.int64(0)
                guard body > last || last == .min else {
                    throw StorageError(.damaged, "rows of item hashes do not ascend")
                }
                last = body
                let isWhole = row.withBlob(1) { hashes in
                    guard seal(of: hashes, body: body, query: query) == row.hash(2) else { return false }
                    visit(body, hashes)
                    return true
                }
                if !isWhole { broken.insert(body) }
            }
        }
        if isDone == nil {
            // The rows up to `last` have been read.
            visited =
                last == .min
                ? []
                : Set(
                    try PageTable.rows(of: query, in: connection).map(\.body).filter {
                        $0 <= last && !broken.contains($0)
                    })
        }
        guard !broken.isEmpty || visited != nil else { return }
        for row in try PageTable.rows(of: query, in: connection)
        where visited.map({ !$0.contains(row.body) }) ?? broken.contains(row.body) {
            guard let content = try BodyTable.content(of: row, in: connection) else { continue }
            BodyCodec.withHashes(of: content.identities) { visit(row.body, $0) }
        }
    }

    /// Returns whether the stored hashes of a page are intact and equal to these.
    static func holds(
        _ identities: [ItemIdentity], for body: Int64, query: QueryID, _ connection: Connection
    ) throws(StorageError) -> Bool {
        do throws(StorageError) {
            return try connection.first(one, query.rawValue, body) { row throws(StorageError) in
                row.withBlob(0) { stored in
                    seal(of: stored, body: body, query: query) == row.hash(1)
                        && BodyCodec.withHashes(of: identities) { stored.elementsEqual($0) }
                }
            } ?? false
        } catch {
            guard error.isUnreadableRow else { throw error }
            return false
        }
    }

    private static let offsetsOf = SQL("SELECT body, offset FROM page WHERE query = ?")

    /// Returns the offset of each body, from page rows whose seal is not checked.
    static func offsets(of query: QueryID, _ connection: Connection) throws(StorageError) -> [Int64: Int] {
        var offsets: [Int64: Int] = [:]
        do throws(StorageError) {
            try connection.each(offsetsOf, .int(query.rawValue)) { row throws(StorageError) in
                guard StoredBounds.positions.contains(row.int(1)) else { return }
                offsets[row.int64(0)] = row.int(1)
            }
        } catch {
            guard error.isUnreadableRow else { throw error }
            for row in try PageTable.rows(of: query, in: connection) { offsets[row.body] = row.summary.offset }
        }
        return offsets
    }

    private static func seal(of hashes: UnsafeRawBufferPointer, body: Int64, query: QueryID) -> UInt64 {
        var seal = RowChecksum(RowChecksum.identity)
        seal.mix(query.rawValue)
        seal.mix(body)
        seal.mix(hashes)
        return seal.value
    }
}
