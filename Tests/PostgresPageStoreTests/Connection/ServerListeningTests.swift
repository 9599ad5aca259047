#if PostgreSQL && canImport(Glibc)
import Testing

@testable import PostgresPageStore

/// LISTEN.
extension ServerTests {
    @Test("A stream yields payloads, and reconnected after a lost connection", .timeLimit(.minutes(20)))
    func listening() async throws {
        try await withPool(OwnServer.connectionString("application_name=listening")) { pool in
            var first = pool.listen("first \"channel\"").makeAsyncIterator()
            #expect(await first.next() == .listening)
            var second = pool.listen("second").makeAsyncIterator()
            #expect(await second.next() == .listening)
            try await pool.run("SELECT pg_notify('first \"channel\"', 'one'), pg_notify('second', 'two')")
            #expect(await first.next() == .payload("one"))
            #expect(await second.next() == .payload("two"))
            try await pool.run(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = 'listening' AND query LIKE 'LISTEN%'
                """)
            #expect(await first.next() == .reconnected)
            #expect(await second.next() == .reconnected)
            try await pool.run("SELECT pg_notify('second', 'three')")
            #expect(await second.next() == .payload("three"))
        }
    }

    @Test("The session of LISTEN ends with the last stream", .timeLimit(.minutes(20)))
    func lastStream() async throws {
        try await withPool(OwnServer.connectionString("application_name=last-stream")) { pool in
            let sessions = "SELECT count(*) = $1 FROM pg_stat_activity WHERE application_name = 'last-stream'"
            for _ in 0..<3 {
                let task = Task {
                    for await event in pool.listen("last") where event == .payload("end") { break }
                }
                try await pool.wait(for: sessions, [.integer(2)])
                while !task.isCancelled, try await !hasEnded(task, pool) {}
                try await pool.wait(for: sessions, [.integer(1)])
            }
        }
    }

    @Test("Notifications for a shared session, as a pooler delivers them, are not kept")
    func sharedSession() async throws {
        let pool = try PostgresPool(OwnServer.connectionString, connections: 1)
        try await pool.run("LISTEN shared_session")
        for _ in 0..<3 { try await pool.run("SELECT pg_notify('shared_session', 'a notice')") }
        await pool.close()
        // Nothing uses the connections of a closed pool.
        #expect(pool.reactor.connections.map(\.notifications.count) == [0])
    }

    private func hasEnded(_ task: Task<Void, Never>, _ pool: PostgresPool) async throws -> Bool {
        try await pool.run("SELECT pg_notify('last', 'end')")
        return try await pool.run(
            "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'last-stream'"
        ).bool(0, 0) == true
    }
}
#endif
