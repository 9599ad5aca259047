#if PostgreSQL
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PostgresPageStore

/// Every column of every table, set to extreme values by another program (R46).
@Suite("Hostile rows on a server", .enabled(if: TestServer.isThere))
struct HostileRowTests {
    /// A table of a store, and the types of its columns by their names.
    struct Table: Sendable, CustomTestStringConvertible {
        var name: String
        var columns: [(name: String, type: String)]
        var testDescription: String { name }

        static let all: [Table] = {
            var tables: [String: [(name: String, type: String)]] = [:]
            for column in Migrator.expectedColumns.sorted() where !column.hasSuffix(" unique") {
                let words = column.split(separator: " ", maxSplits: 1).map(String.init)
                let place = words[0].split(separator: ".").map(String.init)
                tables[place[0], default: []].append((place[1], words[1]))
            }
            return tables.sorted { $0.key < $1.key }.map { Table(name: $0.key, columns: $0.value) }
        }()
    }

    /// The largest number that a store writes is 2^53.
    private static let outOfRange = ["9223372036854775807", "9223372036854775806", "-9223372036854775808"]
    private static let emptyBytes = #"'\x'::bytea"#

    private static func values(of type: String) -> [String] {
        switch type {
        case "bigint": outOfRange + ["9007199254740993", "-1", "0", "NULL"]
        case "bigint[]":
            ["'{}'", "'{NULL}'", "'{{1,2},{3,4}}'", "'{9223372036854775807}'", "NULL"].map { "\($0)::bigint[]" }
        case "bytea": [emptyBytes, #"'\x00ff80fe'::bytea"#, "decode(repeat('ff', 100000), 'hex')", "NULL"]
        case "text": ["''", "'x'", "NULL"]
        case "boolean": ["true", "false", "NULL"]
        default: ["'infinity'", "'-infinity'", "'epoch'"].map { "\($0)::timestamptz" }
        }
    }

    /// Whether `verify` must name the value. All rows of the tables with a seal are covered. In the others each possible
    /// value is legal.
    private static func isNamed(_ value: String, in column: String, of table: String) -> Bool {
        switch (table, column) {
        // No bytes are no seams, as NULL is.
        case ("page", "seams"): value != emptyBytes
        case ("query", _), ("page", _), ("body", _), ("journal", _): true
        case (_, "query"), ("access", "body"): true
        case ("access", "used_at"): outOfRange.contains(value)
        case ("tally", "since_stamp"), ("ledger", "lease_token"), ("ledger", "error_retryable"): false
        case ("tally", _), ("ledger", _): outOfRange.contains(value)
        default: false
        }
    }

    private let list = "list"
    private let range = 0..<100

    /// A list with every kind of row: validators, cursors, a failure, a lease, reads, a tally and the progress of a sweep.
    private func fill(_ store: PostgreSQLPageStore) async throws -> QueryID {
        let record = try await store.register(QueryKey(list))
        let failure = FetchFailure(.server, "away", isRetryable: true, httpStatus: 503, retryAfter: .seconds(60))
        let pages = [0, 10, 20].map { start in
            PageWrite(
                offset: start, content: items(start..<start + 10), evidence: .inferred,
                cursorIn: PageCursor("in \(start)"), cursorOut: PageCursor("out \(start)"),
                validator: Validator(request: "r", entityTag: "e", lastModified: "l", coversTotal: true))
        }
        let sweep = SweepProgress(position: 10, cursor: PageCursor("sweep"), startedAt: noon)
        let insertions: [ListEdit] = pages.map { ListEdit.insertPage($0) }
        let description: [ListEdit] = [
            .setTotal(.exact(60)), .setEnd(60), .setResultWindow(50), .validated, .setFreshFor(.seconds(60)),
            .describe(paging: "paging", source: "source"), .setSweep(sweep),
        ]
        let plan = CommitPlan(
            query: record.id, version: record.version, edits: insertions + description,
            ledger: [.succeeded(offset: 0), .failed(offset: 30, failure: failure, nextAttemptIn: .seconds(60))])
        let receipt = try await store.commit(plan, claiming: LeaseRequest([40], for: .seconds(600)))
        try #require(receipt.grant?.leases.count == 1)
        try await store.add(RunTally(beganAt: noon, runs: 1, requests: 3, pagesFetched: 3), to: record.id)
        return record.id
    }

    /// Runs a call. Its only accepted errors are those that name the problem.
    private func named(_ what: String, _ call: () async throws -> Void) async {
        do {
            try await call()
        } catch {
            let codes = [StorageError.Code.damaged, .notFound, .notAStore, .newerSchema]
            let code = (error as? StorageError)?.code
            #expect(code.map { codes.contains($0) } == true, "\(what): \(error)")
        }
    }

    /// Checks that each part of a window has the items of its positions. The list has moved by some positions.
    private func check(_ window: ListWindow?, movedBy distance: Int = 0, _ what: String) {
        for part in window?.parts ?? [] where part.offset >= distance {
            let first = part.offset - distance
            #expect(part.content == items(first..<first + part.content.count), "\(what): wrong bytes")
        }
    }

    private func read(_ store: PostgreSQLPageStore, _ query: QueryID, _ what: String) async {
        await named(what) { check(try await store.window(of: query, range), what) }
        await named(what) { check(try await store.list(of: query) { _ in [0..<15, 15..<90] }?.windows.first, what) }
        for offset in [0, 10, 20] {
            await named(what) {
                let page = try await store.page(at: offset, of: query)
                #expect(page == nil || page?.content == items(offset..<offset + 10), "\(what): wrong bytes")
            }
        }
        await named(what) { _ = try await store.state(of: QueryKey(list)) }
        await named(what) { _ = try await store.outline(of: query) }
        await named(what) { _ = try await store.excerpt(of: query, range) }
        await named(what) { _ = try await store.locate(Set(items(0..<30).identities.map(\.key)), in: query) }
        await named(what) { _ = try await store.damage(of: query, thoroughly: true) }
        await named(what) {
            guard let version = try await store.version(of: query, at: noon) else { return }
            _ = try await store.changes(of: query, since: version, limit: 100)
        }
        await named(what) { _ = try await store.tally(of: query) }
        await named(what) { _ = try await store.due(within: .seconds(600), limit: 100) }
        await named(what) { _ = try await store.summaries() }
        await named(what) { _ = try await store.storedQueries() }
        await named(what) { _ = try await store.statistics() }
        await named(what) { _ = try await store.endedOwners(["x/y"]) }
        await named(what) { _ = try await store.evictionPreview(to: EvictionBudget(bytes: 100), exempt: []) }
    }

    private func write(_ store: PostgreSQLPageStore, _ query: QueryID, _ what: String) async {
        await named(what) {
            let lease = try await store.claim(LeaseRequest([50], for: .seconds(600)), of: query).leases.first
            if let lease { try await store.record([.released(offset: 50, lease: lease.token)], for: query) }
        }
        await named(what) { _ = try await store.heartbeat(.process, for: .seconds(600)) }
        await named(what) { try await store.add(RunTally(runs: 1, requests: 1), to: query) }
        await named(what) {
            guard let version = try await store.outline(of: query)?.record.version else { return }
            let head = PageWrite(offset: 0, content: items(["a", "b", "c"]), evidence: .verified)
            let plan = CommitPlan(query: query, version: version, edits: [.splice(0..<0, head)])
            guard case .committed = try await store.commit(plan) else { return }
            check(try await store.window(of: query, range), movedBy: 3, what)
        }
        await named(what) { _ = try await store.evict(to: EvictionBudget(pagesPerQuery: 1), exempt: []) }
        do { _ = try await store.purge([query]) } catch { Issue.record("\(what): no purge: \(error)") }
    }

    @Test(
        "A value of any column is served as it was stored, or is damage that verify names and a repair removes",
        .timeLimit(.minutes(20)), arguments: Table.all)
    func columns(table: Table) async throws {
        let schema = try Schema()
        var options = schema.options
        options.listensAtOnce = false
        let store = try await PostgreSQLPageStore.open(schema.address, options: options)
        let query = try await fill(store)
        try await schema.run(
            "INSERT INTO \(schema.name).access SELECT query, id, 0 FROM \(schema.name).body ON CONFLICT DO NOTHING")
        #expect(try await store.verify().findings == [])
        for each in Table.all {
            try await schema.run(
                "CREATE TABLE public.\(schema.name)_\(each.name) AS SELECT * FROM \(schema.name).\(each.name)")
        }
        func restore() async throws {
            let statements = Table.all.flatMap { each in
                [
                    "DELETE FROM \(schema.name).\(each.name)",
                    "INSERT INTO \(schema.name).\(each.name) SELECT * FROM public.\(schema.name)_\(each.name)",
                ]
            }
            _ = try await schema.pool.run(statements.map { Statement($0) }, until: .now + .seconds(300))
        }
        /// Sets the value in all rows, or in one where it has to be unique. Returns false where the server refuses it, and
        /// where no row changes.
        func change(_ column: String, _ value: String) async throws -> Bool {
            let name = "\(schema.name).\(table.name)"
            let one = " AND ctid = (SELECT max(ctid) FROM \(name))"
            for part in ["", one] {
                do throws(PostgresError) {
                    let isOther = "\(column) IS DISTINCT FROM \(value)"
                    let change = Statement("UPDATE \(name) SET \(column) = \(value) WHERE \(isOther)\(part)")
                    return try await schema.pool.run([change], until: .now + .seconds(300))[0].affected > 0
                } catch {
                    guard error.sqlstate?.hasPrefix("23") == true else { throw error }
                }
            }
            return false
        }
        for (column, type) in table.columns {
            for value in HostileRowTests.values(of: type) {
                guard try await change(column, value) else { continue }
                let what = "\(table.name).\(column) = \(value)"
                await read(store, query, what)
                let report = try await store.verify()
                if HostileRowTests.isNamed(value, in: column, of: table.name) {
                    #expect(!report.isSound, "\(what): verify names nothing")
                }
                let repaired = try await store.repair()
                #expect(repaired.remaining.findings == [], "\(what): a repair leaves damage")
                await read(store, query, what)
                await named(what) {
                    let again = try await schema.open(.mustExist)
                    await again.close()
                }
                try await restore()
                #expect(try await change(column, value))
                await write(store, query, what)
                try await restore()
            }
        }
        await store.close()
    }
}
#endif
