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

    private func statements(of store: PostgreSQLPageStore, _ work: () async throws -> Void) async throws -> Int {
        let before = store.server.statements.load(ordering: .relaxed)
        try await work()
        return store.server.statements.load(ordering: .relaxed) - before
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
        // The first request renews the heartbeat as well, and finds no rows.
        for _ in 0..<2 {
            var leases: [Lease] = []
            let claim = try await cost(of: store) { leases = try await store.claim(request, of: query).leases }
            #expect(claim == 1 && leases.map(\.offset) == offsets)
            var held: Set<LeaseToken> = []
            let renewal = try await cost(of: store) { held = try await store.heartbeat(owner, for: .seconds(600)) }
            #expect(renewal == 1 && held.count == 16)
            let edits = leases.map { LedgerEdit.released(offset: $0.offset, lease: $0.token) }
            var sent = 0
            let end = try await cost(of: store) {
                sent = try await statements(of: store) { try await store.record(edits, for: query) }
            }
            // The lock, the time, and one statement for all sixteen.
            #expect(end == 2 && sent == 3)
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
        var perPage: Set<Int> = []
        let sum = try await cost(of: store) {
            var lease = try await store.claim(LeaseRequest([0], for: .seconds(600)), of: record.id).leases.first
            for number in 0..<pages {
                let (start, end) = (number * 10, number * 10 + 10)
                let plan = CommitPlan(
                    query: record.id, version: record.version, edits: [.insertPage(page(start, start..<end))],
                    ledger: [.succeeded(offset: start, lease: lease?.token)])
                let sent = try await statements(of: store) {
                    let receipt = try await store.commit(plan, claiming: LeaseRequest([end], for: .seconds(600)))
                    #expect(receipt.outcome == .committed(record.version))
                    lease = receipt.grant?.leases.first
                }
                perPage.insert(sent)
            }
        }
        #expect(sum == 2 * pages + 1)
        // Lock, time, pages, holders of the items; body, page, end of the lease, claim, journal, record.
        #expect(perPage == [10])
        await store.close()
    }

    @Test("Sixteen pages of one commit take one statement for their rows and one for their leases")
    func batch() async throws {
        let store = try await openQuiet()
        let record = try await store.register("list")
        let offsets = (0..<16).map { $0 * 10 }
        let leases = try await store.claim(LeaseRequest(offsets, for: .seconds(600)), of: record.id).leases
        #expect(leases.map(\.offset) == offsets)
        // Each of the columns that may be NULL is NULL in some of the rows.
        let pages = offsets.map { offset in
            let number = offset / 10
            return PageWrite(
                offset: offset, content: items(offset..<offset + 10), evidence: number % 2 == 0 ? .verified : .inferred,
                cursorIn: number % 3 == 1 ? PageCursor("in \(number)") : nil,
                cursorOut: number % 3 == 2 ? PageCursor("out \(number)") : nil,
                validator: number % 4 == 0
                    ? nil
                    : Validator(
                        request: "r\(number)", entityTag: number % 4 == 1 ? nil : "e",
                        lastModified: number % 4 == 2 ? nil : "l", coversTotal: number % 4 == 3))
        }
        let plan = CommitPlan(
            query: record.id, version: record.version, edits: pages.map { .insertPage($0) },
            ledger: leases.map { .succeeded(offset: $0.offset, lease: $0.token) })
        var receipt: CommitReceipt?
        let sent = try await statements(of: store) {
            receipt = try await store.commit(plan, claiming: LeaseRequest([160], for: .seconds(600)))
        }
        #expect(receipt?.outcome == .committed(record.version) && receipt?.lostLeases == [])
        // Four that read, sixteen bodies, the rows, the ends of the leases, the claim, the journal and the record.
        #expect(sent == 25)
        let list = try #require(try await store.outline(of: record.id))
        #expect(list.pages.map(\.offset) == offsets)
        #expect(list.pages.map(\.evidence) == pages.map(\.evidence))
        #expect(list.pages.map(\.cursorIn) == pages.map(\.cursorIn))
        #expect(list.pages.map(\.cursorOut) == pages.map(\.cursorOut))
        #expect(list.pages.map(\.validator) == pages.map(\.validator))
        #expect(list.ledger.map(\.state) == offsets.map { _ in FetchState.ok } + [.inFlight])
        let window = try #require(try await store.window(of: record.id, 0..<160))
        #expect(window.parts.map(\.content) == pages.map(\.content))
        #expect(try await store.verify().findings == [])
        await store.close()
    }

    @Test("Edits of several kinds, and of lost leases, have the same results together as one by one")
    func kinds() async throws {
        let store = try await openQuiet()
        let query = try await store.register("list").id
        let offsets = (0..<8).map { $0 * 10 }
        let leases = try await store.claim(LeaseRequest(offsets, for: .seconds(600)), of: query).leases
        try await store.record([.deleted(offset: 20, lease: leases[2].token)], for: query)
        let failure = FetchFailure(.server, "busy", isRetryable: true, httpStatus: 503)
        let other = FetchFailure(.server, "other", isRetryable: false)
        let edits: [LedgerEdit] = [
            .succeeded(offset: 0, lease: leases[0].token), .released(offset: 10, lease: leases[1].token),
            .succeeded(offset: 20, lease: leases[2].token),
            .failed(offset: 30, failure: failure, nextAttemptIn: .seconds(5), lease: leases[3].token),
            .succeeded(offset: 40, lease: leases[4].token),
            .failed(offset: 50, failure: other, nextAttemptIn: nil, lease: leases[5].token),
            .failed(offset: 60, failure: failure, nextAttemptIn: .seconds(5), lease: leases[6].token),
            // The lease has ended with the edit before, so that this one applies to the offset.
            .deleted(offset: 60, lease: leases[6].token), .deleted(offset: 70, lease: leases[7].token),
        ]
        #expect(try await store.record(edits, for: query) == [leases[2].token])
        let ledger = try #require(try await store.outline(of: query)).ledger
        #expect(ledger.map(\.offset) == [0, 10, 30, 40, 50])
        #expect(ledger.map(\.state) == [.ok, .pending, .failedRetryable, .ok, .failedPermanent])
        #expect(ledger.map { $0.failure?.message } == [nil, nil, "busy", nil, "other"])
        await store.close()
    }

    @Test("A page deletes the failures at its positions, and a list without failures sends no statement for that")
    func failures() async throws {
        let store = try await openQuiet()
        let (other, record) = (try await store.register("other"), try await store.register("list"))
        func failed(_ offset: Int) -> LedgerEdit {
            .failed(
                offset: offset, failure: FetchFailure(.server, "busy", isRetryable: true), nextAttemptIn: .seconds(5))
        }
        try await store.record([failed(5)], for: other.id)
        func plan(_ start: Int) -> CommitPlan {
            CommitPlan(
                query: record.id, version: record.version, edits: [.insertPage(page(start, start..<start + 10))])
        }
        let without = try await statements(of: store) { _ = try await store.commit(plan(0)) }
        try await store.record([failed(15), failed(25)], for: record.id)
        let with = try await statements(of: store) { _ = try await store.commit(plan(10)) }
        #expect(without == 8 && with == 9)
        #expect(try await store.outline(of: record.id)?.ledger.map(\.offset) == [25])
        #expect(try await store.outline(of: other.id)?.ledger.map(\.offset) == [5])
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
        let found = try await store.server.write([
            LeaseStatements.take(next(), of: query, by: store.liveness.name, at: nil, nonce: 1),
            reads(of: "ledger", in: schema),
        ])
        #expect(found[0].count == 16)
        let count = try #require(found[1].first).int(0)
        #expect(count < 200, "\(count) of 3,200 records were read")
        await store.close()
    }

    @Test("A window, an excerpt and a commit read their pages, and not all of the list, also without statistics")
    func windowCost() async throws {
        let schema = try Schema()
        let store = try await openUnanalysed(schema)
        let record = try await store.register("list")
        for start in stride(from: 0, to: 2_000, by: 5) {
            let plan = CommitPlan(
                query: record.id, version: record.version, edits: [.insertPage(page(start, start..<start + 5))])
            #expect(try await store.commit(plan) == .committed(record.version))
            _ = try await store.window(of: record.id, start..<start + 5)
            _ = try await store.excerpt(of: record.id, start..<start + 5)
        }
        let near = [1_995..<2_000]
        for request in [
            PostgreSQLPageStore.pages(of: record.id, near[0]), ExcerptReading.requests(near[0], of: record.id)[0],
            PageRow.meetingAndNext(near, of: record.id),
        ] {
            for table in ["page", "body"] {
                let found = try await store.server.read([
                    reads(of: table, in: schema), request, reads(of: table, in: schema),
                ])
                #expect(found[1].count == 1)
                let (before, after) = (try #require(found[0].first).int(0), try #require(found[2].first).int(0))
                let count = after - before
                #expect(count < 40, "\(count) rows of \(table) were read")
            }
        }
        await store.close()
    }

    @Test("The end of sixteen leases reads their fetch records, and not all of the list, also without statistics")
    func endCost() async throws {
        let schema = try Schema()
        let store = try await openUnanalysed(schema)
        let query = try await store.register("list").id
        var tokens: [LeaseToken] = []
        for first in stride(from: 0, to: 16 * 100, by: 16) {
            let request = LeaseRequest(Array(first..<first + 16), for: .seconds(600))
            let leases = try await store.claim(request, of: query).leases
            tokens = leases.map(\.token)
            // The server plans the statement while the table has few rows. The other leases stay.
            guard first < 16 * 10 else { continue }
            try await store.record(leases.map { .succeeded(offset: $0.offset, lease: $0.token) }, for: query)
        }
        let edit = LedgerEdit.succeeded(offset: 0, lease: tokens[0])
        let ofToken = try #require(LedgerStatements.ofToken(edit, of: query, at: noon))
        let several = try #require(ofToken.statement.several)
        let values = ofToken.shared + Value.columns(of: tokens.map { [.integer($0.rawValue)] })
        let found = try await store.server.write([
            reads(of: "ledger", in: schema), (several, values), reads(of: "ledger", in: schema),
        ])
        #expect(found[1].count == 16)
        let (before, after) = (try #require(found[0].first).int(0), try #require(found[2].first).int(0))
        let count = after - before
        #expect(count <= 64, "\(count) of 1,600 records were read")
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
