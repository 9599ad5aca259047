import PageModel
import Synchronization

/// Brings a store to the newest schema, or refuses it (R8).
enum Migrator {
    /// Applies what is missing. A store of a newer schema is refused before anything is written.
    static func migrate(_ connection: Connection, now: Timestamp) throws(StorageError) {
        guard try version(of: connection) < Migration.newest else { return }
        // The lock comes before the look at what was applied, or two processes would apply the same step.
        try connection.transaction(.write) { () throws(StorageError) in
            let applied = try version(of: connection)
            for migration in Migration.catalogue where migration.version > applied {
                try connection.execute(String(decoding: migration.script, as: UTF8.self))
                try connection.run(
                    note, .int(migration.version), .text(migration.name), .text(migration.checksum), .time(now))
                // A pragma takes no parameters; the number is ours.
                try connection.execute("PRAGMA user_version = \(migration.version)")
            }
            try StoreStamp.renewUnlessIntact(in: connection)
        }
    }

    /// Writes down anew what was applied: the schema has been compared with it, text for text.
    static func renewNotes(in connection: Connection, now: Timestamp) throws(StorageError) {
        try connection.run(noNotes)
        for migration in Migration.catalogue where migration.version <= (try version(of: connection)) {
            try connection.run(
                note, .int(migration.version), .text(migration.name), .text(migration.checksum), .time(now))
        }
    }

    /// The schema version of a store; throws `newerSchema` when it is beyond what this build knows.
    static func version(of connection: Connection) throws(StorageError) -> Int {
        let version = try connection.pragma("user_version")
        guard version >= 0, version <= Migration.newest else {
            throw StorageError(
                .newerSchema,
                "\(connection.path) has schema \(version), this version reads up to \(Migration.newest)")
        }
        return Int(version)
    }

    private static let noNotes = SQL("DELETE FROM migration")
    private static let note = SQL("INSERT INTO migration (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)")
    // Statistics that ANALYZE leaves behind are SQLite's own
    // (https://www.sqlite.org/fileformat2.html#the_sqlite_stat1_table).
    private static let objects = SQL(
        """
        SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema
        WHERE NOT (type = 'table' AND name GLOB 'sqlite_stat[1-4]') ORDER BY name
        """)
    private static let expected = Mutex<[Int: [String]]>([:])

    /// Compares the schema with what the migrations make up to the version that the store says it has, text for text: a
    /// store with an extra trigger or view, or with a table replaced by a view, is not one of ours (R46), nor is one of
    /// no version that has something in it. Throws `newerSchema` as `version` does.
    static func checkSchema(of connection: Connection) throws(StorageError) {
        let (version, found) = try connection.transaction(.read) { () throws(StorageError) -> (Int, [String]) in
            (try Migrator.version(of: connection), try schema(of: connection))
        }
        let expected = try expectedSchema(version)
        guard found == expected else {
            throw StorageError(.notAStore, "\(connection.path) does not have the schema of a pagecache store")
        }
    }

    /// What the migrations up to this one make, made once per process.
    private static func expectedSchema(_ version: Int) throws(StorageError) -> [String] {
        if let known = expected.withLock({ $0[version] }) { return known }
        let model = try Connection(path: ":memory:")
        for migration in Migration.catalogue where migration.version <= version {
            try model.execute(String(decoding: migration.script, as: UTF8.self))
        }
        let made = try schema(of: model)
        expected.withLock { $0[version] = made }
        return made
    }

    private static func schema(of connection: Connection) throws(StorageError) -> [String] {
        var texts: [String] = []
        try connection.each(objects) { row throws(StorageError) in
            texts.append([row.text(0), row.text(1), row.text(2), row.text(3)].joined(separator: "\u{1f}"))
        }
        return texts
    }
}
