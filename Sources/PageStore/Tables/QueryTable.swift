import PageModel

/// Rows of `query`. A row is read and written as a unit, so its seal covers all of it.
enum QueryTable {
    /// The columns in the order in which the seal mixes them.
    static let sealed = """
        id, scope, key, name_hash, generation, revision, total_kind, total, list_end, created_at, validated_at, \
        allows_duplicates, paging, source, sweep_position, sweep_cursor, sweep_started_at, pinned, \
        invalidated_at, fresh_for, origin_window, last_audit_at, unproven, q.seal
        """
    private static let columns = sealed + ", counter, stamp, kept"
    /// Columns for a damaged file. The record is read without its version, so a damaged journal hides no query.
    private static let unversioned = sealed + ", 0, 0, 0"

    // The newest row of the journal holds the list's version (R51), which costs one more lookup.
    private static let byKey = SQL(
        """
        SELECT \(columns) FROM query AS q LEFT JOIN journal AS j ON j.query = q.id
        WHERE scope = ? AND key = ? ORDER BY counter DESC LIMIT 1
        """)
    private static let byID = SQL(
        "SELECT \(columns) FROM query AS q LEFT JOIN journal AS j ON j.query = q.id WHERE id = ? ORDER BY counter DESC LIMIT 1"
    )
    private static let everything = SQL(
        """
        SELECT \(columns) FROM query AS q LEFT JOIN journal AS j
            ON j.query = q.id AND j.counter = (SELECT max(counter) FROM journal WHERE query = q.id)
        ORDER BY id
        """)
    private static let ids = SQL("SELECT id FROM query NOT INDEXED ORDER BY id")
    private static let insert = SQL(
        """
        INSERT INTO query (
            id, scope, key, name_hash, generation, revision, total_kind, created_at, allows_duplicates, paging, source, pinned,
            unproven, seal
        ) VALUES (?, ?, ?, ?, 1, 0, 'unknown', ?, 0, '', '', ?, 0, ?)
        """)
    private static let update = SQL(
        """
        UPDATE query SET
            scope = ?2, key = ?3, name_hash = ?4, generation = ?5, revision = ?6, total_kind = ?7, total = ?8, list_end = ?9,
            created_at = ?10, validated_at = ?11, allows_duplicates = ?12, paging = ?13, source = ?14,
            sweep_position = ?15, sweep_cursor = ?16, sweep_started_at = ?17, pinned = ?18,
            invalidated_at = ?19, fresh_for = ?20, origin_window = ?21, last_audit_at = ?22, unproven = ?23, seal = ?24
        WHERE id = ?1
        """)
    private static let delete = SQL("DELETE FROM query WHERE id = ?")
    private static let pin = SQL("SELECT pinned FROM query WHERE id = ? AND pinned IN (0, 1)")

    /// Returns the record with this key, or nil when there is none.
    /// - Throws: `damaged` when the record exists but is damaged.
    static func find(_ key: QueryKey, in connection: Connection) throws(StorageError) -> QueryRecord? {
        try around(connection, { $0.key == key }) { () throws(StorageError) in
            try connection.first(byKey, .text(key.scope), .text(key.text)) { row throws(StorageError) in
                let record = try whole(row, connection)
                guard record.key == key else {
                    throw StorageError(.damaged, "the index of names in \(connection.path) is damaged")
                }
                return record
            }
        }
    }

    /// Returns the record with this id, or nil when there is none.
    /// - Throws: `damaged` when the record exists but is damaged.
    static func find(_ id: QueryID, in connection: Connection) throws(StorageError) -> QueryRecord? {
        try around(connection, { $0.id == id }) { () throws(StorageError) in
            try connection.first(byID, id.rawValue) { row throws(StorageError) in try whole(row, connection) }
        }
    }

    /// Returns the record and the end of its journal, which a commit needs.
    /// - Throws: `damaged` when the record exists but is damaged.
    static func findForCommit(
        _ id: QueryID, in connection: Connection
    ) throws(StorageError) -> CommittedList? {
        do throws(StorageError) {
            var found = try connection.first(byID, id.rawValue) { row throws(StorageError) in
                CommittedList(
                    record: try whole(row, connection), tail: JournalTail(counter: row.int(24), kept: row.int(26)))
            }
            if let record = found?.record { found?.holdings = try JournalTable.holdings(of: record, in: connection) }
            return found
        } catch {
            guard error.isUnreadableRow, let record = try find(id, in: connection) else { throw error }
            return CommittedList(record: record)
        }
    }

    /// Runs `find`. Where the path to the record is damaged, searches all readable records. Throws `damaged` when the
    /// record is not among them.
    private static func around(
        _ connection: Connection, _ isWanted: (QueryRecord) -> Bool, find: () throws(StorageError) -> QueryRecord?
    ) throws(StorageError) -> QueryRecord? {
        do throws(StorageError) {
            return try find()
        } catch {
            guard error.isUnreadableRow, let found = try all(in: connection).first(where: isWanted) else { throw error }
            return found
        }
    }

    /// Returns every intact record. Calls `broken` with each readable record that is damaged.
    static func all(
        in connection: Connection, broken: (ChecksummedQuery) -> Void = { _ in }
    ) throws(StorageError) -> [QueryRecord] {
        let keyed = try rows(in: connection)
        let isTreeDamaged = keyed.isTreeDamaged
        let read = keyed.finish().values
        // A store without readable records is damaged, and not empty.
        if read.isEmpty, isTreeDamaged {
            throw StorageError(.damaged, "no record of a query can be read in \(connection.path)")
        }
        for query in read where !query.isWhole { broken(query) }
        return read.filter(\.isWhole).map(\.record)
    }

