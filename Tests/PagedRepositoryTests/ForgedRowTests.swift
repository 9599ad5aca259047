import Foundation
import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PageStore

/// Rows with forged numbers and valid seals must not break reads, runs or repair (R46).
@Suite("Forged numbers in rows")
struct ForgedRowTests {
    private static let extremes: [Int64] = [.min, -1, 0, 1, 1 << 53 - 1, 1 << 53, 1 << 53 + 1, .max - 1, .max]
    /// Columns in which any number is possible. A hash may be any number, and a row with a forged key is an unreachable
    /// row.
    private static let anything: Set<String> = [
        "page.query", "page.body", "page.checksum", "page.fingerprint", "query.id", "query.name_hash", "identity.query",
        "identity.body",
        "body.id", "access.body", "ledger.query", "ledger.lease_token", "tally.query", "tally.since_stamp",
        "migration.version",
    ]

    private static func isPossible(_ value: Int64, in column: String) -> Bool {
        if column.hasSuffix("_at") || column.hasSuffix("_until") { return StoredBounds.milliseconds.contains(value) }
        return switch column.split(separator: ".").last {
        case "generation", "revision", "attempts": StoredBounds.counters.contains(Int(value))
        case "pinned", "allows_duplicates", "covers_total", "error_retryable": StoredBounds.flags.contains(Int(value))
        case "value": CounterTable.counts.contains(value)
        case "http_status": StoredBounds.statuses.contains(Int(value))
        case "fresh_for": (0...365 * 86_400_000).contains(value)
        default: StoredBounds.positions.contains(Int(value))
        }
    }

    /// Creates a store with a value in every column.
    private static func makeStore(at path: String) async throws {
        let store = try await SQLitePageStore.openForTest(at: path)
        let query = try await store.register(QueryKey("list"), at: noon).id
        let version = ListVersion(generation: 1, revision: 0)
        let pages = [0, 10, 20].map { start in
            ListEdit.insertPage(
                PageWrite(
                    offset: start, content: named(start..<start + 10), evidence: .inferred,
                    validator: Validator(request: "r", entityTag: "e", lastModified: nil, coversTotal: true)))
        }
        let outcome = try await store.commit(
            CommitPlan(
                query: query, version: version,
                edits: pages + [
                    .setTotal(.exact(30)), .setEnd(30), .validated, .setFreshFor(.seconds(60)),
                    .setSweep(SweepProgress(position: 10, startedAt: noon)), .invalidated, .audited,
                ],
                ledger: [
                    .succeeded(offset: 0),
                    .failed(
                        offset: 10,
                        failure: FetchFailure(
                            .server, "m", isRetryable: true, httpStatus: 500, retryAfter: .seconds(5)),
                        nextAttemptIn: .zero),
                ]))
        try #require(outcome == .committed(version))
        _ = try await store.claim(LeaseRequest([10], for: .seconds(60)), of: query)
        try await store.add(RunTally(beganAt: noon, runs: 1, requests: 1), to: query, at: noon)
        _ = try await store.window(of: query, 0..<30)
        await store.close()
    }

    /// Every integer column of every table, except the seals.
    private static func columns(of connection: Connection) throws -> [(table: String, column: String)] {
        var columns: [(String, String)] = []
        try connection.each(
            SQL(
                """
                SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
                WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = 'INTEGER' AND c.name <> 'seal'
                """)
        ) { row throws(StorageError) in columns.append((row.text(0), row.text(1))) }
        return columns
    }

    private static func forge(_ table: String, _ column: String, _ value: Int64, in path: String) throws {
        let connection = try Connection(path: path)
        try RowChecksum.define(in: connection)
        try connection.execute("PRAGMA ignore_check_constraints = ON")
        // The update changes one row of each table, because several rows with the same key would be refused.
        let conditions = [
            "page": "offset = 10", "ledger": "offset = 10", "body": "id = 2", "identity": "body = 2",
            "access": "body = 2",
        ]
        let condition = conditions[table] ?? "1"
        try connection.execute("UPDATE OR IGNORE \(table) SET \(column) = \(value) WHERE \(condition)")
        switch table {
        case "page":
            let sealed = PageTable.columns.replacingOccurrences(of: ", seal", with: "")
            try connection.execute("UPDATE page SET seal = page_seal(query, \(sealed))")
        case "query":
            let count = QueryTable.sealed.split(separator: ",").count - 1
            var seal = RowChecksum(RowChecksum.query)
            try connection.each(SQL("SELECT \(QueryTable.sealed) FROM query AS q")) { row throws(StorageError) in
                row.mix(count, into: &seal)
            }
            try connection.run(SQL("UPDATE query SET seal = ?"), .hash(seal.value))
        default:
            break
        }
    }

