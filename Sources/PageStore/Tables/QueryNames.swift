import PageModel

/// The names of queries in the records and in the index of names.
///
/// `name_hash` binds a name to an id. The index holds the hash, too, so a name can be read where its record is damaged.
/// A repair keeps the pages of a damaged record only if a name is bound to the record's id. Without such a name, the
/// pages may belong to another list.
enum QueryNames {
    private static let columns = "SELECT id, scope, key, name_hash FROM query"
    // Each scan runs in both directions, because an unreadable page ends a scan.
    private static let scans = ["", " DESC"].flatMap { direction in
        [
            SQL("\(columns) NOT INDEXED ORDER BY id\(direction)"),
            SQL("\(columns) INDEXED BY sqlite_autoindex_query_1 ORDER BY scope\(direction), key\(direction)"),
        ]
    }

    /// Returns the names that are bound to an id, as far as they can be read.
    static func bound(in connection: Connection) -> [QueryID: QueryKey] {
        var found: [QueryID: QueryKey] = [:]
        for scan in scans {
            try? connection.each(scan) { row throws(StorageError) in
                let (id, key) = (QueryID(rawValue: row.int64(0)), QueryKey(row.text(2), scope: row.text(1)))
                if row.hash(3) == ChecksummedQuery.nameHash(of: key, id) { found[id] = key }
            }
        }
        return found
    }

    private static let unindexed = SQL(
        """
        SELECT id FROM query AS q NOT INDEXED WHERE NOT EXISTS (
            SELECT 1 FROM query AS i INDEXED BY sqlite_autoindex_query_1
            WHERE i.scope = q.scope AND i.key = q.key AND i.name_hash = q.name_hash AND i.id = q.id
        ) LIMIT 1
        """)

    private static let name = SQL("SELECT id, scope, key, name_hash FROM query WHERE id = ?")

    /// Returns whether the name in a record is bound to its id. Returns true if there is no such record.
    static func isBound(_ query: QueryID, in connection: Connection) throws(StorageError) -> Bool {
        try connection.first(name, query.rawValue) { row throws(StorageError) in
            row.hash(3) == ChecksummedQuery.nameHash(of: QueryKey(row.text(2), scope: row.text(1)), query)
        } ?? true
    }

    private static let unindexedOne = SQL(
        """
        SELECT count(*) FROM query AS q NOT INDEXED WHERE q.id = ?1 AND NOT EXISTS (
            SELECT 1 FROM query AS i INDEXED BY sqlite_autoindex_query_1
            WHERE i.scope = q.scope AND i.key = q.key AND i.name_hash = q.name_hash AND i.id = q.id
        )
        """)

    /// Returns whether the index of names has the entry of this record. Returns true if there is no such record.
    static func isIndexed(_ query: QueryID, in connection: Connection) throws(StorageError) -> Bool {
        try connection.number(unindexedOne, .int(query.rawValue)) == 0
    }

    /// Checks that the index of names has an entry for each record. Otherwise a list without an entry would be
    /// registered twice. The check runs once per connection, when it registers its first new list.
    /// - Throws: `damaged` when an entry is missing.
    static func check(in connection: Connection) throws(StorageError) {
        guard !connection.hasSoundNames else { return }
        if let missing = try connection.number(unindexed) {
            throw StorageError(
                .damaged,
                "the index of names in \(connection.path) lacks query \(missing); a repair restores it"
            )
        }
        connection.hasSoundNames = true
    }
}
