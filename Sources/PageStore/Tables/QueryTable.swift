import PageModel

/// Rows of `query`.
enum QueryTable {
    private static let columns = """
        id, scope, key, generation, revision, total_kind, total, list_end, validated_at, created_at, \
        allows_duplicates, paging, source
        """

    static func find(_ key: QueryKey, in connection: Connection) throws(StorageError) -> QueryRecord? {
        try connection.first(
            "SELECT \(columns) FROM query WHERE scope = ? AND key = ?", .text(key.scope), .text(key.text), map: record)
    }

    static func find(_ id: QueryID, in connection: Connection) throws(StorageError) -> QueryRecord? {
        try connection.first("SELECT \(columns) FROM query WHERE id = ?", .int(id.rawValue), map: record)
    }

    static func all(in connection: Connection) throws(StorageError) -> [QueryRecord] {
        var records: [QueryRecord] = []
        try connection.each("SELECT \(columns) FROM query ORDER BY id") { row throws(StorageError) in
            records.append(try record(row))
        }
        return records
    }

    static func register(
        _ key: QueryKey, at now: Timestamp, in connection: Connection
    ) throws(StorageError) -> QueryRecord {
        if let known = try find(key, in: connection) { return known }
        try connection.run(
            "INSERT INTO query (scope, key, created_at) VALUES (?, ?, ?)", .text(key.scope), .text(key.text), .time(now))
        guard let made = try find(QueryID(rawValue: connection.lastInsertedRow), in: connection) else {
            throw StorageError(.internal, "a query that was just inserted is not there")
        }
        return made
    }

    static func set(_ total: Total, of query: QueryID, in connection: Connection) throws(StorageError) {
        let kind =
            switch total {
            case .exact: "exact"
            case .estimate: "estimate"
            case .unknown: "unknown"
            }
        try connection.run(
            "UPDATE query SET total_kind = ?, total = ? WHERE id = ?", .text(kind), .optional(total.count),
            .int(query.rawValue))
    }

    static func setEnd(_ end: Int?, of query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run("UPDATE query SET list_end = ? WHERE id = ?", .optional(end), .int(query.rawValue))
    }

    static func setVersion(
        _ version: ListVersion, of query: QueryID, in connection: Connection
    ) throws(StorageError) {
        try connection.run(
            "UPDATE query SET generation = ?, revision = ? WHERE id = ?", .int(version.generation),
            .int(version.revision), .int(query.rawValue))
    }

    static func setValidated(
        at moment: Timestamp, query: QueryID, in connection: Connection
    ) throws(StorageError) {
        try connection.run("UPDATE query SET validated_at = ? WHERE id = ?", .time(moment), .int(query.rawValue))
    }

    static func allowDuplicates(query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run("UPDATE query SET allows_duplicates = 1 WHERE id = ?", .int(query.rawValue))
    }

    static func describe(
        paging: String, source: String, query: QueryID, in connection: Connection
    ) throws(StorageError) {
        try connection.run(
            "UPDATE query SET paging = ?, source = ? WHERE id = ?", .text(paging), .text(source), .int(query.rawValue))
    }

    private static func record(_ row: borrowing Row) throws(StorageError) -> QueryRecord {
        // A hostile or damaged store must not make numbers overflow (R46).
        for column in [3, 4, 6, 7] where (row.optionalInt(column) ?? 0) < 0 || (row.optionalInt(column) ?? 0) > Total.largest {
            throw StorageError(.damaged, "a query record has impossible numbers")
        }
        let total: Total =
            switch row.text(5) {
            case "exact": .exact(row.int(6))
            case "estimate": .estimate(row.int(6))
            default: .unknown
            }
        return QueryRecord(
            id: QueryID(rawValue: row.int64(0)),
            key: QueryKey(row.text(2), scope: row.text(1)),
            version: ListVersion(generation: row.int(3), revision: row.int(4)),
            total: total,
            end: row.optionalInt(7),
            validatedAt: row.optionalTime(8),
            createdAt: row.time(9),
            allowsDuplicates: row.bool(10),
            paging: row.text(11),
            source: row.text(12))
    }
}
