import PageModel

/// The ids of queries.
enum QueryNumbers {
    /// The bound of ids: every id is below it. `KeyedRows` reads up to it.
    private static let bound = Int64(ListTotal.largest)
    /// Statements for the greatest id in each table that refers to queries: one seek to the end of its b-tree.
    /// Impossible ids are not counted.
    private static let greatest: [SQL] =
        [
            ("query", "id"), ("page", "query"), ("identity", "query"), ("ledger", "query"), ("journal", "query"),
            ("tally", "query"),
        ]
        .map { SQL("SELECT max(\($0.1)) FROM \($0.0) NOT INDEXED WHERE \($0.1) < \(bound - 1)") }
        + [SQL("SELECT max(seq) FROM sqlite_sequence WHERE name = 'query' AND seq < \(bound - 1)")]

    /// Returns an id for a new query. The id is greater than each id in any table, so that the query adopts no row of a
    /// query whose record was lost. Where the end of a table cannot be read, the id is a random number beyond all
    /// counted ones.
    static func next(in connection: Connection) throws(StorageError) -> QueryID {
        var last: Int64 = 0
        for (number, sql) in greatest.enumerated() {
            let found = try connection.reaching(.greatestID(number)) { () throws(StorageError) in
                try connection.number(sql) ?? 0
            }
            last = max(last, found ?? Int64.random(in: beyond))
        }
        guard last < bound - 1 else {
            throw StorageError(.damaged, "no free id for a list is left in \(connection.path)")
        }
        return QueryID(rawValue: last + 1)
    }

    private static let beyond: ClosedRange<Int64> = 1 << 40...1 << 41
}
