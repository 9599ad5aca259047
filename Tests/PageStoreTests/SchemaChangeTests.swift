import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("The schema of an open store")
struct SchemaChangeTests {
    private let folder = Folder()

    private func open() async throws -> SQLitePageStore {
        try await SQLitePageStore.openForTest(at: folder.store, mode: .createIfMissing)
    }

    @Test(
        "The next write notices that another program changed the schema, the schema number or the application id",
        arguments: [
            "DROP INDEX ledger_due", "DROP TABLE tally", "CREATE TABLE theirs (a)",
            "CREATE INDEX theirs ON page (bytes)",
            "ALTER TABLE page ADD COLUMN theirs INTEGER", "CREATE VIEW theirs AS SELECT 1",
            "CREATE TRIGGER theirs AFTER INSERT ON page BEGIN DELETE FROM body; END",
            "PRAGMA user_version = 4711", "PRAGMA application_id = 4711",
        ])
    func schemaOfOthers(script: String) async throws {
        let store = try await open()
        let ours = try await store.register(QueryKey("ours"), at: noon)
        let other = try Connection(path: folder.store)
        // Statistics and a rewritten file are not a change of the schema.
        try other.execute("ANALYZE; VACUUM")
        try await store.setPinned(true, ours.id)
        try other.execute(script)
        for _ in 0..<2 { #expect(await code { try await store.setPinned(false, ours.id) } == .damaged) }
        #expect(try await store.records().first?.isPinned == true)
        await store.close()
    }

    @Test("The next write notices that a newer version of this package migrated the store (R8)")
    func migratedByOthers() async throws {
        let store = try await open()
        let ours = try await store.register(QueryKey("ours"), at: noon)
        try Connection(path: folder.store).execute(
            "CREATE TABLE newer (a); PRAGMA user_version = 4711; INSERT INTO migration VALUES (4711, 'n', 'c', 0)")
        #expect(await code { try await store.setPinned(true, ours.id) } == .newerSchema)
        await store.close()
    }

    @Test(
        "An object of another program is named with the statement that removes it, and does not count as damage",
        arguments: [
            ("CREATE TABLE theirs (a PRIMARY KEY)", #"DROP TABLE "theirs""#),
            (#"CREATE TABLE "th""eirs" (a)"#, #"DROP TABLE "th""eirs""#),
            ("CREATE INDEX theirs ON page (bytes)", #"DROP INDEX "theirs""#),
            ("CREATE VIEW theirs AS SELECT 1", #"DROP VIEW "theirs""#),
            (
                "CREATE TRIGGER theirs AFTER INSERT ON page BEGIN DELETE FROM body; END", #"DROP TRIGGER "theirs""#
            ),
        ])
    func named(script: String, removal: String) async throws {
        let store = try await open()
        try Connection(path: folder.store).execute(script)
        let beside = await #expect(throws: StorageError.self) { try await store.register(QueryKey("ours"), at: noon) }
        #expect((beside?.cause as? SchemaChange)?.removal == removal)
        await store.close()
        let error = await #expect(throws: StorageError.self) { try await open() }
        #expect(error?.code == .notAStore)
        #expect(error?.message.contains("eirs', which is not of a pagecache store") == true)
        #expect((error?.cause as? SchemaChange)?.removal == removal)
        #expect(await code { try await SQLitePageStore.isDamaged(at: folder.store) } == .notAStore)
        try Connection(path: folder.store).execute(removal)
        await (try await open()).close()
    }

    @Test("A reader works without a dropped index, verify reports it, and opening for writing creates it again")
    func droppedIndex() async throws {
        let written = try await open()
        let ours = try await written.register(QueryKey("ours"), at: noon)
        _ = try await written.commit(
            CommitPlan(
                query: ours.id, version: ours.version,
                ledger: [.failed(offset: 0, failure: .status(503), nextAttemptIn: .zero)]))
        await written.close()
        try Connection(path: folder.store).execute("DROP INDEX ledger_due; DROP INDEX ledger_failing")
        let reader = try await SQLitePageStore.openForTest(at: folder.store, mode: .readOnly)
        #expect(try await reader.summaries().count == 1)
        #expect(try await reader.isReadable())
        #expect(try await reader.due(within: .seconds(3_600), limit: 9).fetches.map(\.entry.offset) == [0])
        let error = await #expect(throws: StorageError.self) { try await reader.verify() }
        await reader.close()
        #expect(error?.code == .damaged)
        #expect(error?.message.hasSuffix("lacks the index 'ledger_due', the index 'ledger_failing'") == true)
        #expect((error?.cause as? SchemaChange)?.isRepairable == true)
        let store = try await open()
        #expect(try await store.verify().isSound)
        await store.close()
        await (try await SQLitePageStore.openForTest(at: folder.store, mode: .readOnly)).close()
    }

    @Test("Objects of a virtual table are removed with it, and an object that cannot be named has no statement")
    func unnamed() {
        func change(_ objects: [SchemaObject]) -> SchemaChange { SchemaChange(from: [], to: objects) }
        func table(_ name: String, _ sql: String) -> SchemaObject {
            SchemaObject(type: "table", name: name, table: name, sql: sql)
        }
        let virtual = change([
            table("ft", "CREATE VIRTUAL TABLE ft USING fts5(a)"), table("ft_data", "CREATE TABLE 'ft_data'(id)"),
        ])
        #expect(virtual.removal == #"DROP TABLE "ft""#)
        #expect(change([table("x\ny", "CREATE TABLE t (a)")]).removal == nil)
        #expect(change([table("x\ny", "CREATE TABLE t (a)")]).isSalvageable)
        let two = change([table("a", "CREATE TABLE a (a)"), table("b", "CREATE TABLE b (a)")])
        #expect(two.words == "has the table 'a', the table 'b', which are not of a pagecache store")
        #expect(two.removal == #"DROP TABLE "a"; DROP TABLE "b""#)
    }

    @Test(
        "After another program changed or dropped a table, a salvage copies readable rows to a new file and keeps the old one",
        arguments: [
            ("DROP TABLE tally", true), ("DROP TABLE upkeep", true), ("DROP TABLE counter", true),
            ("DROP TABLE access", true), ("DROP TABLE journal", true), ("DROP TABLE migration", true),
            ("DROP TABLE store", true), ("DROP TABLE ledger", true), ("DROP TABLE identity", true),
            ("DROP INDEX ledger_due; CREATE UNIQUE INDEX ledger_due ON ledger (query, offset)", true),
            ("ALTER TABLE page ADD COLUMN theirs INTEGER", true), ("ALTER TABLE query ADD COLUMN theirs TEXT", true),
            ("ALTER TABLE access ADD COLUMN theirs INTEGER DEFAULT 5; CREATE TABLE theirs (a)", true),
            ("ALTER TABLE page RENAME COLUMN offset TO place", true),
            ("ALTER TABLE query RENAME COLUMN scope TO area", true),
            ("ALTER TABLE body RENAME TO bodies", true), ("ALTER TABLE tally RENAME TO \"ta\"\"ll\"", true),
            ("ALTER TABLE body RENAME TO other; ALTER TABLE other RENAME TO body", true),
            ("ALTER TABLE query DROP COLUMN last_audit_at", true),
            ("CREATE TABLE \"x\ny\" (a)", true), ("DROP TABLE body", false), ("DROP TABLE page", false),
        ] as [(String, Bool)])
    func salvaged(script: String, keepsPages: Bool) async throws {
        let bench = try await Bench()
        for offset in [0, 3] { try await bench.put(offset, items(offset..<offset + 3)) }
        let held = try await bench.held
        await bench.store.close()
        let path = bench.folder.store
        try Connection(path: path).execute(script)
        let error = await #expect(throws: StorageError.self) {
            try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
        }
        #expect(error?.code == .notAStore)
        let change = try #require(error?.cause as? SchemaChange)
        #expect(change.isSalvageable)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let report = try await SQLitePageStore.salvage(at: path, from: change)
        #expect(report.remaining.isSound, "\(report.remaining.findings)")
        #expect((report.found.queries, report.found.pages) == (1, 2))
        #expect(report.found.items == (["DROP TABLE page", "DROP TABLE body"].contains(script) ? 0 : 6))
        #expect((report.pagesDropped, report.queriesDropped) == (keepsPages ? 0 : 2, 0))
        let replaced = try #require(report.replacedFile)
        #expect(try Data(contentsOf: URL(fileURLWithPath: replaced)) == before)
        let store = try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
        #expect(try await store.verify().isSound)
        let window = try #require(try await store.window(of: bench.query, 0..<6))
        var after: [Int: String] = [:]
        for part in window.parts {
            for index in 0..<part.content.count { after[part.offset + index] = part.content.ids[index] }
        }
        #expect(after == (keepsPages ? held : [:]))
        await store.close()
    }

    @Test(
        "A store of an earlier build is named as one, is not set aside, and its file does not change",
        arguments: [1, 2])
    func earlierBuild(schema: Int) async throws {
        let bench = try await Bench()
        await bench.store.close()
        let path = bench.folder.store
        try Connection(path: path).execute(
            """
            ALTER TABLE query DROP COLUMN last_audit_at; PRAGMA user_version = \(schema);
            UPDATE migration SET checksum = 'b26c6c0d2c17ceb1'; PRAGMA wal_checkpoint(TRUNCATE)
            """)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        for mode in [SQLitePageStore.Mode.readOnly, .mustExist] {
            let error = await #expect(throws: StorageError.self) {
                try await SQLitePageStore.openForTest(at: path, mode: mode)
            }
            #expect(error?.code == .notAStore)
            #expect(error?.cause is EarlierBuild)
            #expect(error?.message.contains("was made by an earlier build of pagecache") == true)
        }
        #expect(await code { try await SQLitePageStore.isDamaged(at: path) } == .notAStore)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test("A read that needs a table that another program dropped throws `damaged`")
    func droppedByOthers() async throws {
        let store = try await open()
        let ours = try await store.register(QueryKey("ours"), at: noon)
        _ = try await store.summaries()
        _ = try await store.due(within: .zero, limit: 1)
        try Connection(path: folder.store).execute("DROP INDEX ledger_due; DROP TABLE page")
        _ = try await store.due(within: .zero, limit: 1)
        #expect(await code { try await store.outline(of: ours.id) } == .damaged)
        await store.close()
    }
}
