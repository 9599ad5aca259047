#if PostgreSQL && canImport(Glibc)
import PostgresPageStore
import Testing

/// Deadlines, cancellation and the limits of the server.
extension ServerTests {
    private func isRunning(_ marker: String) -> String {
        "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%\(marker)%' AND state = 'active' "
            + "AND pid <> pg_backend_pid()"
    }

    @Test("A deadline ends the query at the server and the wait of the task")
    func deadline() async throws {
        // However slow the machine is, each request waits for its true outcome.
        var options = PostgresPool.Options()
        options.grace = .seconds(30)
        try await withPool(OwnServer.connectionString, options) { pool in
            try await pool.run("SELECT 1")
            let start = ContinuousClock.now
            let error = await postgresError {
                try await pool.run("SELECT pg_sleep(60) /* deadline */", within: .milliseconds(300))
            }
            #expect(error?.code == .deadline && error?.isOutcomeUnknown == false)
            #expect(ContinuousClock.now - start < .seconds(30))
            try await pool.wait(for: "SELECT NOT (\(isRunning("60) /* deadline")))")
        }
    }

    @Test("A cancelled task ends the query at the server")
    func cancellation() async throws {
        // However slow the machine is, each request waits for its true outcome.
        var options = PostgresPool.Options()
        options.grace = .seconds(30)
        try await withPool(OwnServer.connectionString, options) { pool in
            let task = Task { await postgresError { try await pool.run("SELECT pg_sleep(60) /* cancelled */") } }
            try await pool.wait(for: isRunning("60) /* cancelled"))
            task.cancel()
            let error = await task.value
            #expect(error?.code == .cancelled && error?.isOutcomeUnknown == false)
            try await pool.wait(for: "SELECT NOT (\(isRunning("60) /* cancelled")))")
            let early = Task { await postgresError { try await pool.run("SELECT 1") } }
            early.cancel()
            _ = await early.value
            try await pool.run("SELECT 1")
        }
    }

    @Test("Cancel requests fail no other group of the connection", .timeLimit(.minutes(2)))
    func innocentGroups() async throws {
        var options = PostgresPool.Options()
        options.connections = 1
        options.grace = .seconds(30)
        try await withPool(OwnServer.connectionString, options) { pool in
            try await pool.run("SELECT 1")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<40 {
                    group.addTask {
                        for _ in 0..<5 {
                            if task % 4 == 0 {
                                let error = await postgresError {
                                    try await pool.run("SELECT pg_sleep(5)", within: .milliseconds(40))
                                }
                                #expect(error?.code == .deadline)
                            } else {
                                try await pool.run("SELECT pg_sleep(0.002)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A statement timeout and a lock timeout of the server are errors of the server")
    func serverTimeouts() async throws {
        try await withPool { pool in
            let timeout = await postgresError {
                _ = try await pool.run(
                    [Statement("SET LOCAL statement_timeout = 50"), Statement("SELECT pg_sleep(60)")],
                    until: .now + .seconds(60))
            }
            #expect(timeout?.code == .server && timeout?.sqlstate == "57014")
            try await pool.run("CREATE TABLE IF NOT EXISTS lock_timeouts AS SELECT 1::int8 AS n")
            try await pool.transaction(until: .now + .seconds(60)) { transaction throws(PostgresError) in
                _ = try await transaction.run([Statement("SELECT n FROM lock_timeouts FOR UPDATE")])
                do throws(PostgresError) {
                    _ = try await pool.run(
                        [
                            Statement("SET LOCAL lock_timeout = 50"),
                            Statement("SELECT n FROM lock_timeouts FOR UPDATE"),
                        ],
                        until: .now + .seconds(60))
                    Issue.record("the lock was granted twice")
                } catch {
                    #expect(error.sqlstate == "55P03")
                }
            }
            try await pool.run("DROP TABLE lock_timeouts")
        }
    }

    @Test("A deadlock is a conflict")
    func deadlock() async throws {
        try await withPool { pool in
            try await pool.run("CREATE TABLE IF NOT EXISTS deadlocks (n int8 PRIMARY KEY, v int8)")
            try await pool.run("INSERT INTO deadlocks VALUES (1, 0), (2, 0) ON CONFLICT DO NOTHING")
            let errors = await withTaskGroup(of: PostgresError?.self) { group in
                for (first, second) in [(1, 2), (2, 1)] {
                    let statements = [
                        Statement("UPDATE deadlocks SET v = v + 1 WHERE n = \(first)"),
                        Statement("SELECT pg_sleep(1.5)"),
                        Statement("UPDATE deadlocks SET v = v + 1 WHERE n = \(second)"),
                    ]
                    group.addTask {
                        await postgresError {
                            try await withPool { pool in
                                _ = try await pool.run(statements, until: .now + .seconds(60))
                            }
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.compactMap { $0?.code } == [.conflict])
            try await pool.run("DROP TABLE deadlocks")
        }
    }

    @Test("A server that stops answering cannot hold a task beyond its deadline")
    func silentServer() async throws {
        let proxy = try SilentProxy(port: UInt16(OwnServer.port) ?? 0)
        try await withPool("host=127.0.0.1 port=\(proxy.port) user=pagecache dbname=pagecache sslmode=disable") {
            pool in
            try await pool.run("SELECT 1")
            proxy.dropAnswers()
            let start = ContinuousClock.now
            let error = await postgresError { try await pool.run("SELECT 2", within: .milliseconds(300)) }
            #expect(error?.code == .deadline && error?.isOutcomeUnknown == true)
            #expect(ContinuousClock.now - start < .seconds(30))
        }
        proxy.close()
    }
}
#endif
