import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PageStore
#if PostgreSQL
import PostgresPageStore
#endif

/// The repair of a damaged list, by every storage that can be damaged.
@Suite("The repair of a storage")
struct RepairTests {
    /// Runs a statement on the tables of a storage. `@` stands before the name of a table.
    private func run(_ statement: String, _ kind: StorageKind, _ folder: Folder) async throws {
        switch kind {
        case .memory: break
        case .sqlite: try Connection(path: folder.store).execute(statement.replacing("@", with: ""))
        case .postgres, .postgresCopied:
            #if PostgreSQL
            let pool = try PostgresPool(TestServer.connectionString ?? "", connections: 1)
            // `PageStore` has a type of this name, too.
            let change = PostgresPageStore.Statement(statement.replacing("@", with: "\(folder.schema)."))
            _ = try await pool.run([change], until: .now + .seconds(300))
            await pool.close()
            #else
            break
            #endif
        }
    }

    private func repair(_ store: any PageStorage) async throws -> RepairReport {
        #if PostgreSQL
        if let store = store as? PostgreSQLPageStore { return try await store.repair() }
        #endif
        let store = try #require(store as? SQLitePageStore)
        return try await store.repair()
    }

    @Test(
        "A repair raises the revision, so that a plan made before it is superseded (R4)",
        arguments: StorageKind.durable,
        [
            "UPDATE @page SET validated_at = validated_at + 1 WHERE count = 9",
            "UPDATE @query SET created_at = created_at + 1",
        ])
    func revision(kind: StorageKind, damage: String) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<10))
        try await bench.put(10, items(10..<19))
        try await bench.put(19, items(19..<30))
        // The revision of the list is now higher than that of each page.
        for _ in 0..<2 { try await bench.commit([.truncate(at: 100)]) }
        let before = try await bench.list.record.version
        #expect(before == ListVersion(generation: 1, revision: 2))
        try await run(damage, kind, bench.folder)

        let report = try await repair(bench.store)
        #expect(report.remaining.isSound, "\(report.remaining.findings)")
        let after = try await bench.list.record.version
        #expect(after.generation == before.generation && after.revision > before.revision)
        let plan = CommitPlan(
            query: bench.query, version: before,
            edits: [.insertPage(PageWrite(offset: 30, content: items(30..<40), evidence: .inferred))])
        #expect(try await bench.store.commit(plan) == .superseded(after))
        // The pages are held as before, and a gap that the repair made is due.
        let gaps = damage.contains("@page") ? [10..<19] : []
        #expect(try await bench.list.gaps == gaps)
        #expect(try await bench.store.due(before: noon, limit: 9).map(\.entry.offset) == gaps.map(\.lowerBound))
    }

    @Test("A rebuilt record is stale, and as old as its page one", arguments: StorageKind.durable)
    func rebuilt(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<10))
        try await bench.put(10, items(10..<19), at: noon + .seconds(5))
        try await bench.commit([.validated, .setTotal(.exact(19)), .setEnd(19)], at: noon + .seconds(5))
        try await run("UPDATE @query SET created_at = created_at + 1", kind, bench.folder)
        bench.clock.set(to: noon + .seconds(60))
        #expect(try await repair(bench.store).remaining.isSound)
        let record = try await bench.list.record
        #expect(record.validatedAt == noon && record.createdAt == noon)
        #expect(record.isInvalidated && record.isDescriptionLost)
        #expect((record.total, record.end) == (.unknown, nil))
        #expect(try await bench.held.count == 19)
    }
}