    /// Returns every intact record, and what can be read of the damaged ones.
    static func stored(in connection: Connection) throws(StorageError) -> StoredQueries {
        let keyed = try rows(in: connection)
        var found = StoredQueries()
        found.hasUnreadable = keyed.isTreeDamaged
        for query in keyed.finish().values {
            guard !query.isWhole else {
                found.records.append(query.record)
                continue
            }
            let id = query.record.id
            found.damaged.append(
                StoredQueries.Damaged(
                    id: id, key: query.record.key, hasItsName: query.hasItsName,
                    pages: try PageTable.rows(of: id, in: connection).count,
                    bytes: try PageTable.bytes(of: id, in: connection)))
        }
        return found
    }

    /// Returns whether records cannot be read at all, or do not ascend.
    static func isTreeDamaged(in connection: Connection) throws(StorageError) -> Bool {
        try rows(in: connection).isTreeDamaged
    }

    private static func rows(in connection: Connection) throws(StorageError) -> KeyedRows<ChecksummedQuery> {
        var rows = KeyedRows<ChecksummedQuery>()
        do throws(StorageError) {
            try connection.each(everything) { row throws(StorageError) in rows.add(row.int64(0), ChecksummedQuery(row))
            }
            return rows
        } catch {
            guard error.isUnreadableRow else { throw error }
        }
        func scan(_ sql: SQL) -> KeyedRows<ChecksummedQuery>.Scan {
            { (range, visit) throws(StorageError) in
                try connection.each(sql, .int(range.lowerBound), .int(range.upperBound)) { row throws(StorageError) in
                    visit(row.int64(0), ChecksummedQuery(row))
                }
            }
        }
        rows = KeyedRows()
        try rows.read(0..<Int64(ListTotal.largest), ascending: scan(upwards), descending: scan(downwards))
        return rows
    }

    private static let upwards = SQL("SELECT \(unversioned) FROM query AS q WHERE id >= ? AND id < ? ORDER BY id")
    private static let downwards = SQL(
        "SELECT \(unversioned) FROM query AS q WHERE id >= ? AND id < ? ORDER BY id DESC")
    static func ids(in connection: Connection) throws(StorageError) -> [QueryID] {
        do throws(StorageError) {
            var found: [QueryID] = []
            try connection.each(ids) { row throws(StorageError) in found.append(QueryID(rawValue: row.int64(0))) }
            return found
        } catch {
            guard error.isUnreadableRow else { throw error }
            return try rows(in: connection).finish().values.map(\.record.id)
        }
    }

    /// Returns whether a record says that its query is pinned. Returns nil where the record cannot be read, or holds
    /// another value.
    static func pin(of query: QueryID, in connection: Connection) throws(StorageError) -> Bool? {
        do throws(StorageError) {
            return try connection.number(pin, .int(query.rawValue)).map { $0 == 1 }
        } catch {
            guard error.isUnreadableRow else { throw error }
            return nil
        }
    }

    /// Returns the record for this key, and whether it is new.
    static func register(
        _ key: QueryKey, at now: Timestamp, in connection: Connection
    ) throws(StorageError) -> (record: QueryRecord, isNew: Bool) {
        if let known = try find(key, in: connection) { return (known, false) }
        try QueryNames.check(in: connection)
        let made = QueryRecord(
            id: try QueryNumbers.next(in: connection), key: key, version: ListVersion(generation: 1, revision: 0),
            total: .unknown, end: nil, validatedAt: nil, createdAt: now.stored, allowsDuplicates: false, paging: "",
            source: "")
        let sealed = ChecksummedQuery(made)
        try connection.run(
            insert, .int(made.id.rawValue), .text(key.scope), .text(key.text), .hash(sealed.nameHash),
            .time(made.createdAt), .bool(made.isPinned), .hash(sealed.seal))
        return (made, true)
    }

    /// Stores a name whose record was lost. The seal is invalid on purpose: `Repair` then rebuilds the record.
    /// - Parameter isPinned: whether the query is pinned. Defaults to false.
    static func insertUnsealed(
        _ key: QueryKey, as id: QueryID, isPinned: Bool = false, in connection: Connection
    ) throws(StorageError) {
        try connection.run(
            insert, .int(id.rawValue), .text(key.scope), .text(key.text), .hash(ChecksummedQuery.nameHash(of: key, id)),
            .time(Timestamp(milliseconds: 0)), .bool(isPinned), .hash(0))
    }

    static func save(_ record: QueryRecord, in connection: Connection) throws(StorageError) {
        let sealed = ChecksummedQuery(record)
        try connection.run(
            update, .int(record.id.rawValue), .text(record.key.scope), .text(record.key.text), .hash(sealed.nameHash),
            .int(record.version.generation), .int(record.version.revision), .text(sealed.totalKind),
            .optional(record.total.count), .optional(record.end), .time(record.createdAt), .time(record.validatedAt),
            .bool(record.allowsDuplicates), .text(record.paging), .text(record.source),
            .optional(record.sweep?.position),
            .optional(record.sweep?.cursor?.text), .time(record.sweep?.startedAt), .bool(record.isPinned),
            .time(record.invalidatedAt), .optional(sealed.freshFor), .optional(record.resultWindow),
            .time(record.lastAuditAt), .bool(record.isUnproven), .hash(sealed.seal))
    }

    static func delete(_ id: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run(delete, .int(id.rawValue))
    }

    private static func whole(_ row: borrowing Row, _ connection: Connection) throws(StorageError) -> QueryRecord {
        let read = ChecksummedQuery(row)
        guard read.isWhole else {
            throw StorageError(
                .damaged, "the record of query \(read.record.id.rawValue) in \(connection.path) is damaged")
        }
        return read.record
    }
}
