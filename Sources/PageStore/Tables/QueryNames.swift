import PageModel

/// The names of lists, as the records and the index of names have them.
///
/// `name_hash` binds a name to an id. The index has it, too, so that a name is known where its record is not whole. A
/// record adopts pages only under a name that is bound to its id: the pages of any other id may be another list's.
enum QueryNames {
    private static let columns = "SELECT id, scope, key, name_hash FROM query"
    // From both ends: a page that cannot be read ends a scan.
    private static let scans = ["", " DESC"].flatMap { direction in
        [
            SQL("\(columns) NOT INDEXED ORDER BY id\(direction)"),
            SQL("\(columns) INDEXED BY sqlite_autoindex_query_1 ORDER BY scope\(direction), key\(direction)"),
        ]
    }

    /// The names that are bound to an id, as many as can be read.
    static func bound(in connection: Connection) -> [QueryID: QueryKey] {
        var found: [QueryID: QueryKey] = [:]
        for scan in scans {
            try? connection.each(scan) { row throws(StorageError) in
                let (id, key) = (QueryID(rawValue: row.int64(0)), QueryKey(row.text(2), scope: row.text(1)))
                if row.hash(3) == hash(of: key, id) { found[id] = key }
            }
        }
        return found
    }

    /// The checksum that binds a name to an id.
    static func hash(of key: QueryKey, _ id: QueryID) -> UInt64 {
        var seal = Seal(Seal.query)
        seal.mix(id.rawValue)
        seal.mix(key.scope)
        seal.mix(key.text)
        return seal.value
    }

    private static let unindexed = SQL(
        """
        SELECT id FROM query AS q NOT INDEXED WHERE NOT EXISTS (
            SELECT 1 FROM query AS i INDEXED BY sqlite_autoindex_query_1
            WHERE i.scope = q.scope AND i.key = q.key AND i.name_hash = q.name_hash AND i.id = q.id
        ) LIMIT 1
        """)

    /// Checks that the index of names leads to each record: a list that it lacks would be registered a second time. The
    /// first new list of a connection pays for it.
    /// - Throws: `damaged` when it lacks one.
    static func check(in connection: Connection) throws(StorageError) {
        guard !connection.hasSoundNames else { return }
        if let missing = try connection.number(unindexed) {
            throw StorageError(
                .damaged,
                "the index of names in \(connection.path) lacks query \(missing); 'pagecache verify --repair' mends it")
        }
        connection.hasSoundNames = true
    }
}
