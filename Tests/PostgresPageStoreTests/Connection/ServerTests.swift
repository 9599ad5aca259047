#if PostgreSQL && canImport(Glibc)
import PostgresPageStore
import Testing

/// The connection layer with a real server. The tests run one after the other, because some restart the server.
@Suite("A PostgreSQL server", .serialized, .enabled(if: OwnServer.isPossible, OwnServer.isImpossible), .ownServer)
struct ServerTests {
    @Test("Values survive the round trip in both directions")
    func roundTrip() async throws {
        try await withPool { pool in
            let text = "it's \"quoted\", \\ and üñí 漢字 🐘\n\t"
            let large = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            // Twice and more, so that unnamed, prepared and named statements are all used.
            for _ in 0..<4 {
                let rows = try await pool.run(
                    "SELECT $1::bool, $2::int8, $3::text, $4::bytea, $5::int8[], $6::text[], $7::bytea[], $8::text, $9",
                    [
                        .bool(true), .integer(.min), .text(text), .bytes(large), .integers([1, -1, .max]),
                        .texts(["", text, "NULL"]), .byteRows([nil, [], [0, 255], nil]), .null, .text(""),
                    ])
                #expect(rows.count == 1)
                #expect(rows.bool(0, 0) == true)
                #expect(rows.integer(0, 1) == .min)
                #expect(rows.text(0, 2) == text)
                #expect(rows.bytes(0, 3) == large)
                #expect(rows.withBytes(0, 3) { $0?.count } == large.count)
                #expect(rows.integers(0, 4) == [1, -1, .max])
                #expect(rows.texts(0, 5) == ["", text, "NULL"])
                #expect(rows.byteRows(0, 6) == [nil, [], [0, 255], nil])
                #expect(rows.isNull(0, 7) && rows.text(0, 7) == nil)
                #expect(rows.text(0, 8) == "")
            }
            let empty = try await pool.run(
                "SELECT $1::bytea, $2::int8[], $3::text[], $4::bytea[]",
                [.bytes([]), .integers([]), .texts([]), .byteRows([])])
            #expect(empty.bytes(0, 0) == [] && empty.integers(0, 1) == [] && empty.texts(0, 2) == [])
            #expect(empty.byteRows(0, 3) == [])
            let nulls = try await pool.run(
                "SELECT ARRAY['a', NULL], ARRAY[1::int8, NULL], NULL::bytea[], 7::int2, -7::int4, 1.5::float8")
            #expect(nulls.texts(0, 0) == nil && nulls.integers(0, 1) == nil && nulls.byteRows(0, 2) == nil)
            #expect(nulls.integer(0, 3) == 7 && nulls.integer(0, 4) == -7 && nulls.double(0, 5) == 1.5)
            #expect(nulls.text(0, 99) == nil && nulls.text(5, 0) == nil && nulls.text(-1, -1) == nil)
        }
    }

    @Test("A parameter that is NULL at first and a number later keeps its type")
    func nullThenNumber() async throws {
        try await withPool { pool in
            try await pool.run("CREATE TABLE IF NOT EXISTS null_then_number (a int8, b int4)")
            for value in [Value.null, .null, .null, .integer(7), .integer(8), .null, .integer(9)] {
                let rows = try await pool.run(
                    "INSERT INTO null_then_number (a) VALUES ($1) RETURNING coalesce(a, -1)", [value])
                #expect(value == .null ? rows.integer(0, 0) == -1 : value == rows.integer(0, 0).map { .integer($0) })
                #expect(rows.affected == 1)
            }
            try await pool.run("DROP TABLE null_then_number")
        }
    }

    @Test("A text with NUL is refused before anything is sent")
    func nulInText() async throws {
        // No server is at this address: a request would be unavailable.
        try await withPool("host=127.0.0.1 port=1") { pool in
            for value in [Value.text("a\0b"), .texts(["a", "\0"])] {
                #expect(await postgresError { try await pool.run("SELECT $1", [value]) }?.code == .invalidValue)
            }
            #expect(await postgresError { try await pool.run("SELECT '\0'") }?.code == .invalidValue)
        }
    }

