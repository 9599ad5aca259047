#if PostgreSQL && canImport(Glibc)
import PostgresPageStore
import Testing

/// Lost connections.
extension ServerTests {
    /// Writes rows from several tasks until `isOver`, each exactly once: after an unknown outcome the task looks whether
    /// its row exists.
    /// - Returns: the number of rows and of unknown outcomes.
    private func writeRows(
        _ pool: PostgresPool, table: String, tasks: Int, until isOver: @escaping @Sendable (Int) async throws -> Bool
    ) async throws -> (rows: Int, unknown: Int) {
        try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for task in 0..<tasks {
                group.addTask {
                    var (written, unknown) = (0, 0)
                    while try await !isOver(written) {
                        let id = Value.integer(Int64(task * 1_000_000 + written))
                        var isWritten = false
                        while !isWritten {
                            do throws(PostgresError) {
                                _ = try await pool.run(
                                    [
                                        Statement("INSERT INTO \(table) VALUES ($1)", [id]),
                                        Statement("SELECT pg_sleep(0.001)"),
                                    ], until: .now + .seconds(300))
                                isWritten = true
                            } catch {
                                try #require(error.code == .unknownOutcome, "\(error)")
                                unknown += 1
                                let rows = try await pool.run(
                                    [Statement("SELECT count(*) FROM \(table) WHERE n = $1", [id])],
                                    until: .now + .seconds(300), isRepeatable: true)
                                isWritten = rows[0].integer(0, 0) == 1
                            }
                        }
                        written += 1
                    }
                    return (written, unknown)
                }
            }
            return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
        }
    }

    private func prepareTable(_ pool: PostgresPool, _ table: String) async throws {
        try await pool.run("DROP TABLE IF EXISTS \(table)")
        // Without an index, so that a row that is written twice is counted twice.
        try await pool.run("CREATE TABLE \(table) (n int8)")
    }

    @Test("Backends terminated at random lose and repeat no write", .timeLimit(.minutes(20)))
    func terminatedBackends() async throws {
        let application = "terminated-backends"
        try await withPool(OwnServer.connectionString("application_name=\(application)")) { pool in
            try await prepareTable(pool, "terminated")
            let result = try await withPool { killer in
                let killing = Task {
                    for _ in 0..<60 {
                        try await killer.run(
                            """
                            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                            WHERE application_name = $1 ORDER BY random() LIMIT 1
                            """, [.text(application)])
                        try await killer.pause(0.02)
                    }
                }
                let result = try await writeRows(pool, table: "terminated", tasks: 8) { $0 >= 150 }
                killing.cancel()
                _ = await killing.result
                return result
            }
            let rows = try await pool.run(
                [Statement("SELECT count(*), count(DISTINCT n) FROM terminated")], until: .now + .seconds(300),
                isRepeatable: true)[0]
            #expect(rows.integer(0, 0) == Int64(result.rows) && rows.integer(0, 1) == Int64(result.rows))
            try await pool.run("DROP TABLE terminated")
        }
    }

    @Test(
        "A restart of the server inside the deadline loses and repeats no write",
        .timeLimit(.minutes(20)), arguments: ["fast", "immediate"])
    func restart(mode: String) async throws {
        try await withPool { pool in
            try await prepareTable(pool, "restarted")
            // An immediate stop forgets commits that are not flushed, see Decision 5 of the design.
            try await pool.run("ALTER DATABASE pagecache SET synchronous_commit = on")
            let restarting = Task {
                try await pool.pause(0.2)
                return await OwnServer.end(of: try OwnServer.beginRestart(mode))
            }
            let end = ContinuousClock.now + .seconds(4)
            let result = try await writeRows(pool, table: "restarted", tasks: 4) { _ in ContinuousClock.now >= end }
            #expect(try await restarting.value == 0)
            let rows = try await pool.run(
                [Statement("SELECT count(*), count(DISTINCT n) FROM restarted")], until: .now + .seconds(300),
                isRepeatable: true)[0]
            #expect(rows.integer(0, 0) == Int64(result.rows) && rows.integer(0, 1) == Int64(result.rows))
            try await pool.run("DROP TABLE restarted")
        }
    }

    @Test("A session that refuses writes is closed, so that the next request can reach another server")
    func readOnlySession() async throws {
        var options = PostgresPool.Options()
        options.connections = 1
        try await withPool(OwnServer.connectionString, options) { pool in
            // As a session at a server that is a standby now. A new session is one at the new primary.
            try await pool.run("SET default_transaction_read_only = on")
            let error = await postgresError { try await pool.run("CREATE TABLE read_only_session (n int8)") }
            #expect(error?.code == .readOnly)
            try await pool.run("CREATE TABLE read_only_session (n int8)")
            // In an explicit transaction, too.
            try await pool.run("SET default_transaction_read_only = on")
            func insert() async -> PostgresError? {
                await postgresError {
                    try await pool.transaction(until: .now + .seconds(300)) { work async throws(PostgresError) in
                        _ = try await work.run([Statement("SELECT 1")])
                        _ = try await work.run([Statement("INSERT INTO read_only_session VALUES (1)")])
                    }
                }
            }
            #expect(await insert()?.code == .readOnly)
            #expect(await insert() == nil)
            try await pool.run("DROP TABLE read_only_session")
        }
    }

    @Test("A message that the session ends, read together with the end of the connection, repeats its group")
    func endWithMessage() async throws {
        var options = PostgresPool.Options()
        options.connections = 1
        let proxy = try SilentProxy(port: UInt16(OwnServer.port) ?? 0)
        // libpq reads on to the end of the connection only over TLS, and after more than 32 KB.
        let address = "host=127.0.0.1 port=\(proxy.port) user=pagecache dbname=pagecache sslmode=require"
        try await withPool { killer in
            try await withPool(address, options) { pool in
                try await pool.run("SELECT 1")
                proxy.collectAnswers()
                let reading = Task {
                    await postgresError {
                        _ = try await pool.run(
                            [Statement("SELECT repeat('x', 100000)"), Statement("SELECT pg_sleep(1) /* ended */")],
                            until: .now + .seconds(300))
                    }
                }
                let session = "FROM pg_stat_activity WHERE query LIKE '%ended */' AND pid != pg_backend_pid()"
                try await killer.wait(for: "SELECT count(*) = 1 \(session)")
                try await killer.run("SELECT pg_terminate_backend(pid) \(session)")
                let error = await reading.value
                #expect(error == nil)
            }
        }
        proxy.close()
    }

    @Test("A group whose outcome is unknown throws unknownOutcome")
    func unknownOutcome() async throws {
        // The commit is under way in a session that a crash of its process ends: no message says what became of it.
        var options = PostgresPool.Options()
        options.connections = 1
        try await withPool(OwnServer.connectionString("application_name=unknown-outcome"), options) { pool in
            let proxy = try SilentProxy(port: UInt16(OwnServer.port) ?? 0)
            try await withPool("host=127.0.0.1 port=\(proxy.port) user=pagecache dbname=pagecache sslmode=disable") {
                through in
                try await through.run("SELECT 1")
                proxy.dropAnswers()
                let writing = Task { await postgresError { try await through.run("SELECT 2") } }
                try await pool.wait(
                    for: "SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'SELECT 2' AND state = 'idle'")
                proxy.close()
                let error = await writing.value
                #expect(error?.code == .unknownOutcome && error?.isOutcomeUnknown == true)
            }
        }
    }
}
#endif
