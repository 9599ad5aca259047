import PageModel
import Synchronization

/// The cause of an error: a build of this package from before its first release made the store. No migration leads from
/// its schema to a released one.
package struct EarlierBuild: Error {
    fileprivate static func error(_ path: String) -> StorageError {
        StorageError(
            .notAStore, "\(path) was made by an earlier build of pagecache, whose schema this version cannot read",
            cause: EarlierBuild())
    }
}

/// Migrates a store to the newest schema, or refuses it (R8).
enum Migrator {
    /// Applies the missing steps. A store with a newer schema is refused before anything is written.
    static func migrate(_ connection: Connection, now: Timestamp) throws(StorageError) {
        guard try version(of: connection) < Migration.newest else { return }
        // The lock is taken before the version is read. Otherwise two processes could apply the same step.
        try connection.transaction(.write) { () throws(StorageError) in
            let applied = try version(of: connection)
            for migration in Migration.catalogue where migration.version > applied {
                try connection.execute(String(decoding: migration.script, as: UTF8.self))
                try connection.run(
                    note, .int(migration.version), .text(migration.name), .text(migration.checksum), .time(now))
                // A pragma takes no parameters. The number is a constant of this package.
                try connection.execute("PRAGMA user_version = \(migration.version)")
            }
            try StoreStamp.renewUnlessIntact(in: connection)
        }
    }

    /// Rewrites the records of the applied migrations. The caller must know that the schema matches them, text for
    /// text.
    static func renewNotes(in connection: Connection, now: Timestamp) throws(StorageError) {
        try connection.run(noNotes)
        for migration in Migration.catalogue where migration.version <= (try version(of: connection)) {
            try connection.run(
                note, .int(migration.version), .text(migration.name), .text(migration.checksum), .time(now))
        }
    }

    /// Returns the schema version of a store. Throws `newerSchema` for a version that this build does not know,
    /// `notAStore` for a store of an earlier build, and `damaged` for a number that the tables of the store disprove.
    static func version(of connection: Connection) throws(StorageError) -> Int {
        let version = try connection.pragma("user_version")
        if (0...Int64(Migration.newest)).contains(version) { return Int(version) }
        // No version of this package writes a negative number.
        guard version > 0, try provenVersion(of: connection) == nil else {
            throw StorageError(.damaged, StoreHeader.wrongVersion(connection.path))
        }
        if isOfEarlierBuild(connection) { throw EarlierBuild.error(connection.path) }
        throw StorageError(
            .newerSchema,
            "\(connection.path) has schema \(version); this version supports schemas up to \(Migration.newest)")
    }

    /// Returns the schema version that the tables and the records of the applied migrations prove, whatever the header
    /// says. Returns nil for a file without these tables, and for a store of a newer version.
    static func provenVersion(of connection: Connection) throws(StorageError) -> Int? {
        let found = try schema(of: connection)
        for migration in Migration.catalogue.reversed() {
            let expected = try expectedSchema(migration.version)
            guard found == expected else { continue }
            var applied: [Int: String] = [:]
            try connection.each(notes) { row throws(StorageError) in applied[row.int(0)] = row.text(1) }
            let known = Migration.catalogue.prefix { $0.version <= migration.version }
            return applied == Dictionary(uniqueKeysWithValues: known.map { ($0.version, $0.checksum) })
                ? migration.version : nil
        }
        return nil
    }

    /// Returns whether the record of a migration that this package knows has the checksum of another script. A released
    /// script never changes, so a build from before the release made the store. Call for a schema that differs.
    private static func isOfEarlierBuild(_ connection: Connection) -> Bool {
        var isEarlier = false
        // No build of this package makes a store without this table.
        try? connection.each(notes) { row throws(StorageError) in
            let (version, checksum) = (row.int(0), row.text(1))
            guard let known = Migration.catalogue.first(where: { $0.version == version }) else { return }
            let isChecksum = checksum.utf8.count == 16 && checksum.allSatisfy(\.isHexDigit)
            if isChecksum, checksum != known.checksum { isEarlier = true }
        }
        return isEarlier
    }

