import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Ids of lists")
struct QueryNumberTests {
    @Test(
        "A new list gets an unused id and no pages, although the record and the id sequence of another list were lost",
        arguments: ["page", "identity", "ledger", "journal", "tally"])
    func orphans(stay table: String) async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<3))
        try await bench.commit([], ledger: [.succeeded(offset: 0)])
        try await bench.store.add(RunTally(beganAt: noon, runs: 1, requests: 1), to: bench.query, at: noon)
        let lost = ["page", "identity", "ledger", "journal", "tally"].filter { $0 != table }
        try Connection(path: bench.folder.store).execute(
            (["query", "sqlite_sequence"] + lost).map { "DELETE FROM \($0);" }.joined())
        let other = try await bench.store.register(QueryKey("other"), at: noon)
        #expect(other.id.rawValue > bench.query.rawValue)
        #expect(try await bench.store.outline(of: other.id)?.pages.isEmpty == true)
    }

    @Test("An impossible id in a table is ignored, and the next list gets the id after the last one")
    func impossible() async throws {
        let bench = try await Bench()
        try Connection(path: bench.folder.store).execute(
            "INSERT INTO ledger (query, offset, state, attempts) VALUES (9223372036854775807, 0, 'ok', 1)")
        #expect(try await bench.store.register(QueryKey("other"), at: noon).id.rawValue == bench.query.rawValue + 1)
    }

    @Test("A new list gets a very large id when the end of a table cannot be read")
    func unreadable() async throws {
        let tree = try await DamagedTree(pages: 60)
        try tree.damage([try #require(try tree.leaves(of: "page").last)])
        let store = try await tree.open()
        let other = try await store.register(QueryKey("other"), at: noon)
        #expect(other.id.rawValue >= 1 << 40)
        #expect(try await store.outline(of: other.id)?.pages.isEmpty == true)
        await store.close()
    }
}
