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
