#if PostgreSQL && canImport(Glibc)
import PostgresPageStore
import Testing

/// Connecting, and its failures.
extension ServerTests {
    private func firstError(_ connectionString: String, within limit: Duration = .seconds(300)) async -> PostgresError?
    {
        await postgresError {
            try await withPool(connectionString) { pool in _ = try await pool.run("SELECT 1", within: limit) }
        }
    }

    private var local: String { "host=127.0.0.1 port=\(OwnServer.port) dbname=pagecache" }

    @Test("A wrong password, a missing database and a missing role fail at once, and no message has the password")
    func rejections() async throws {
        let start = ContinuousClock.now
        let wrong = await firstError(local + " user=scram password=hunter2")
        #expect(wrong?.code == .authentication && wrong?.sqlstate == "28P01")
        let missing = await firstError("host=127.0.0.1 port=\(OwnServer.port) user=pagecache dbname=nowhere")
        #expect(missing?.code == .noSuchDatabase)
        let role = await firstError(local + " user=nobody-of-that-name")
        #expect(role?.code == .authentication)
        let absent = await firstError(local + " user=scram passfile=/none")
        #expect(absent?.code == .authentication)
        for error in [wrong, missing, role, absent] {
            #expect(error?.message.contains("hunter2") == false && error?.message.contains("\n") == false)
        }
        #expect(ContinuousClock.now - start < .seconds(250))
        #expect(await firstError(local + " user=scram password=secret") == nil)
    }

    @Test("A connection string that cannot be parsed fails without a quotation of it")
    func invalidStrings() async throws {
        for text in ["postgres://user:hunter2%zz@host/db", "hunter2", "host=x password='hunter2", "hunter2=1"] {
            let error = await postgresError { _ = try PostgresPool(text) }
            #expect(error?.code == .invalidConnectionString, "\(text)")
            #expect(error?.message.contains("hunter2") == false)
        }
    }

    @Test("An unreachable host is unavailable until the deadline")
    func unreachable() async throws {
        let (descriptor, port) = try OwnServer.silentListener()
        defer { OwnServer.closeDescriptor(descriptor) }
        // The first one refuses the connection; the second one accepts it and never answers.
        for host in ["port=1", "port=\(port)"] {
            let start = ContinuousClock.now
            let error = await firstError("host=127.0.0.1 \(host) dbname=x", within: .milliseconds(400))
            #expect(error?.code == .unavailable && error?.isOutcomeUnknown == false)
            let time = ContinuousClock.now - start
            #expect(time >= .milliseconds(400) && time < .seconds(300))
        }
    }

    @Test("The next host of a list is used when one accepts the connection and stays silent")
    func silentHost() async throws {
        let (descriptor, port) = try OwnServer.silentListener()
        defer { OwnServer.closeDescriptor(descriptor) }
        let start = ContinuousClock.now
        let hosts = "host=127.0.0.1,127.0.0.1 port=\(port),\(OwnServer.port) user=pagecache dbname=pagecache"
        for timeout in [" connect_timeout=1", ""] {
            try await withPool(hosts + timeout) { pool in
                let rows = try await pool.run("SELECT 1::int8", within: .seconds(300))
                #expect(rows.integer(0, 0) == 1)
            }
        }
        #expect(ContinuousClock.now - start >= .seconds(3))
    }

    @Test("The next host of a list is used when one refuses or is read-only")
    func severalHosts() async throws {
        try await withPool(
            "host=127.0.0.1,127.0.0.1 port=1,\(OwnServer.port) user=pagecache dbname=pagecache "
                + "target_session_attrs=read-write"
        ) { pool in
            try await pool.run("SELECT 1")
            try await pool.run("CREATE DATABASE read_only_database")
            try await pool.run("ALTER DATABASE read_only_database SET default_transaction_read_only = on")
        }
        let error = await firstError(
            "host=127.0.0.1 port=\(OwnServer.port) user=pagecache dbname=read_only_database "
                + "target_session_attrs=read-write", within: .milliseconds(400))
        #expect(error?.code == .unavailable)
        try await withPool { pool in _ = try await pool.run("DROP DATABASE read_only_database") }
    }

    @Test("The mode verify-full accepts the certificate of the CA for its name alone")
    func certificates() async throws {
        let directory = try #require(OwnServer.directory)
        let string = local + " user=pagecache sslmode=verify-full sslrootcert=\(directory)"
        try await withPool(string + "/ca.crt host=localhost hostaddr=127.0.0.1") { pool in
            let rows = try await pool.run("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
            #expect(rows.bool(0, 0) == true)
        }
        #expect(await firstError(string + "/ca.crt")?.code == .authentication)
        #expect(await firstError(string + "/server.crt host=localhost hostaddr=127.0.0.1")?.code == .authentication)
        #expect(await firstError(string + "/none.crt host=localhost hostaddr=127.0.0.1")?.code == .authentication)
    }

    @Test("Frequent statements get names in a session without a pooler")
    func namedStatements() async throws {
        let names = "SELECT count(*) FROM pg_prepared_statements WHERE NOT from_sql"
        var options = PostgresPool.Options()
        options.connections = 1
        try await withPool(OwnServer.connectionString, options) { pool in
            for _ in 0..<5 { try await pool.run("SELECT 17") }
            #expect(try await pool.run(names).integer(0, 0) == 1)
            // Somebody else ends the session's statements: the group is sent again with new ones.
            try await pool.run("DEALLOCATE ALL")
            try await pool.run("SELECT 17")
            // The type of a result changes under a named statement.
            try await pool.run("CREATE TABLE IF NOT EXISTS changing (a int8)")
            for _ in 0..<4 { try await pool.run("SELECT * FROM changing") }
            try await pool.run("ALTER TABLE changing ADD COLUMN b text")
            try await pool.run("SELECT * FROM changing")
            try await pool.run("DROP TABLE changing")
        }
        options.namedStatements = false
        try await withPool(OwnServer.connectionString, options) { pool in
            for _ in 0..<5 { try await pool.run("SELECT 17") }
            #expect(try await pool.run(names).integer(0, 0) == 0)
        }
    }

    @Test(
        "PgBouncer in transaction mode gets unnamed statements",
        .enabled(if: OwnServer.hasPgBouncer, "PAGECACHE_TEST_PGBOUNCER is not set"))
    func pooler() async throws {
        let pooler = try #require(OwnServer.pgBouncer)
        try await withPool(pooler) { pool in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<16 {
                    group.addTask {
                        for round in 0..<50 {
                            let value = Int64(task * 100 + round)
                            let rows = try await pool.run("SELECT $1::int8", [.integer(value)])
                            #expect(rows.integer(0, 0) == value)
                        }
                    }
                }
                try await group.waitForAll()
            }
            for _ in 0..<8 {
                let rows = try await pool.run(
                    "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1::int8%'")
                #expect(rows.integer(0, 0) == 0)
            }
            let number = try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                _ = try await transaction.run([Statement("SELECT 1")])
                return try await transaction.commit(with: [Statement("SELECT 2::int8")])[0].integer(0, 0)
            }
            #expect(number == 2)
            let error = await postgresError {
                try await pool.run("SELECT pg_sleep(600) /* pooler */", within: .milliseconds(300))
            }
            #expect(error?.code == .deadline)
            try await pool.wait(
                for: """
                    SELECT count(*) = 0 FROM pg_stat_activity
                    WHERE query LIKE 'SELECT pg_sleep(600) /* pooler%' AND state = 'active'
                    """)
        }
    }
}
#endif
