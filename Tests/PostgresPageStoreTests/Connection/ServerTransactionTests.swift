#if PostgreSQL && canImport(Glibc)
import PostgresPageStore
import Testing

/// Explicit transactions.
extension ServerTests {
    private struct Stop: Error {}

    private func withTable(_ table: String, _ body: (PostgresPool) async throws -> Void) async throws {
        try await withPool { pool in
            try await pool.run("DROP TABLE IF EXISTS \(table)")
            try await pool.run("CREATE TABLE \(table) (n int8)")
            try await body(pool)
            try await pool.run("DROP TABLE \(table)")
        }
    }

    private func count(_ pool: PostgresPool, _ table: String) async throws -> Int64? {
        try await pool.run("SELECT count(*) FROM \(table)").integer(0, 0)
    }

    @Test("A transaction commits when its body returns, with or without a commit of its own")
    func commits() async throws {
        try await withTable("commits") { pool in
            let seen = try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                _ = try await transaction.run([Statement("INSERT INTO commits VALUES (1)")])
                return try await transaction.run([Statement("SELECT count(*) FROM commits")])[0].integer(0, 0)
            }
            #expect(seen == 1)
            let rows = try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                _ = try await transaction.run([Statement("INSERT INTO commits VALUES (2)")])
                return try await transaction.commit(with: [Statement("INSERT INTO commits VALUES (3) RETURNING n")])
            }
            #expect(rows.count == 1 && rows[0].integer(0, 0) == 3)
            try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                _ = try await transaction.commit(with: [Statement("INSERT INTO commits VALUES (4)")])
            }
            let stored = try await count(pool, "commits")
            #expect(stored == 4)
        }
    }

    @Test("A transaction is rolled back when its body throws, when a statement fails and when its task is cancelled")
    func rollsBack() async throws {
        try await withTable("rollbacks") { pool in
            let insert = Statement("INSERT INTO rollbacks VALUES (1)")
            let thrown = await postgresError {
                try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                    _ = try await transaction.run([insert])
                    throw PostgresError(.server, "thrown by the body")
                }
            }
            #expect(thrown?.message == "thrown by the body")
            let failed = await postgresError {
                try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                    _ = try await transaction.run([insert])
                    // The body forgets the error, but the transaction does not.
                    _ = try? await transaction.run([Statement("SELECT 1 / 0")])
                }
            }
            #expect(failed?.sqlstate == "22012")
            let lastFailed = await postgresError {
                try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                    _ = try await transaction.run([insert])
                    _ = try await transaction.commit(with: [Statement("SELECT 1 / 0")])
                }
            }
            #expect(lastFailed?.sqlstate == "22012")
            let cancelled = Task {
                await postgresError {
                    try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                        _ = try await transaction.run([insert, Statement("SELECT pg_sleep(600) /* rolled back */")])
                    }
                }
            }
            try await pool.wait(
                for: "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600) /* rolled%'")
            cancelled.cancel()
            #expect(await cancelled.value?.code == .cancelled)
            let stored = try await count(pool, "rollbacks")
            #expect(stored == 0)
            try await pool.wait(
                for: """
                    SELECT count(*) = 0 FROM pg_stat_activity
                    WHERE application_name = 'pagecache' AND state LIKE 'idle in transaction%'
                    """)
        }
    }

    @Test("Many transactions and groups share the connections", arguments: [1, 4])
    func manyTransactions(connections: Int) async throws {
        try await withTable("many_transactions") { _ in
            var options = PostgresPool.Options()
            options.connections = connections
            try await withPool(OwnServer.connectionString, options) { pool in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            let insert = Statement(
                                "INSERT INTO many_transactions VALUES ($1)", [.integer(Int64(number))])
                            guard number % 2 == 0 else {
                                _ = try await pool.run([insert], until: .now + .seconds(300))
                                return
                            }
                            try await pool.transaction(until: .now + .seconds(300)) {
                                transaction throws(PostgresError) in
                                _ = try await transaction.run([insert])
                                _ = try await transaction.run([Statement("SELECT pg_sleep(0.001)")])
                                _ = try await transaction.commit(with: [insert])
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await count(pool, "many_transactions") == 150)
            }
        }
    }

    @Test("A transaction whose connection is lost before its commit changes nothing and can be run again")
    func lostTransaction() async throws {
        try await withTable("lost_transactions") { pool in
            let error = await postgresError {
                try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                    let rows = try await transaction.run([
                        Statement("INSERT INTO lost_transactions VALUES (1)"), Statement("SELECT pg_backend_pid()"),
                    ])
                    _ = try await pool.run(
                        [
                            Statement(
                                "SELECT pg_terminate_backend($1::int8::int4)", [.integer(rows[1].integer(0, 0) ?? 0)])
                        ],
                        until: .now + .seconds(300))
                    _ = try await transaction.run([Statement("SELECT 1")])
                }
            }
            #expect(error?.code == .unavailable)
            let stored = try await count(pool, "lost_transactions")
            #expect(stored == 0)
        }
    }

    @Test("A transaction that the server ends because it is idle is unavailable and changes nothing")
    func idleTransaction() async throws {
        try await withTable("idle_transactions") { pool in
            let error = await postgresError {
                try await pool.transaction(until: .now + .seconds(300)) { transaction throws(PostgresError) in
                    let rows = try await transaction.run([
                        Statement("SET LOCAL idle_in_transaction_session_timeout = 50"),
                        Statement("INSERT INTO idle_transactions VALUES (1)"), Statement("SELECT pg_backend_pid()"),
                    ])
                    try? await pool.wait(
                        for: "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $1::int8::int4",
                        [.integer(rows[2].integer(0, 0) ?? 0)])
                    _ = try await transaction.run([Statement("SELECT 1")])
                }
            }
            #expect(error?.code == .unavailable)
            let stored = try await count(pool, "idle_transactions")
            #expect(stored == 0)
        }
    }

    @Test("A read-only transaction, a missing right and a duplicate key have codes of their own")
    func codes() async throws {
        try await withTable("codes") { pool in
            let readOnly = await postgresError {
                _ = try await pool.run(
                    [Statement("SET TRANSACTION READ ONLY"), Statement("INSERT INTO codes VALUES (1)")],
                    until: .now + .seconds(300))
            }
            #expect(readOnly?.code == .readOnly)
            let denied = await postgresError {
                _ = try await pool.run(
                    [Statement("SET LOCAL ROLE scram"), Statement("SELECT * FROM codes")],
                    until: .now + .seconds(300))
            }
            #expect(denied?.code == .permission)
            #expect(await postgresError { try await pool.run("SELECT nothing FROM codes") }?.sqlstate == "42703")
        }
    }
}
#endif
