#if PostgreSQL
import PageModel

/// Creates the schema of a store, migrates it to the newest version, or refuses it (R8).
struct Migrator {
    let server: Server
    let schema: String
    let name: String

    /// The state of a schema.
    private enum SchemaState {
        /// There is no schema of this name, or an empty one.
        case nothing
        /// A store of this version.
        case store(version: Int)
    }

    private static let relations = SQL(
        """
        SELECT c.relname, c.relkind::text, c.relhasrules OR c.relrowsecurity
            OR EXISTS (SELECT 1 FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relkind NOT IN ('i', 't') ORDER BY c.relname
        """)
    private static let columns = SQL(
        """
        SELECT c.relname || '.' || a.attname || ' ' || replace(format_type(a.atttypid, a.atttypmod), '"', '')
        FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT c.relname || ' unique' FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
            JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND i.indisunique AND i.indisvalid
        """)
    private static let encoding = SQL("SELECT current_setting('server_encoding')")
    private static let schemas = SQL("SELECT 1 FROM pg_namespace WHERE nspname = $1")
    private static let applied = SQL("SELECT version, name, checksum FROM @migration ORDER BY version")
    // The lock ends with the transaction, because a pooler may then give the session to another client.
    private static let lock = SQL("SELECT pg_advisory_xact_lock($1)")
    private static let note = SQL("INSERT INTO @migration (version, name, checksum) VALUES ($1, $2, $3)")
    private static let stamping = SQL("INSERT INTO @store (id, stamp) VALUES (1, $1) ON CONFLICT DO NOTHING")
    private static let stamp = SQL("SELECT stamp FROM @store WHERE id = 1")
    private static let hasLZ4 = SQL(
        "SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")

    // A transaction that waited for a lock must see the commits made before it got the lock (R4).
    private static let isolation = SQL(
        """
        SELECT current_setting('default_transaction_isolation')
        WHERE current_setting('default_transaction_isolation') NOT IN ('read committed', 'read uncommitted')
        """)

    /// Opens the store.
    /// - Parameters:
    ///   - creates: whether a missing store is created, and an older store is migrated. Otherwise both throw
    ///     `notFound`.
    ///   - writes: whether the store will be written to. Its transactions then need the isolation level READ COMMITTED.
    /// - Returns: the stamp of the store.
    func open(creates: Bool, writes: Bool) async throws(StorageError) -> UInt64 {
        if case .store(let version) = try await inspectSchema(writes: writes),
            version == Migration.newest || !creates
        {
            guard version == Migration.newest else {
                throw StorageError(.notFound, "\(name) has schema \(version); a writer has to migrate it first")
            }
            return try await readStamp()
        }
        guard creates else { throw StorageError(.notFound, "there is no store in \(name)") }
        try await migrate()
        return try await readStamp()
    }

    private func readStamp() async throws(StorageError) -> UInt64 {
        guard let row = try await server.read((Migrator.stamp, [])).first else {
            throw StorageError(.damaged, "the row of \(name) that identifies the store is missing")
        }
        return row.hash(0)
    }

    private func inspectSchema(writes: Bool) async throws(StorageError) -> SchemaState {
        let found = try await server.read([
            (Migrator.relations, [.text(schema)]), (Migrator.columns, [.text(schema)]), (Migrator.isolation, []),
        ])
        if writes, let level = found[2].first?.word(0) {
            throw StorageError(
                .cannotCreate,
                "transactions of this role in \(name) begin as '\(level)' (default_transaction_isolation); a store needs 'read committed'"
            )
        }
        return try await classify(found[0], found[1]) { () async throws(StorageError) in
            try await self.server.read((Migrator.applied, []))
        }
    }

