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
        // Statistics and a rewritten file are no change of the schema.
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
        "An object of another program is named with the statement that removes it, and is no reason to set the store aside",
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

    @Test("A dropped index is damage for a reader, and opening for writing creates it again")
    func droppedIndex() async throws {
        await (try await open()).close()
        try Connection(path: folder.store).execute("DROP INDEX ledger_due; DROP INDEX ledger_failing")
        let error = await #expect(throws: StorageError.self) {
            try await SQLitePageStore.openForTest(at: folder.store, mode: .readOnly)
        }
        #expect(error?.code == .damaged)
        #expect(error?.message.hasSuffix("lacks the index 'ledger_due', the index 'ledger_failing'") == true)
        #expect((error?.cause as? SchemaChange)?.isRepairable == true)
        let store = try await open()
        #expect(try await store.verify().isSound)
        await store.close()
        await (try await SQLitePageStore.openForTest(at: folder.store, mode: .readOnly)).close()
    }

    @Test("A store that lacks a table, or has a changed one, has no remedy that keeps all data")
    func noRemedy() async throws {
        for script in ["DROP TABLE tally", "ALTER TABLE page ADD COLUMN theirs INTEGER"] {
            let folder = Folder()
            await (try await SQLitePageStore.openForTest(at: folder.store, mode: .createIfMissing)).close()
            try Connection(path: folder.store).execute("DROP INDEX ledger_due; \(script)")
            let error = await #expect(throws: StorageError.self) {
                try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
            }
            #expect(error?.code == .notAStore)
            let change = try #require(error?.cause as? SchemaChange)
            #expect(!change.isRepairable && change.removal == nil)
        }
    }

    @Test("A read that needs a table or an index that another program dropped throws `damaged`")
    func droppedByOthers() async throws {
        let store = try await open()
        let ours = try await store.register(QueryKey("ours"), at: noon)
        _ = try await store.summaries()
        _ = try await store.due(within: .zero, limit: 1)
        try Connection(path: folder.store).execute("DROP INDEX ledger_due; DROP TABLE page")
        #expect(await code { try await store.due(within: .zero, limit: 1) } == .damaged)
        #expect(await code { try await store.outline(of: ours.id) } == .damaged)
        await store.close()
    }
}
