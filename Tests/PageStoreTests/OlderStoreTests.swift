import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// A store of an older schema is migrated in place (R8).
@Suite("Stores of an older schema")
struct OlderStoreTests {
    /// Creates a store of schema 1, text for text, with one list.
    private func makeOld() async throws -> (bench: Bench<SQLitePageStore>, record: QueryRecord) {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        try await bench.commit([.setTotal(.exact(9)), .setResultWindow(3), .validated])
        let record = try await bench.list.record
        await bench.store.close()
        let connection = try Connection(path: bench.folder.store)
        try connection.execute(
            """
            BEGIN; ALTER TABLE query DROP COLUMN last_audit_at; DELETE FROM migration WHERE version > 1;
            PRAGMA user_version = 1; COMMIT
            """)
        return (bench, record)
    }

    @Test("A store of schema 1 keeps its lists, and knows of no audit until the next one (R54)")
    func migrated() async throws {
        let (bench, record) = try await makeOld()
        await #expect(throws: StorageError.self) {
            try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .readOnly)
        }
        var store = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        #expect(try await store.query(record.key) == record)
        #expect(record.lastAuditAt == nil)
        #expect(try await store.window(of: record.id, 0..<3)?.parts.count == 1)
        #expect(try await store.verify().isSound)
        #expect(try await store.statistics().schema == Migration.newest)
        let plan = CommitPlan(query: record.id, version: record.version, edits: [.audited])
        #expect(try await store.commit(plan, at: noon + .seconds(9)) == .committed(record.version))
        await store.close()
        store = try await SQLitePageStore.openForTest(at: bench.folder.store, mode: .mustExist)
        #expect(try await store.query(record.key)?.lastAuditAt == noon + .seconds(9))
        #expect(try await store.verify().isSound)
        await store.close()
    }

    @Test("An audit that was removed from its row is damage, although rows of schema 1 have none")
    func removed() async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        try await bench.commit([.audited])
        #expect(try await bench.list.record.lastAuditAt == noon)
        try Connection(path: bench.folder.store).execute("UPDATE query SET last_audit_at = NULL")
        await #expect(throws: StorageError.self) { try await bench.store.outline(of: bench.query) }
        #expect(try await bench.store.verify().findings.map(\.kind).contains(.query))
    }
}