    /// Compares the tables of the schema with those of a store. Refuses triggers, rules and views, because they could
    /// run code (R46).
    private func classify(
        _ relations: Rows, _ columns: Rows, _ applied: () async throws(StorageError) -> Rows
    ) async throws(StorageError) -> SchemaState {
        guard relations.count > 0 else { return .nothing }
        let foreign = StorageError(.notAStore, "\(name) has tables that are not those of a pagecache store")
        let columns = Set(columns.all.compactMap { $0.word(0) })
        guard columns.isSuperset(of: Migrator.columnsOfMigration) else { throw foreign }
        let notes = try await applied()
        guard let newest = notes.all.map({ $0.int(0) }).last else { throw foreign }
        guard newest <= Migration.newest else {
            throw StorageError(
                .newerSchema, "\(name) has schema \(newest), this version reads up to \(Migration.newest)")
        }
        for (row, migration) in zip(notes.all, Migration.catalogue)
        where row.int(0) != migration.version || row.word(2) != migration.checksum { throw foreign }
        for row in relations.all where !["r", "S"].contains(row.word(1)) || row.bool(2) { throw foreign }
        if newest == Migration.newest {
            guard columns == Migrator.expectedColumns else { throw foreign }
        }
        return .store(version: newest)
    }

    private func migrate() async throws(StorageError) {
        let lock = Int64(bitPattern: XXH64.hash("pagecache \(schema)"))
        try await server.write(.long) { work async throws(StorageError) in
            _ = try await work.read([(Migrator.lock, [.integer(lock)]), Server.flushing])
            // The lock is taken before the version is read. Otherwise two replicas could apply the same step.
            let found = try await work.read([
                (Migrator.relations, [.text(self.schema)]), (Migrator.columns, [.text(self.schema)]),
                (Migrator.hasLZ4, []), (Migrator.encoding, []), (Migrator.schemas, [.text(self.schema)]),
            ])
            if let encoding = found[3].first?.word(0), !["UTF8", "SQL_ASCII"].contains(encoding) {
                throw StorageError(
                    .cannotCreate, "the database of \(self.name) has the encoding \(encoding); a store needs UTF8")
            }
            let state = try await self.classify(found[0], found[1]) { () async throws(StorageError) in
                try await work.read([(Migrator.applied, [])])[0]
            }
            var version = 0
            switch state {
            case .store(let applied): version = applied
            // IF NOT EXISTS would also require the right to create schemas where an administrator has made the schema.
            case .nothing where found[4].count > 0: break
            case .nothing: work.add(SQL("CREATE SCHEMA \(self.server.dialect.schema)"), [])
            }
            work.add(SQL("SET LOCAL search_path TO \(self.server.dialect.schema)"), [])
            for migration in Migration.catalogue where migration.version > version {
                for statement in migration.statements { work.add(SQL(statement), []) }
                if migration.version == 1, found[2].first?.bool(0) == true {
                    for column in Migrator.compressed { work.add(SQL("ALTER TABLE \(column) SET COMPRESSION lz4"), []) }
                }
                work.add(
                    Migrator.note, [.int(migration.version), .text(migration.name), .text(migration.checksum)])
            }
            work.add(Migrator.stamping, [.hash(.random(in: .min ... .max))])
            _ = try await work.read([])
        }
    }

    /// The large columns, which are compressed with lz4 if the server was built with it.
    private static let compressed = [
        "body ALTER COLUMN payload", "body ALTER COLUMN layout", "journal ALTER COLUMN changes",
    ]
    private static let columnsOfMigration: Set<String> = [
        "migration.version bigint", "migration.name text", "migration.checksum text",
    ]

    /// The columns that the migrations create, with their types, and the unique indexes.
    static let expectedColumns: Set<String> = {
        var columns: Set<String> = []
        for migration in Migration.catalogue {
            for statement in migration.statements {
                let lines = statement.split(separator: "\n").map { String($0.prefix { $0 != "," }) }
                if let words = lines.lazy.map({ $0.split(separator: " ") }).first(where: {
                    $0.starts(with: ["CREATE", "UNIQUE", "INDEX"])
                }) {
                    columns.insert("\(words[3]) unique")
                }
                guard let head = lines.first(where: { $0.hasPrefix("CREATE TABLE ") }) else { continue }
                let table = head.split(separator: " ")[2]
                let key = statement.firstMatch(of: /CONSTRAINT (\w+) PRIMARY KEY/)?.1
                columns.insert("\(key ?? "\(table)_pkey") unique")
                for line in lines where line.hasPrefix("    ") {
                    let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
                    guard words.count >= 2, words[0].first?.isLowercase == true else { continue }
                    let type = words[1] == "timestamptz" ? "timestamp with time zone" : String(words[1])
                    columns.insert("\(table).\(words[0]) \(type)")
                }
            }
        }
        return columns
    }()
}
#endif
