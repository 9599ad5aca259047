#if PostgreSQL && canImport(Glibc)
import PageModel
import StorageSupport
import Testing

@testable import PostgresPageStore

/// Stores whose connections break, or lead through a pooler.
extension ServerTests {
    private func options(schema: String) -> PostgreSQLPageStore.Options {
        var options = PostgreSQLPageStore.Options()
        options.schema = schema
        options.busyBudget = .seconds(120)
        options.listensAtOnce = false
        return options
    }

    @Test("A commit whose connection is cut after any of its messages is made once, with its lease", arguments: 1...4)
    func cut(message: Int) async throws {
        let proxy = try SilentProxy(port: UInt16(OwnServer.port) ?? 0)
        var options = options(schema: "cut_\(message)")
        options.connections = 1
        let store = try await PostgreSQLPageStore.open(
            "host=127.0.0.1 port=\(proxy.port) user=pagecache dbname=pagecache sslmode=disable", options: options)
        // Nothing but the calls sends messages.
        store.announcer.close()
        let record = try await store.register("list")
        let lease = try #require(
            try await store.claim(LeaseRequest([0], for: .seconds(600)), of: record.id).leases.first)
        let write = PageWrite(offset: 0, content: items(0..<10), evidence: .inferred)
        let plan = CommitPlan(
            query: record.id, version: record.version, edits: [.insertPage(write)],
            ledger: [.succeeded(offset: 0, lease: lease.token)])
        // The first message locks and reads, and the second one writes and commits. The next ones are those of the reads below.
        proxy.cut(afterMessages: message)
        let receipt = try await store.commit(plan, claiming: LeaseRequest([10], for: .seconds(600)))
        #expect(receipt.outcome == .committed(record.version))
        #expect(receipt.grant?.leases.map(\.offset) == [10])
        let list = try #require(try await store.outline(of: record.id))
        #expect(list.pages.count == 1)
        #expect(list.contentVersion.counter == record.contentVersion.counter + 1)
        let window = try #require(try await store.window(of: record.id, 0..<10))
        #expect(window.parts.map(\.content) == [items(0..<10)])
        #expect(try await store.verify().findings == [])
        await store.close()
        proxy.close()
    }

    @Test(
        "Full durability and a registration survive a crash, although the server's default is not to flush commits",
        .timeLimit(.minutes(20)))
    func durable() async throws {
        // The server writes its log within 600 ms of a commit, and a slow machine stops it later than that.
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM SET wal_writer_delay = '10s'")
            try await pool.run("SELECT pg_reload_conf()")
        }
        let address = OwnServer.connectionString("options=-csynchronous_commit%3Doff")
        var options = options(schema: "durable")
        let writer = try await PostgreSQLPageStore.open(address, options: options)
        options.durability = .full
        let durable = try await PostgreSQLPageStore.open(address, options: options)
        for round in 0..<4 {
            let record = try await writer.register(QueryKey("list \(round)"))
            if round % 2 == 1 {
                let write = PageWrite(offset: 0, content: items(0..<10), evidence: .inferred)
                let plan = CommitPlan(query: record.id, version: record.version, edits: [.insertPage(write)])
                #expect(try await durable.commit(plan) == .committed(record.version))
            }
            #expect(await OwnServer.end(of: try OwnServer.beginRestart("immediate")) == 0)
            #expect(try await durable.outline(of: record.id)?.pages.count == round % 2, "round \(round)")
        }
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM RESET wal_writer_delay")
            try await pool.run("SELECT pg_reload_conf()")
        }
        await writer.close()
        await durable.close()
    }

    @Test("A purge that a crash undoes before it is flushed is made again", .timeLimit(.minutes(20)))
    func undonePurge() async throws {
        // The server writes its log within 600 ms of a commit, and a slow machine stops it later than that.
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM SET wal_writer_delay = '10s'")
            try await pool.run("SELECT pg_reload_conf()")
        }
        let store = try await PostgreSQLPageStore.open(
            OwnServer.connectionString, options: options(schema: "undone_purge"))
        for round in 0..<4 {
            let query = try await store.register(QueryKey("list \(round)")).id
            try await withPool { pool in
                try await withPool { holder in
                    // The flush of the purge waits for this lock.
                    let holding = Task {
                        await postgresError {
                            try await holder.run(
                                "SELECT pg_sleep(600) FROM (SELECT id FROM undone_purge.store FOR UPDATE) AS held")
                        }
                    }
                    try await pool.wait(for: "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
                    let purging = Task { await code { try await store.purge([query]) } }
                    try await pool.wait(
                        for: "SELECT count(*) = 0 FROM undone_purge.query WHERE id = $1", [.integer(query.rawValue)])
                    try await pool.wait(for: "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
                    #expect(await OwnServer.end(of: try OwnServer.beginRestart("immediate")) == 0)
                    _ = await holding.value
                    #expect(await purging.value == nil)
                }
            }
            #expect(try await store.outline(of: query) == nil, "round \(round): the purged list is back")
        }
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM RESET wal_writer_delay")
            try await pool.run("SELECT pg_reload_conf()")
        }
        await store.close()
    }

    @Test(
        "A commit that waits for its standby when the server crashes is not acknowledged before a standby confirms it",
        .timeLimit(.minutes(20)))
    func crashBeforeConfirmation() async throws {
        var options = options(schema: "unconfirmed_commit")
        options.durability = .full
        options.busyBudget = .seconds(20)
        let store = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        let record = try await store.register("list")
        let write = PageWrite(offset: 0, content: items(0..<10), evidence: .inferred)
        let plan = CommitPlan(query: record.id, version: record.version, edits: [.insertPage(write)])
        let committing = try await withPool { pool async throws -> Task<StorageError.Code?, Never> in
            try await pool.demandStandby(probing: "unconfirmed_rows")
            let task = Task { await code { try await store.commit(plan) } }
            try await pool.wait(
                for: "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'")
            return task
        }
        #expect(await OwnServer.end(of: try OwnServer.beginRestart("immediate")) == 0)
        // The commit is there, and no standby has it.
        let found = await committing.value
        #expect(found == .busy || found == .unavailable, "the commit was acknowledged")
        try await withPool { pool in
            try await pool.run("ALTER SYSTEM RESET synchronous_standby_names")
            try await pool.run("SELECT pg_reload_conf()")
        }
        await store.close()
    }

    @Test("A write whose session refuses writes is made in the next session, so that a failover ends no engine")
    func refusedWrites() async throws {
        var options = options(schema: "refused_writes")
        options.connections = 1
        let store = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        // The session is then like one at a server that is a standby since the failover.
        let refusing: WriteBatch.Request = (SQL("SET default_transaction_read_only = on"), [])
        _ = try await store.server.read(refusing)
        let record = try await store.register("list")
        _ = try await store.server.read(refusing)
        let leases = try await store.claim(LeaseRequest([0], for: .seconds(600)), of: record.id).leases
        #expect(leases.map(\.offset) == [0])
        await store.close()
    }

    @Test("A commit between the first read of an observer and its LISTEN is noticed: it reads again afterwards (R41)")
    func committedBeforeListening() async throws {
        let proxy = try SilentProxy(port: UInt16(OwnServer.port) ?? 0)
        var options = options(schema: "before_listening")
        options.connections = 1
        // No comparison of versions finds the commit.
        options.pollInterval = .seconds(6_000)
        let first = try await PostgreSQLPageStore.open(OwnServer.connectionString, options: options)
        let second = try await PostgreSQLPageStore.open(
            "host=127.0.0.1 port=\(proxy.port) user=pagecache dbname=pagecache sslmode=disable", options: options)
        let record = try await first.register("list")
        // The replica dies before its notices are sent.
        first.announcer.close()
        proxy.holdConnections()
        let notices = second.notices(of: record.id)
        #expect(try await second.outline(of: record.id)?.pages.isEmpty == true)
        let write = PageWrite(offset: 0, content: items(0..<10), evidence: .inferred)
        let plan = CommitPlan(query: record.id, version: record.version, edits: [.insertPage(write)])
        #expect(try await first.commit(plan) == .committed(record.version))
        proxy.releaseConnections()
        // The listener receives a notice of its own after it has done all that follows LISTEN.
        try await withPool { pool in
            let end = ContinuousClock.now + .seconds(300)
            while second.changeCount(of: record.id) == nil, ContinuousClock.now < end { try await pool.pause(0.01) }
        }
        #expect(second.changeCount(of: record.id) != nil)
        await second.close()
        var received: [StorageNotice] = []
        for await notice in notices { received.append(notice) }
        withExtendedLifetime(second) {}
        #expect(received.contains(.invalidated([record.id])), "the observer never reads the commit: \(received)")
        await first.close()
        proxy.close()
    }

    @Test(
        "Replicas behind a pooler in transaction mode exclude each other, and learn of changes",
        .timeLimit(.minutes(20)),
        .enabled(if: OwnServer.hasPgBouncer, "PAGECACHE_TEST_PGBOUNCER is not set"))
    func replicasBehindPooler() async throws {
        let pooler = try #require(OwnServer.pgBouncer)
        var options = options(schema: "behind_pooler")
        options.pollInterval = .milliseconds(20)
        let first = try await PostgreSQLPageStore.open(pooler, options: options)
        let second = try await PostgreSQLPageStore.open(pooler, options: options)
        let record = try await first.register("list")
        let request = LeaseRequest([0], for: .seconds(600))
        let token = try #require(try await first.claim(request, of: record.id).leases.first?.token)
        #expect(try await second.claim(request, of: record.id).leases.isEmpty)
        var notices = second.notices(of: record.id).makeAsyncIterator()
        // Several commits, because the first comparison may come after the first one.
        let committing = Task {
            for number in 0..<1_000 where !Task.isCancelled {
                let range = number * 10..<number * 10 + 10
                let write = PageWrite(offset: range.lowerBound, content: items(range), evidence: .inferred)
                let plan = CommitPlan(
                    query: record.id, version: record.version, edits: [.insertPage(write)],
                    ledger: number == 0 ? [.succeeded(offset: 0, lease: token)] : [])
                guard case .committed = try await first.commit(plan) else { return false }
            }
            return true
        }
        while let notice = await notices.next(isolation: #isolation) {
            guard case .invalidated = notice else { continue }
            if try await second.outline(of: record.id)?.pages.isEmpty == false { break }
        }
        committing.cancel()
        // A cancelled commit may throw.
        #expect((try? await committing.value) != false)
        #expect(try await second.verify().findings == [])
        await first.close()
        await second.close()
    }
}
#endif
