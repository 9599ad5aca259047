import PageModel

/// Presents the tables of a file with a changed schema under the names that the statements of this package use.
///
/// A temporary view comes before a table of the file with the same name (https://www.sqlite.org/lang_naming.html). The
/// views belong to one connection, and the file does not change. A missing column is NULL, so the seal of a row decides
/// whether the row is used.
enum ExpectedTables {
    private static let ours = SQL(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' ORDER BY name")
    // A virtual table would run code that the file chooses.
    private static let stored = SQL(
        """
        SELECT name FROM main.sqlite_schema
        WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' AND name NOT GLOB 'sqlite_*' ORDER BY name
        """)
    private static let columns = SQL("SELECT name FROM pragma_table_info(?, 'main') ORDER BY cid")

    /// Makes a temporary view in `old` for each table of `model` that `old` lacks, or has with other columns.
    /// - Parameters:
    ///   - model: a connection to a store with the schema of this package.
    ///   - old: the connection to the file with the changed schema.
    static func present(as model: Connection, in old: Connection) throws(StorageError) {
        try old.execute("PRAGMA temp_store = MEMORY")
        let expected = try tables(ours, of: model)
        let found = try tables(stored, of: old)
        let names = Set(expected.map(\.name))
        for table in expected {
            // A renamed table has the columns of a missing one.
            let source =
                found.first { $0.folded == table.name }
                ?? found.first { $0.foldedColumns == table.columns && !names.contains($0.folded) }
            if let source, source.folded == table.name, source.foldedColumns == table.columns { continue }
            try old.execute(view(of: table, from: source))
        }
    }

    private struct Table {
        var name: String
        var columns: [String] = []
        // SQLite compares names without case.
        var folded: String { name.lowercased() }
        var foldedColumns: [String] { columns.map { $0.lowercased() } }
    }

    private static func tables(_ list: SQL, of connection: Connection) throws(StorageError) -> [Table] {
        var tables: [Table] = []
        try connection.each(list) { row throws(StorageError) in tables.append(Table(name: row.text(0))) }
        for index in tables.indices {
            var names: [String] = []
            try connection.each(columns, .text(tables[index].name)) { row throws(StorageError) in
                names.append(row.text(0))
            }
            tables[index].columns = names
        }
        return tables
    }

    /// The statement that makes a view. Without a source the view has no rows.
    private static func view(of table: Table, from source: Table?) -> String {
        let found = source?.foldedColumns ?? []
        var columns: [String] = []
        for (index, column) in table.columns.enumerated() {
            var value = "NULL"
            if let source, let place = found.firstIndex(of: column) {
                value = SQL.quoted(source.columns[place])
            } else if let source, found.indices.contains(index), !table.columns.contains(found[index]) {
                // A renamed column keeps its place.
                value = SQL.quoted(source.columns[index])
            }
            columns.append("\(value) AS \(SQL.quoted(column))")
        }
        let rows = source.map { "FROM main.\(SQL.quoted($0.name))" } ?? "WHERE 0"
        return "CREATE TEMP VIEW \(SQL.quoted(table.name)) AS SELECT \(columns.joined(separator: ", ")) \(rows)"
    }
}