    /// Runs a read, which either succeeds or throws `StorageError` with the code `damaged`.
    private static func tolerating(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let error as StorageError where error.code == .damaged {}
    }

    private static func readEverything(_ store: SQLitePageStore) async throws {
        let all = 0..<Int.max
        for query in [QueryID(rawValue: 1), QueryID(rawValue: .max), QueryID(rawValue: .min)] {
            try await tolerating { _ = try await store.outline(of: query)?.gaps }
            try await tolerating { _ = try await store.excerpt(of: query, all) }
            try await tolerating { _ = try await store.window(of: query, all) }
            try await tolerating { _ = try await store.list(of: query) { [0..<max($0.length, 30)] } }
            try await tolerating { _ = try await store.page(at: 10, of: query) }
            try await tolerating { _ = try await store.locate([ItemIdentity.key(ofID: "i11")], in: query) }
            try await tolerating { _ = try await store.damage(of: query, thoroughly: true) }
        }
        try await tolerating { _ = try await store.query(QueryKey("list")) }
        try await tolerating { _ = try await store.records() }
        try await tolerating { _ = try await store.summaries() }
        try await tolerating { _ = try await store.damagedQueries() }
        try await tolerating { _ = try await store.due(before: Timestamp(milliseconds: .max), limit: 9) }
        try await tolerating {
            let statistics = try await store.statistics()
            _ = (statistics.tally, statistics.items, statistics.bytes)
        }
        try await tolerating {
            _ = try await store.evictionPreview(to: EvictionBudget(bytes: 1, age: .zero, pagesPerQuery: 1), exempt: [])
        }
    }

    @Test(
        "With any number in any column, reads and runs end, verify finds impossible numbers, and repair leaves a sound store"
    )
    func everyColumn() async throws {
        let model = Folder()
        try await Self.makeStore(at: model.store)
        var cases = 0
        for (table, column) in try Self.columns(of: Connection(path: model.store)) {
            for value in Self.extremes {
                let name = "\(table).\(column)"
                let what: Comment = "\(name) = \(value)"
                let folder = Folder()
                try FileManager.default.copyItem(atPath: model.store, toPath: folder.store)
                try Self.forge(table, column, value, in: folder.store)
                cases += 1
                let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
                try await Self.readEverything(store)
                let report = try await store.verify()
                if !Self.anything.contains(name), !Self.isPossible(value, in: name) { #expect(!report.isSound, what) }

                // A run on an unrepaired copy stores as much as it can.
                let other = Folder()
                try FileManager.default.copyItem(atPath: model.store, toPath: other.store)
                try Self.forge(table, column, value, in: other.store)
                let forged = try await SQLitePageStore.openForTest(at: other.store, mode: .mustExist)
                for work in [SyncOptions.Work.everything, .sweep, .next] {
                    var options = SyncOptions()
                    options.work = work
                    options.pageSize = 10
                    options.retryWaitBudget = .zero
                    options.confirmationPause = .zero
                    options.emptyConfirmationPause = .zero
                    let origin = ListOrigin((0..<40).map { "i\($0)" })
                    try await Self.tolerating {
                        _ = try await ListSync(
                            storage: forged, source: origin, key: QueryKey("list"), options: options,
                            clock: forged.manualClock,
                            jitter: { 0.5 }
                        ).run()
                    }
                    #expect(origin.requests.count < 100, what)
                }
                await forged.close()

                if !report.isSound {
                    let repair = try await store.repair(at: noon)
                    #expect(repair.remaining.isSound, "\(what): \(repair.remaining.findings)")
                }
                await store.close()
            }
        }
        #expect(cases >= 9 * 50)
    }
}
