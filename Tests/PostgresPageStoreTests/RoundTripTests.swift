#if PostgreSQL
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@testable import PostgresPageStore

@Suite("Round trips of a store on a server", .enabled(if: TestServer.isThere))
struct RoundTripTests {
    private func page(_ offset: Int, _ range: Range<Int>) -> PageWrite {
        PageWrite(offset: offset, content: items(range), evidence: .inferred)
    }

    /// Opens a store that sends nothing by itself: no notices, and no comparisons of versions.
    private func openQuiet() async throws -> PostgreSQLPageStore {
        let schema = try Schema()
        var options = schema.options
        options.listensAtOnce = false
        let store = try await PostgreSQLPageStore.open(schema.address, options: options)
        store.announcer.close()
        return store
    }

    private func cost(of store: PostgreSQLPageStore, _ work: () async throws -> Void) async throws -> Int {
        let before = store.server.roundTrips.load(ordering: .relaxed)
        try await work()
        return store.server.roundTrips.load(ordering: .relaxed) - before
    }

    @Test("A commit takes two round trips, whatever it edits, with a claim and an excerpt")
    func counts() async throws {
        let store = try await openQuiet()
        let query = try await store.register("list").id
        func commit(_ edits: [ListEdit], ledger: [LedgerEdit] = []) async throws -> Int {
            let version = try #require(try await store.outline(of: query)).record.version
            let plan = CommitPlan(query: query, version: version, edits: edits, ledger: ledger)
            return try await cost(of: store) {
                let request = LeaseRequest([9_000], for: .seconds(60), includingOutline: 0..<100)
                let receipt = try await store.commit(plan, claiming: request)
                guard case .committed = receipt.outcome else { throw StorageError(.internal, "\(receipt.outcome)") }
            }
        }
        for start in stride(from: 0, to: 200, by: 20) {
            let costs = try await commit(
                [.insertPage(page(start, start..<start + 20))], ledger: [.succeeded(offset: start)])
            #expect(costs == 2)
        }
        #expect(try await commit([.insertPage(page(40, 40..<60)), .setTotal(.exact(200)), .validated]) == 2)
        #expect(try await commit([.splice(0..<0, page(0, 900..<903)), .markContiguous(0..<43)]) == 2)
        #expect(try await commit([.splice(50..<55, nil), .validated]) == 2)
        #expect(try await commit([.markStale(30..<70)]) == 2)
        #expect(try await commit([.truncate(at: 101)]) == 2)
        #expect(try await commit([.touchPage(offset: 0, validator: nil)]) == 2)
        await store.close()
    }

    @Test("Sixteen leases, their renewal and each read take one round trip, and the end of the leases two")
    func leases() async throws {
        let store = try await openQuiet()
        let query = try await store.register("list").id
        let registration = try await cost(of: store) { _ = try await store.register("list") }
        #expect(registration == 1)
        let offsets = (0..<16).map { $0 * 50 }
        let owner = LeaseOwner("run")
        let request = LeaseRequest(offsets, for: .seconds(600), by: owner, includingOutline: 0..<1_000)
        // The first request shows the sign of life as well, and finds no rows.
        for _ in 0..<2 {
            var leases: [Lease] = []
            let claim = try await cost(of: store) { leases = try await store.claim(request, of: query).leases }
            #expect(claim == 1 && leases.map(\.offset) == offsets)
            var held: Set<LeaseToken> = []
            let renewal = try await cost(of: store) { held = try await store.heartbeat(owner, for: .seconds(600)) }
            #expect(renewal == 1 && held.count == 16)
            let edits = leases.map { LedgerEdit.released(offset: $0.offset, lease: $0.token) }
            let end = try await cost(of: store) { try await store.record(edits, for: query) }
            #expect(end == 2)
        }
        let reads = try await cost(of: store) {
            _ = try await store.outline(of: query)
            _ = try await store.window(of: query, 0..<100)
            _ = try await store.page(at: 0, of: query)
        }
        #expect(reads == 3)
        await store.close()
    }

