import Foundation
import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PageStore

@Suite("Damaged stores")
struct DamageTests {
    @Test("A page with damaged bytes counts as missing, and the pages around it are served")
    func oneBody() async throws {
        let bench = try await Bench()
        for start in [0, 3, 6] { try await bench.put(start, items(start..<start + 3)) }
        try Connection(path: bench.folder.store).execute(
            "UPDATE body SET payload = zeroblob(length(payload)) WHERE id = (SELECT body FROM page WHERE offset = 3)")
        let window = try #require(try await bench.store.window(of: bench.query, 0..<9))
        #expect(window.parts.map(\.range) == [0..<3, 6..<9])
        #expect(window.damaged == [3..<6])
        #expect(window.missing == [3..<6])
    }

    @Test("Each line of SQLite's report is a problem of its own, without the name of the database")
    func reportLines() {
        #expect(
            IntegrityReport.problems(in: "*** in database main ***\nTree 4 page 4: never used\nPage 7: never used")
                == ["Tree 4 page 4: never used", "Page 7: never used"])
        #expect(IntegrityReport.problems(in: "row 3 missing from index due") == ["row 3 missing from index due"])
        #expect(IntegrityReport.problems(in: "*** in database main ***") == ["*** in database main ***"])
    }

    @Test("A body that is stored under another page is reported as damaged")
    func swapped() async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        try await bench.put(3, items(3..<6))
        let connection = try Connection(path: bench.folder.store)
        try connection.execute(
            """
            UPDATE body SET id = id + 100;
            UPDATE body SET id = CASE id WHEN 101 THEN 2 ELSE 1 END
            """)
        #expect(try await bench.store.window(of: bench.query, 0..<6)?.damaged == [0..<3, 3..<6])
    }

    @Test(
        "A page record with a changed value in any column is rejected, verify finds it, and repair turns it into a gap",
        arguments: [
            "offset = 4", "count = 2", "body = 1", "checksum = 1", "bytes = 1", "generation = 0", "revision = 7",
            "evidence = 'verified'", "evidence_at = 1", "seams = x'00'", "fetched_at = 1", "validated_at = 1",
            "fingerprint = 1", "cursor_in = 'x'", "cursor_out = ''", "request = 'r'", "entity_tag = 'e'",
            "last_modified = 'l'", "covers_total = 1", "seal = 1",
        ])
    func everyColumn(assignment: String) async throws {
        let bench = try await Bench()
        for start in [0, 3, 6] { try await bench.put(start, items(start..<start + 3)) }
        try await bench.commit([.setTotal(.exact(9))], ledger: [.succeeded(offset: 3)])
        try Connection(path: bench.folder.store).execute("UPDATE page SET \(assignment) WHERE offset = 3")
        #expect(try await bench.store.window(of: bench.query, 0..<9)?.missing == [3..<6])
        #expect(try await bench.store.verify().findings.contains { $0.kind == .page })
        let repair = try await bench.store.repair(at: noon)
        #expect(repair.remaining.isSound, "\(repair.remaining.findings)")
        #expect(repair.pagesDropped == 1)
        let list = try await bench.list
        #expect(list.gaps == [3..<6])
        #expect(try await bench.store.due(before: noon, limit: 9).map(\.entry.offset) == [3])
        // The list accepts new pages in the gap.
        #expect(try await bench.put(3, items(3..<6)) == .committed(list.record.version))
        #expect(try await bench.held.count == 9)
        #expect(try await bench.store.verify().isSound)
    }

    @Test(
        "A query record with a changed value is refused, and repair rebuilds the record or drops it with its pages",
        arguments: [
            ("generation = 2", true), ("revision = 7", true), ("total = 8", true), ("list_end = 3", true),
            ("created_at = 1", true), ("validated_at = 1", true), ("allows_duplicates = 1", true),
            ("paging = 'x'", true),
            ("invalidated_at = 1", true), ("fresh_for = 1", true), ("origin_window = 0", true),
            ("origin_window = 9007199254740992", true), ("last_audit_at = 1", true),
            ("unproven = 1", true), ("unproven = 2", true),
            ("source = 'x'", true), ("sweep_position = 1, sweep_started_at = 1", true), ("pinned = 1", true),
            ("seal = 1", true), ("key = 'x'", false), ("scope = 'x'", false), ("name_hash = 1", false),
        ])
    func everyQueryColumn(assignment: String, keeps: Bool) async throws {
        let bench = try await Bench()
        for start in [0, 3] { try await bench.put(start, items(start..<start + 3)) }
        try await bench.commit([.setTotal(.exact(6))])
        try Connection(path: bench.folder.store).execute("UPDATE query SET \(assignment)")
        await #expect(throws: StorageError.self) { try await bench.store.outline(of: bench.query) }
        #expect(try await bench.store.verify().findings.map(\.kind).contains(.query))
        let repair = try await bench.store.repair(at: noon)
        #expect(repair.remaining.isSound, "\(repair.remaining.findings)")
        #expect(repair.queriesDropped == (keeps ? 0 : 1))
        let list = try await bench.store.outline(of: bench.query)
        #expect(list?.coverage.count == (keeps ? 6 : nil))
        guard let record = list?.record else { return }
        // Any value of the record may be the damaged one. The repair therefore keeps only values that the pages prove.
        // It also keeps the pin, because a wrong pin removes nothing.
        #expect(record.key == QueryKey("https://example.com/list"))
        #expect((record.total, record.end, record.resultWindow) == (.unknown, nil, nil))
        #expect((record.freshFor, record.sweep, record.lastAuditAt) == (nil, nil, nil))
        #expect(record.isInvalidated)
        #expect(!record.allowsDuplicates && record.isPinned == (assignment == "pinned = 1"))
        #expect(record.source == "")
    }

    @Test(
        "An impossible number of attempts is a finding, and the next attempt does not overflow",
        arguments: [Int64.max, 1 << 52 + 1, .min])
    func attempts(forged: Int64) async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        try await bench.commit(
            [],
            ledger: [.failed(offset: 3, failure: FetchFailure(.server, "m", isRetryable: true), nextAttemptIn: .zero)])
        let connection = try Connection(path: bench.folder.store)
        try connection.execute("UPDATE ledger SET attempts = \(forged)")
        #expect(try await bench.store.verify().findings.map(\.kind) == [.ledger])
        #expect(try await bench.store.claim(LeaseRequest([3], for: .seconds(60)), of: bench.query).leases.count == 1)
        #expect(
            StoredBounds.counters.contains(Int(try #require(try connection.number(SQL("SELECT attempts FROM ledger")))))
        )
    }

    @Test("A row that breaks a constraint and a header that SQLite does not know are reported as damage")
    func meaning() async throws {
        let bench = try await Bench()
        for statement in [
            "INSERT INTO store (id, seal, stamp) VALUES (1, 1, 1)",
            "INSERT INTO body (id, layout, payload) VALUES ('x', x'', x'')",
            "INSERT INTO query (id) VALUES ('x')",
        ] {
            do throws(StorageError) {
                try Connection(path: bench.folder.store).execute(statement)
                Issue.record("the statement succeeded: \(statement)")
            } catch {
                #expect(error.code == .damaged, "\(statement): \(error)")
            }
        }
        await bench.store.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: bench.folder.store))
        // This byte is the schema format (https://www.sqlite.org/fileformat2.html#the_database_header).
        bytes[47] = 5
        try bytes.write(to: URL(fileURLWithPath: bench.folder.store))
        do throws(StorageError) {
            let store = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .mustExist)
            await store.close()
            Issue.record("the store opened")
        } catch {
            #expect(error.code == .damaged, "\(error)")
        }
    }

    @Test("Repair rebuilds wrong item hashes, and until then lookups compare the items themselves")
    func identities() async throws {
        let bench = try await Bench()
        for start in [0, 3] { try await bench.put(start, items(start..<start + 3)) }
        try Connection(path: bench.folder.store).execute("UPDATE identity SET hashes = zeroblob(48) WHERE body = 2")
        let key = ItemIdentity.key(ofID: "i4")
        #expect(try await bench.store.locate([key], in: bench.query)[key]?.position == 4)
        #expect(try await bench.store.verify().findings.map(\.kind) == [.identity])
        #expect(try await bench.put(6, items(["i4"])) == .duplicates([3..<6]))
        let repair = try await bench.store.repair(at: noon)
        #expect(repair.remaining.isSound)
        #expect(repair.repaired == 1)
        #expect(repair.pagesDropped == 0)
    }

    @Test("Verify finds overlapping pages, and rows that no list refers to")
    func rules() async throws {
        let bench = try await Bench()
        for start in [0, 3, 6] { try await bench.put(start, items(start..<start + 3)) }
        #expect(try await bench.store.verify().isSound)
        let connection = try Connection(path: bench.folder.store)
        try RowChecksum.define(in: connection)
        // The crafted row has a valid seal. A seal shows that the store wrote the row, and not that the row is right.
        try connection.execute(
            """
            UPDATE page SET offset = 2, seal = page_seal(
                query, 2, count, body, checksum, bytes, generation, revision, evidence, evidence_at, seams, fetched_at,
                validated_at, fingerprint, cursor_in, cursor_out, request, entity_tag, last_modified, covers_total)
            WHERE offset = 3;
            INSERT INTO body (layout, payload) VALUES (x'01', x'');
            INSERT INTO ledger (query, offset, state, attempts) VALUES (77, 0, 'ok', 1)
            """)
        let kinds = try await bench.store.verify().findings.map(\.kind)
        #expect(Set(kinds) == [.overlap, .orphan])
        let repair = try await bench.store.repair(at: noon)
        #expect(repair.remaining.isSound, "\(repair.remaining.findings)")
        #expect(repair.pagesDropped == 1)
        #expect(try await bench.held.keys.sorted() == [0, 1, 2, 6, 7, 8])
    }
}