    @Test("A group commits as a whole or not at all, and its failure touches no other group")
    func atomicGroups() async throws {
        var options = PostgresPool.Options()
        options.connections = 1
        try await withPool(OwnServer.connectionString, options) { pool in
            try await pool.run("DROP TABLE IF EXISTS atomic_groups")
            try await pool.run("CREATE TABLE atomic_groups (n int8 PRIMARY KEY)")
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<200 {
                    tasks.addTask {
                        let insert = Statement("INSERT INTO atomic_groups VALUES ($1)", [.integer(Int64(number))])
                        let isGood = number % 2 == 0
                        let second = Statement(isGood ? "SELECT 1" : "SELECT 1 / 0")
                        let error = await postgresError {
                            _ = try await pool.run(
                                [insert, second, Statement("SELECT 2")], until: .now + .seconds(300))
                        }
                        #expect(error?.sqlstate == (isGood ? nil : "22012"))
                    }
                }
                try await tasks.waitForAll()
            }
            let rows = try await pool.run("SELECT count(*), count(*) FILTER (WHERE n % 2 = 0) FROM atomic_groups")
            #expect(rows.integer(0, 0) == 100 && rows.integer(0, 1) == 100)
            try await pool.run("DROP TABLE atomic_groups")
        }
    }

    @Test("A constraint that fails at the commit fails its group")
    func deferredConstraint() async throws {
        try await withPool { pool in
            try await pool.run("DROP TABLE IF EXISTS deferred_check")
            try await pool.run("CREATE TABLE deferred_check (n int8 UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            let error = await postgresError {
                _ = try await pool.run(
                    [Statement("INSERT INTO deferred_check VALUES (1), (1)"), Statement("SELECT 1")],
                    until: .now + .seconds(300))
            }
            #expect(error?.sqlstate == "23505")
            #expect(try await pool.run("SELECT count(*) FROM deferred_check").integer(0, 0) == 0)
            try await pool.run("DROP TABLE deferred_check")
        }
    }

    @Test("1,000 groups at once share 4 connections")
    func concurrentGroups() async throws {
        try await withPool(OwnServer.connectionString("application_name=concurrent-groups")) { pool in
            let sum = try await withThrowingTaskGroup(of: Int64.self) { tasks in
                for number in 0..<1_000 {
                    tasks.addTask {
                        let rows = try await pool.run("SELECT $1::int8, pg_sleep(0)", [.integer(Int64(number))])
                        #expect(rows.integer(0, 0) == Int64(number))
                        return rows.integer(0, 0) ?? 0
                    }
                }
                return try await tasks.reduce(0, +)
            }
            #expect(sum == 499_500)
            let count = try await pool.run(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'concurrent-groups'")
            #expect((1...4).contains(count.integer(0, 0) ?? 0))
        }
    }

    @Test("64 MiB travel both ways at once without a deadlock", .timeLimit(.minutes(20)))
    func largeValues() async throws {
        var options = PostgresPool.Options()
        options.connections = 1
        try await withPool(OwnServer.connectionString, options) { pool in
            let megabyte = [UInt8](repeating: 0xA5, count: 1 << 20)
            // The server answers each statement before it reads the next one: both buffers fill up.
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<4 {
                    tasks.addTask {
                        let echo = Statement("SELECT $1::bytea", [.bytes(megabyte)])
                        let rows = try await pool.run(Array(repeating: echo, count: 16), until: .now + .seconds(300))
                        #expect(rows.allSatisfy { $0.withBytes(0, 0) { $0?.elementsEqual(megabyte) == true } })
                    }
                }
                try await tasks.waitForAll()
            }
            let large = [UInt8](repeating: 0x5A, count: 64 << 20)
            let rows = try await pool.run("SELECT $1::bytea", [.bytes(large)], within: .seconds(300))
            #expect(rows.withBytes(0, 0) { $0?.count } == large.count)
        }
    }

    @Test("A large statement that waits behind a slow one longer than an address may take keeps its session")
    func largeBehindSlow() async throws {
        // The limit for each of several addresses is two seconds. The server reads nothing while it sleeps.
        let hosts =
            "host=127.0.0.1,127.0.0.1 port=\(OwnServer.port),\(OwnServer.port) user=pagecache dbname=pagecache "
            + "sslmode=disable"
        try await withPool(hosts) { pool in
            let session = Statement("SELECT pg_backend_pid()")
            let large = Statement("SELECT octet_length($1::bytea)", [.bytes([UInt8](repeating: 0x5A, count: 64 << 20))])
            let before = try await pool.run([session], until: .now + .seconds(300))[0].integer(0, 0)
            let rows = try await pool.run(
                [Statement("SELECT pg_sleep(5)"), large, session], until: .now + .seconds(60))
            #expect(rows[1].integer(0, 0) == 64 << 20)
            #expect(before != nil && rows[2].integer(0, 0) == before)
        }
    }

    @Test("A group that fails in a transaction of its own ends the session, and takes no later group along")
    func failedTransactionInGroup() async throws {
        var options = PostgresPool.Options()
        options.connections = 1
        try await withPool(OwnServer.connectionString, options) { pool in
            let session = "SELECT pg_backend_pid()"
            let first = try await pool.run(session).integer(0, 0)
            #expect(try await pool.run(session).integer(0, 0) == first)
            let error = await postgresError {
                _ = try await pool.run([Statement("BEGIN"), Statement("SELECT 1 / 0")], until: .now + .seconds(300))
            }
            #expect(error?.sqlstate == "22012")
            let second = try await pool.run(session).integer(0, 0)
            #expect(second != nil && second != first)
            // A failure in the implicit transaction of a group keeps the session.
            #expect(await postgresError { try await pool.run("SELECT 1 / 0") }?.sqlstate == "22012")
            #expect(try await pool.run(session).integer(0, 0) == second)
        }
    }

    @Test("A closed pool leaves no descriptor and no thread")
    func leaks() async {
        // In a process of its own: other tests open pools meanwhile.
        await #expect(processExitsWith: .success) { [address = OwnServer.connectionString as String] in
            let (descriptors, threads) = (OwnServer.openDescriptors(), OwnServer.poolThreads())
            for _ in 0..<5 {
                let pool = try PostgresPool(address)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<32 { tasks.addTask { try await pool.run("SELECT pg_sleep(0.01)") } }
                    try await tasks.waitForAll()
                }
                let stream = pool.listen("leaks")
                var iterator = stream.makeAsyncIterator()
                #expect(await iterator.next() == .listening)
                let sleeper = Task { await postgresError { try await pool.run("SELECT pg_sleep(600)") } }
                let observer = try PostgresPool(address)
                try await observer.wait(
                    for: "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)'")
                await observer.close()
                await pool.close()
                #expect(await sleeper.value?.code == .closed)
                #expect(await iterator.next() == nil)
                #expect(await postgresError { try await pool.run("SELECT 1") }?.code == .closed)
                await pool.close()
            }
            // A pool that is dropped without `close` ends its thread by itself.
            _ = try PostgresPool(address)
            // A thread exits some microseconds after it has announced its end.
            let end = ContinuousClock.now + .seconds(300)
            while OwnServer.poolThreads() > threads || OwnServer.openDescriptors() > descriptors,
                ContinuousClock.now < end
            { await Task.yield() }
            #expect(OwnServer.poolThreads() <= threads)
            #expect(OwnServer.openDescriptors() <= descriptors)
        }
    }
}
#endif