    @Test("A list of 200 pages is stored in two round trips for each page, and one for the first lease")
    func firstSync() async throws {
        let store = try await openQuiet()
        let record = try await store.register("list")
        let pages = 200
        let sum = try await cost(of: store) {
            var lease = try await store.claim(LeaseRequest([0], for: .seconds(600)), of: record.id).leases.first
            for number in 0..<pages {
                let (start, end) = (number * 10, number * 10 + 10)
                let plan = CommitPlan(
                    query: record.id, version: record.version, edits: [.insertPage(page(start, start..<end))],
                    ledger: [.succeeded(offset: start, lease: lease?.token)])
                let receipt = try await store.commit(plan, claiming: LeaseRequest([end], for: .seconds(600)))
                #expect(receipt.outcome == .committed(record.version))
                lease = receipt.grant?.leases.first
            }
        }
        #expect(sum == 2 * pages + 1)
        await store.close()
    }

    /// Opens a store whose statements the server has to plan without statistics. One connection plans each once.
    private func openUnanalysed(_ schema: Schema) async throws -> PostgreSQLPageStore {
        var options = schema.options
        options.connections = 1
        let store = try await PostgreSQLPageStore.open(schema.address, options: options)
        for table in ["ledger", "page", "body"] {
            try await schema.run("ALTER TABLE \(schema.name).\(table) SET (autovacuum_enabled = off)")
        }
        return store
    }

    /// The request for the number of rows of a table that the transaction has read so far.
    private func reads(of table: String, in schema: Schema) -> WriteBatch.Request {
        (
            SQL(
                """
                SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
                WHERE schemaname = $1 AND relname = $2
                """), [.text(schema.name), .text(table)]
        )
    }

    @Test("A claim reads the fetch records that it names, and not all of the list, also without statistics")
    func claimCost() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        let query = try await store.register("list").id
        try await schema.run("ALTER TABLE \(schema.name).ledger SET (autovacuum_enabled = off)")
        var first = 0
        func next() -> LeaseRequest {
            defer { first += 16 * 50 }
            return LeaseRequest((0..<16).map { first + $0 * 50 }, for: .seconds(600))
        }
        // The server has planned the statement by then.
        for _ in 0..<200 { #expect(try await store.claim(next(), of: query).leases.count == 16) }
        let reads = SQL(
            """
            SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables
            WHERE schemaname = $1 AND relname = 'ledger'
            """)
        let found = try await store.server.write([
            LeaseStatements.take(next(), of: query, by: store.liveness.name, at: nil, nonce: 1),
            (reads, [.text(schema.name)]),
        ])
        #expect(found[0].count == 16)
        let count = try #require(found[1].first).int(0)
        #expect(count < 200, "\(count) of 3,200 records were read")
        await store.close()
    }

    @Test("A commit over the bound of the journal reads the entries that it may drop, and not all young ones")
    func journal() async throws {
        let schema = try Schema()
        let store = try await schema.open(clock: ManualClock(noon))
        let query = try await store.register("list").id
        for start in stride(from: 0, to: 200, by: 10) {
            let version = ListVersion(generation: 1, revision: 0)
            _ = try await store.commit(
                CommitPlan(query: query, version: version, edits: [.insertPage(page(start, start..<start + 10))]))
        }
        // The registration and twenty pages.
        func read(at now: Timestamp) async throws -> Int {
            try await store.server.read(JournalRow.mayBeDropped(of: query, at: now)).count
        }
        #expect(try await read(at: noon + .seconds(599)) == 2)
        #expect(try await read(at: noon + .seconds(600)) == 21)
        // Entries from the future were written before the clock was set back.
        #expect(try await read(at: noon + .seconds(-600)) == 2)
        #expect(try await read(at: noon + .seconds(-601)) == 21)
        await store.close()
    }

    @Test("Positions of later edits are read where they are stored before the earlier ones")
    func positions() {
        let query = QueryID(rawValue: 1)
        let plan = CommitPlan(
            query: query, version: ListVersion(generation: 1, revision: 0),
            edits: [.splice(10..<10, page(10, 0..<5)), .touchPage(offset: 100, validator: nil)])
        let reads = CommitReads(plan)
        #expect(reads.rows.contains { $0.contains(95) })
        #expect(!reads.rows.contains { $0.contains(100) })
        #expect(reads.keys.count == 5)
    }
}
#endif