@Suite("Setting a store aside")
struct QuarantineTests {
    @Test(
        "A file that SQLite cannot read is refused and kept, and is renamed only on request; then a new store can be made"
    )
    func aside() async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        let path = bench.folder.store
        #expect(throws: StorageError.self) { try SQLitePageStore.setAside(at: path, now: noon) }
        await bench.store.close()
        // The first page of the file stays intact. All pages after it are overwritten.
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes.replaceSubrange(4_096..., with: Data(repeating: 0xa5, count: bytes.count - 4_096))
        try bytes.write(to: URL(fileURLWithPath: path))
        do throws(StorageError) {
            let store = try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
            #expect(try await !store.verify().isSound)
            await store.close()
        } catch {
            #expect(error.code == .damaged, "\(error)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == bytes.count)
        let old = "\(path).corrupt-20270115T080000Z-wal"
        try Data("an old log".utf8).write(to: URL(fileURLWithPath: old))
        #expect(throws: StorageError.self) { try SQLitePageStore.setAside(at: path, now: noon) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == bytes.count)
        try FileManager.default.removeItem(atPath: old)
        let target = try SQLitePageStore.setAside(at: path, now: noon)
        #expect(target.hasSuffix("store.sqlite.corrupt-20270115T080000Z"))
        #expect(FileManager.default.fileExists(atPath: target))
        await #expect(throws: StorageError.self) { try await SQLitePageStore.openForTest(at: path, mode: .mustExist) }
        let anew = try await SQLitePageStore.openForTest(at: path, mode: .createIfMissing)
        #expect(try await anew.summaries().isEmpty)
    }
}

