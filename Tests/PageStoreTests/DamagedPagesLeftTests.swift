import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Damaged pages that an eviction leaves")
struct DamagedPagesLeftTests {
    @Test(
        "The report of an eviction counts the pages that stay because they, or the record of their query, are damaged",
        arguments: [
            ("SELECT 1", 2, 0), ("UPDATE page SET count = count + 1 WHERE offset = 3", 1, 1),
            ("UPDATE query SET revision = revision + 1", 0, 2),
        ])
    func counted(damage: String, removed: Int, left: Int) async throws {
        let bench = try await Bench()
        for offset in [0, 3] { try await bench.put(offset, items(offset..<offset + 3)) }
        try await bench.store.withWriter { session throws(StorageError) in try session.connection.execute(damage) }
        let report = try await bench.store.evict(to: EvictionBudget(bytes: 0), exempt: [])
        #expect((report.pages, report.pagesDamaged) == (removed, left))
        await bench.store.close()
    }
}
