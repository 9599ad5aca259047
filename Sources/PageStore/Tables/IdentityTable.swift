import PageModel

/// Rows of `identity`: per page the hashes that tell items apart, scanned without touching payloads.
enum IdentityTable {
    /// The first position of each of `keys` in the list's current generation.
    static func locate(
        _ keys: Set<UInt64>, in record: QueryRecord, _ connection: Connection
    ) throws(StorageError) -> [UInt64: Int] {
        var hits: [(body: Int64, index: Int, key: UInt64)] = []
        try connection.each(
            "SELECT body, hashes FROM identity WHERE query = ?", .int(record.id.rawValue)
        ) { row throws(StorageError) in
            let body = row.int64(0)
            row.withBlob(1) { hashes in
                BodyCodec.eachKey(in: hashes) { index, key in
                    if keys.contains(key) { hits.append((body, index, key)) }
                }
            }
        }
        guard !hits.isEmpty else { return [:] }
        let places = try self.places(in: record.id, connection)
        var positions: [UInt64: Int] = [:]
        for hit in hits {
            guard let place = places[hit.body], place.generation == record.version.generation else { continue }
            let position = place.offset + hit.index
            positions[hit.key] = min(position, positions[hit.key] ?? .max)
        }
        return positions
    }

    /// Where each body of a query lies.
    static func places(in query: QueryID, _ connection: Connection) throws(StorageError) -> [Int64: BodyPlace] {
        var places: [Int64: BodyPlace] = [:]
        try connection.each(
            "SELECT body, offset, generation FROM page WHERE query = ?", .int(query.rawValue)
        ) { row throws(StorageError) in
            places[row.int64(0)] = BodyPlace(offset: row.int(1), generation: row.int(2))
        }
        return places
    }
}

/// Where a body's page lies in its list.
struct BodyPlace {
    var offset: Int
    var generation: Int
}

/// Which body holds which item, kept in memory between the commits of one connection, so that R5 can be checked on
/// every page of a long load without reading the list again each time.
///
/// It is trusted only as long as nobody else has written: `PRAGMA data_version` changes exactly when another
/// connection has committed (https://www.sqlite.org/pragma.html#pragma_data_version). A transaction that rolls back
/// forgets everything.
struct IdentityIndex {
    /// One list's items.
    struct List {
        /// Identity key → body.
        var owners: [UInt64: Int64] = [:]
        var places: [Int64: BodyPlace] = [:]
    }

    private var lists: [QueryID: List] = [:]
    private var dataVersion: Int64 = -1

    /// Call inside the write transaction, before anything is asked.
    mutating func refresh(_ connection: Connection) throws(StorageError) {
        let version = try connection.first("PRAGMA data_version") { row throws(StorageError) in row.int64(0) } ?? 0
        if version != dataVersion { lists.removeAll() }
        dataVersion = version
    }

    mutating func forgetAll() { lists.removeAll() }
    mutating func forget(_ query: QueryID) { lists[query] = nil }

    /// The bodies that hold any of these keys.
    mutating func bodies(
        holding keys: [UInt64], in query: QueryID, _ connection: Connection
    ) throws(StorageError) -> [Int64: BodyPlace] {
        let list = try loaded(query, connection)
        var found: [Int64: BodyPlace] = [:]
        for key in keys {
            if let body = list.owners[key], let place = list.places[body] { found[body] = place }
        }
        return found
    }

    mutating func add(_ body: Int64, at place: BodyPlace, keys: [UInt64], in query: QueryID) {
        guard lists[query] != nil else { return }
        lists[query]?.places[body] = place
        for key in keys { lists[query]?.owners[key] = body }
    }

    /// Call when a body is deleted. Its keys may stay behind: they lead to no place and so to no hit.
    mutating func remove(_ body: Int64, in query: QueryID) {
        lists[query]?.places[body] = nil
    }

    private mutating func loaded(_ query: QueryID, _ connection: Connection) throws(StorageError) -> List {
        if let list = lists[query] { return list }
        var list = List(places: try IdentityTable.places(in: query, connection))
        try connection.each(
            "SELECT body, hashes FROM identity WHERE query = ?", .int(query.rawValue)
        ) { row throws(StorageError) in
            let body = row.int64(0)
            row.withBlob(1) { hashes in
                BodyCodec.eachKey(in: hashes) { _, key in list.owners[key] = body }
            }
        }
        // A process works on few lists at a time; more than this would be memory without use.
        if lists.count >= 4 { lists.removeAll() }
        lists[query] = list
        return list
    }
}