@Suite("Purging")
struct PurgeTests {
    @Test("A purge removes a query, its pages, its ledger and its bytes in the file, and keeps the other queries")
    func purge() async throws {
        let bench = try await Bench()
        let secret = "purge-me-\(UUID().uuidString)"
        let other = try await bench.store.register(QueryKey("other"), at: noon)
        _ = try await bench.store.commit(
            CommitPlan(
                query: other.id, version: other.version,
                edits: [.insertPage(PageWrite(offset: 0, content: items(0..<5), evidence: .inferred))]))
        try await bench.put(0, items((0..<200).map { "\(secret)-\($0)" }))
        try await bench.commit([], ledger: [.succeeded(offset: 0)])
        func holdsSecret(_ suffix: String) -> Bool {
            let bytes = (try? Data(contentsOf: URL(fileURLWithPath: bench.folder.store + suffix))) ?? Data()
            return bytes.range(of: Data(secret.utf8)) != nil
        }
        #expect(holdsSecret("") || holdsSecret("-wal"))
        let report = try await bench.store.purge([bench.query, QueryID(rawValue: 999)])
        #expect(report.queries == 1)
        #expect(report.pages == 1)
        #expect(report.bytes > 200 * secret.utf8.count)
        #expect(try await bench.store.outline(of: bench.query) == nil)
        #expect(try await bench.store.outline(of: other.id)?.coverage.count == 5)
        for suffix in ["", "-wal"] { #expect(!holdsSecret(suffix), "the secret is still in the store\(suffix)") }
    }

    @Test("The sums over page records with forged numbers do not overflow (R46)")
    func forgedSizes() async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        let connection = try Connection(path: bench.folder.store)
        try RowChecksum.define(in: connection)
        let sealed = PageTable.columns.replacingOccurrences(of: ", seal", with: "")
        try connection.execute(
            """
            WITH RECURSIVE forged(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM forged WHERE at < 1025)
            INSERT INTO page (query, \(PageTable.columns)) SELECT
                query, at, 9007199254740992 - at, body, checksum, 9007199254740992, generation, revision, evidence,
                evidence_at, seams, fetched_at, validated_at, fingerprint, cursor_in, cursor_out, request, entity_tag,
                last_modified, covers_total, 0
            FROM page, forged WHERE offset = 0;
            UPDATE page SET seal = page_seal(query, \(sealed))
            """)
        #expect(try await !bench.store.verify().isSound)
        #expect(try await bench.store.statistics().items >= 3)
        #expect(try await bench.store.repair(at: noon).remaining.isSound)
        #expect(try await bench.held.count == 3)
    }

    @Test("The sums over lists with forged numbers do not overflow (R46)")
    func forgedLists() async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        for number in 0..<1_024 { _ = try await bench.store.register(QueryKey("\(number)"), at: noon) }
        try Connection(path: bench.folder.store).execute(
            """
            INSERT INTO tally SELECT
                id, 0, 1, 0, 9007199254740992, 9007199254740992, 9007199254740992, 9007199254740992, 0, 0
            FROM query;
            INSERT OR REPLACE INTO page (query, \(PageTable.columns)) SELECT
                query.id, offset, count, body, checksum, 9007199254740992, page.generation, page.revision, evidence,
                evidence_at, seams, fetched_at, page.validated_at, fingerprint, cursor_in, cursor_out, request,
                entity_tag, last_modified, covers_total, page.seal
            FROM page, query WHERE page.query = \(bench.query.rawValue)
            """)
        let statistics = try await bench.store.statistics()
        #expect(statistics.requestsSaved == .max && statistics.tally.requestsSaved == .max)
        let report = try await bench.store.purge(try await bench.store.records().map(\.id))
        #expect(report.queries == 1_025)
        #expect(report.bytes == 1_025 << 32)
    }
}
