import PageModel

/// Rows whose query, page or body does not exist. The statements avoid the index of names, because a damaged index may
/// lack intact queries.
enum Orphans {
    private static let hasNoQuery = "query NOT IN (SELECT id FROM query NOT INDEXED)"

    /// The condition for orphans in each table, with words for one row and for several.
    private static let conditions: [(table: String, condition: String, one: String, many: String)] = [
        ("page", hasNoQuery, "page record without a query", "page records without a query"),
        ("ledger", hasNoQuery, "fetch record without a query", "fetch records without a query"),
        ("tally", hasNoQuery, "tally without a query", "tallies without a query"),
        ("journal", hasNoQuery, "record of changes without a query", "records of changes without a query"),
        ("body", "id NOT IN (SELECT body FROM page)", "body without a page", "bodies without a page"),
        (
            "identity",
            "NOT EXISTS (SELECT 1 FROM page WHERE page.query = identity.query AND page.body = identity.body)",
            "row of item hashes without a page", "rows of item hashes without a page"
        ),
        ("access", "body NOT IN (SELECT id FROM body)", "read time without a body", "read times without a body"),
    ]

    static let counts = conditions.map {
        (SQL("SELECT count(*) FROM \($0.table) WHERE \($0.condition)"), $0.one, $0.many)
    }
    static let deletions = conditions.map { SQL("DELETE FROM \($0.table) WHERE \($0.condition)") }
}

/// Rows without a seal whose numbers are out of range. A repair deletes them. No decision depends on tallies and read
/// times, and a missing count of tokens starts again at a random number.
enum ImpossibleNotes {
    private static let tally =
        ["runs", "requests", "pages_fetched", "pages_unchanged", "pages_kept", "bytes_received", "since_counter"]
        .map { "\($0) NOT BETWEEN 0 AND \(StoredBounds.sizes.upperBound)" }.joined(separator: " OR ")
        + " OR \(impossible("began_at"))"

    private static func impossible(_ time: String) -> String {
        "\(time) NOT BETWEEN \(StoredBounds.milliseconds.lowerBound) AND \(StoredBounds.milliseconds.upperBound)"
    }

    private static let conditions: [(table: String, condition: String, kind: Finding.Kind, one: String, many: String)] =
        [
            ("tally", tally, .tally, "tally with a number out of range", "tallies with a number out of range"),
            ("access", impossible("used_at"), .access, "read time out of range", "read times out of range"),
            (
                "counter",
                "value NOT BETWEEN \(CounterTable.counts.lowerBound) AND \(CounterTable.counts.upperBound)",
                .ledger, "token count out of range", "token counts out of range"
            ),
        ]

    static let counts = conditions.map {
        (SQL("SELECT count(*) FROM \($0.table) WHERE \($0.condition)"), $0.kind, $0.one, $0.many)
    }
    static let deletions = conditions.map { SQL("DELETE FROM \($0.table) WHERE \($0.condition)") }
}

/// The report of SQLite's `integrity_check`.
enum IntegrityReport {
    /// The problems in a row of the report, which can have several lines. The name of the database is left out.
    static func problems(in row: String) -> [String] {
        let lines = row.split(separator: "\n").map(String.init)
        let problems = lines.filter { !$0.hasPrefix("*** in database ") }
        return problems.isEmpty ? [row] : problems
    }

    /// Whether a problem leaves the rows of each table as they are: an index lacks rows or has too many, a value has
    /// another type, or a page of the file is not used. With any other problem, two trees may share a page, or rows may
    /// be out of order, so that a deletion in one table can delete rows of another one.
    static func sparesRows(_ problem: String) -> Bool {
        if problem.hasPrefix("Page "), problem.hasSuffix("never used") { return true }
        if problem.hasPrefix("row "), problem.contains(" missing from index ") { return true }
        let others = ["wrong # of entries in index ", "non-unique entry in index ", "CHECK constraint failed in "]
        return others.contains { problem.hasPrefix($0) } || problem.contains(" value in ")
    }
}

/// Every b-tree of a store.
enum StoreTrees {
    static func areReadable(in connection: Connection) throws(StorageError) -> Bool {
        for (_, walk) in walks {
            do throws(StorageError) {
                _ = try connection.number(walk)
            } catch {
                // The rows can be read without an index.
                if error.isMissingIndex { continue }
                guard error.isUnreadableRow else { throw error }
                return false
            }
        }
        return true
    }

    /// Statements that visit every page with keys, and read no values: `count(*)` reads each page once.
    static let walks: [(name: String, sql: SQL)] =
        [
            "query", "page", "body", "identity", "access", "ledger", "tally", "migration", "upkeep", "journal", "store",
            "counter", "sqlite_sequence",
        ]
        .map {
            ($0, SQL("SELECT count(*) FROM \($0) NOT INDEXED"))
        } + [
            ("the index of names", SQL("SELECT count(*) FROM query INDEXED BY sqlite_autoindex_query_1")),
            (
                "the index of due pages",
                SQL("SELECT count(*) FROM ledger INDEXED BY ledger_due WHERE next_attempt_at IS NOT NULL")
            ),
            (
                "the index of failing pages",
                SQL(
                    """
                    SELECT count(*) FROM ledger INDEXED BY ledger_failing
                    WHERE state IN ('failed_retryable', 'failed_permanent')
                    """)
            ),
        ]
}