    private static let notes = SQL("SELECT version, checksum FROM migration")
    private static let noNotes = SQL("DELETE FROM migration")
    // A damaged row of this version must not prevent the migration.
    private static let note = SQL(
        "INSERT OR REPLACE INTO migration (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)")

    // The tables that ANALYZE creates belong to SQLite
    // (https://www.sqlite.org/fileformat2.html#the_sqlite_stat1_table).
    private static let objects = SQL(
        """
        SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema
        WHERE NOT (type = 'table' AND name GLOB 'sqlite_stat[1-4]') ORDER BY name
        """)
    private static let expected = Mutex<[Int: [SchemaObject]]>([:])

    /// Compares the schema, text for text, with the one that the migrations make for the store's version. Throws
    /// `damaged` if only indexes are missing. Throws `notAStore` for any other difference, such as an extra trigger or
    /// a table replaced by a view (R46). Both have the cause `SchemaChange`. Throws `notAStore`, too, for a file of
    /// version 0 that has any table. Throws as `version` does, too.
    static func checkSchema(of connection: Connection) throws(StorageError) {
        let (version, found) = try connection.transaction(.read) { () throws(StorageError) -> (Int, [SchemaObject]) in
            (try Migrator.version(of: connection), try schema(of: connection))
        }
        try compare(found, version, connection)
    }

    /// Compares the schema as `checkSchema` does, and accepts missing indexes.
    /// - Returns: whether indexes are missing.
    static func lacksIndexes(_ connection: Connection) throws(StorageError) -> Bool {
        do throws(StorageError) {
            try checkSchema(of: connection)
            return false
        } catch {
            guard let change = error.cause as? SchemaChange, change.repair != nil else { throw error }
            return true
        }
    }

    /// Creates missing indexes again. Their rows follow from those of the tables.
    static func createIndexes(in connection: Connection) throws(StorageError) {
        try connection.transaction(.write) { () throws(StorageError) in
            let expected = try expectedSchema(try version(of: connection))
            let change = SchemaChange(from: expected, to: try schema(of: connection))
            for statement in change.repair ?? [] { try connection.execute(statement) }
        }
    }

    /// Compares the schema as `checkSchema` does, as of the transaction that is open. Accepts missing indexes if the
    /// connection does without them.
    static func compareSchema(of connection: Connection) throws(StorageError) {
        do throws(StorageError) {
            try compare(try schema(of: connection), try Migrator.version(of: connection), connection)
        } catch {
            guard connection.lacksIndexes, let change = error.cause as? SchemaChange, change.repair != nil else {
                throw error
            }
        }
    }

    private static func compare(
        _ found: [SchemaObject], _ version: Int, _ connection: Connection
    ) throws(StorageError) {
        let expected = try expectedSchema(version)
        guard found == expected else {
            if try provenVersion(of: connection) != nil {
                throw StorageError(.damaged, StoreHeader.wrongVersion(connection.path))
            }
            guard version > 0 else {
                throw StorageError(.notAStore, "\(connection.path) does not have the schema of a pagecache store")
            }
            if isOfEarlierBuild(connection) { throw EarlierBuild.error(connection.path) }
            let change = SchemaChange(from: expected, to: found)
            throw StorageError(
                change.repair == nil ? .notAStore : .damaged, "\(connection.path) \(change.words)", cause: change)
        }
    }

    /// The schema that the migrations up to this version make. Computed once per process.
    private static func expectedSchema(_ version: Int) throws(StorageError) -> [SchemaObject] {
        if let known = expected.withLock({ $0[version] }) { return known }
        let model = try Connection(path: ":memory:")
        for migration in Migration.catalogue where migration.version <= version {
            try model.execute(String(decoding: migration.script, as: UTF8.self))
        }
        let made = try schema(of: model)
        expected.withLock { $0[version] = made }
        return made
    }

    private static func schema(of connection: Connection) throws(StorageError) -> [SchemaObject] {
        var found: [SchemaObject] = []
        try connection.each(objects) { row throws(StorageError) in
            found.append(SchemaObject(type: row.text(0), name: row.text(1), table: row.text(2), sql: row.text(3)))
        }
        return found
    }
}
