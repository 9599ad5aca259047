#if PostgreSQL && canImport(Glibc)
import PostgresPageStore
import Testing

/// Deadlines, cancellation and the limits of the server.
extension ServerTests {
    /// A query that returns whether a statement with a marker runs. Another pool has to run it: a request of the same pool
    /// can be sent behind the statement, and would then wait for its end.
    private func isRunning(_ marker: String) -> String {
        "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%\(marker)%' AND state = 'active' "
            + "AND pid <> pg_backend_pid()"
    }

    /// However slow the machine is, each request waits for its true outcome.
    private var patient: PostgresPool.Options {
        var options = PostgresPool.Options()
        options.grace = .seconds(120)
        return options
    }

    @Test("A deadline ends the query at the server and the wait of the task")
    func deadline() async throws {
        try await withPool { observer in
            try await withPool(OwnServer.connectionString, patient) { pool in
                try await pool.run("SELECT 1")
                let start = ContinuousClock.now
                let error = await postgresError {
                    try await pool.run("SELECT pg_sleep(600) /* deadline */", within: .milliseconds(300))
                }
                #expect(error?.code == .deadline && error?.isOutcomeUnknown == false)
                #expect(ContinuousClock.now - start < .seconds(300))
                try await observer.wait(for: "SELECT NOT (\(isRunning("600) /* deadline")))")
            }
        }
    }

    @Test("A cancelled task ends the query at the server")
    func cancellation() async throws {
        try await withPool { observer in
            try await withPool(OwnServer.connectionString, patient) { pool in
                let task = Task {
                    await postgresError {
                        try await pool.run("SELECT pg_sleep(600) /* cancelled */", within: .seconds(600))
                    }
                }
                try await observer.wait(for: isRunning("600) /* cancelled"))
                task.cancel()
                let error = await task.value
                #expect(error?.code == .cancelled && error?.isOutcomeUnknown == false)
                try await observer.wait(for: "SELECT NOT (\(isRunning("600) /* cancelled")))")
                let early = Task { await postgresError { try await pool.run("SELECT 1") } }
                early.cancel()
                _ = await early.value
                try await pool.run("SELECT 1")
            }
        }
    }

    @Test("A request is not sent behind a long one while a further connection is being opened")
    func growth() async throws {
        let proxy = try SilentProxy(port: UInt16(OwnServer.port) ?? 0)
        let address = "host=127.0.0.1 port=\(proxy.port) user=pagecache dbname=pagecache sslmode=disable"
        try await withPool { observer in
            try await withPool(address, patient) { pool in
                try await pool.run("SELECT 1")
                proxy.holdConnections()
                let long = Task { await postgresError { try await pool.run("SELECT pg_sleep(600) /* long */") } }
                try await observer.wait(for: isRunning("600) /* long"))
                let short = Task { await postgresError { try await pool.run("SELECT 2") } }
                // Longer than a request waits for a new connection beside one that answers.
                try await observer.pause(0.3)
                proxy.releaseConnections()
                #expect(await short.value == nil)
                #expect(try await observer.run(isRunning("600) /* long")).bool(0, 0) == true)
                long.cancel()
                #expect(await long.value?.code == .cancelled)
            }
        }
        proxy.close()
    }

    @Test("Cancel requests fail no other group of the connection", .timeLimit(.minutes(20)))
    func innocentGroups() async throws {
        var options = patient
        options.connections = 1
        try await withPool(OwnServer.connectionString, options) { pool in
            try await pool.run("SELECT 1")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<40 {
                    group.addTask {
                        for _ in 0..<5 {
                            if task % 4 == 0 {
                                let error = await postgresError {
                                    try await pool.run("SELECT pg_sleep(60)", within: .milliseconds(40))
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
                    [Statement("SET LOCAL statement_timeout = 50"), Statement("SELECT pg_sleep(600)")],
                    until: .now + .seconds(300))
            }
            #expect(timeout?.code == .server && timeout?.sqlstate == "57014")
            try await pool.run("CREATE TABLE IF NOT EXISTS lock_timeouts AS SELECT 1::int8 AS n")
            try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                _ = try await transaction.run([Statement("SELECT n FROM lock_timeouts FOR UPDATE")])
                do throws(PostgresError) {
                    _ = try await pool.run(
                        [
                            Statement("SET LOCAL lock_timeout = 50"),
                            Statement("SELECT n FROM lock_timeouts FOR UPDATE"),
                        ],
                        until: .now + .seconds(300))
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
            let bothHoldLocks = """
                SELECT count(DISTINCT pid) = 2 FROM pg_locks
                WHERE relation = 'deadlocks'::regclass AND mode = 'RowExclusiveLock' AND granted
                """
            let errors = await withTaskGroup(of: PostgresError?.self) { group in
                for (first, second) in [(1, 2), (2, 1)] {
                    let updates = [first, second].map { Statement("UPDATE deadlocks SET v = v + 1 WHERE n = \($0)") }
                    group.addTask {
                        await postgresError {
                            try await pool.transaction(until: .now + .seconds(300)) {
                                transaction throws(PostgresError) in
                                _ = try await transaction.run([updates[0]])
                                try? await pool.wait(for: bothHoldLocks)
                                _ = try await transaction.run([updates[1]])
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
            let error = await postgresError { try await pool.run("SELECT 2", within: .seconds(2)) }
            #expect(error?.code == .deadline && error?.isOutcomeUnknown == true)
            #expect(ContinuousClock.now - start < .seconds(300))
        }
        proxy.close()
    }
}
#endif
