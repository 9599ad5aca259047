import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Names of lists")
struct QueryNameTests {
    /// Creates lists of 40 items each. The id of each item names its list.
    private func makeLists(_ count: Int) async throws -> (Folder, [QueryID]) {
        let folder = Folder()
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        var queries: [QueryID] = []
        for list in 0..<count {
            let query = try await store.register(QueryKey("list-\(list)"), at: noon)
            for start in [0, 20] {
                let content = PageContent(
                    (start..<start + 20).map { RawItem(payload: Array("\(list):\($0)".utf8), id: "\(list):\($0)") })
                _ = try await store.commit(
                    CommitPlan(
                        query: query.id, version: query.version,
                        edits: [
                            .insertPage(PageWrite(offset: start, content: content, evidence: .inferred)), .validated,
                        ]))
            }
            queries.append(query.id)
        }
        await store.close()
        return (folder, queries)
    }

    /// Returns the items of a list. `nil` means that the list is missing or was never validated.
    private func items(of list: Int, in path: String) async throws -> [String]? {
        let store = try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
        var found: [String]?
        if let record = try await store.query(QueryKey("list-\(list)")), record.validatedAt != nil {
            found = try await store.window(of: record.id, 0..<40)?.parts.flatMap { $0.content.ids.compactMap { $0 } }
        }
        await store.close()
        return found
    }

    private func repair(_ path: String) async throws -> RepairReport {
        let store = try await SQLitePageStore.openForTest(at: path, mode: .mustExist)
        let report = try await store.repair(at: noon)
        await store.close()
        #expect(report.remaining.isSound, "\(report.remaining.findings)")
        return report
    }

    private func expectedItems(_ list: Int) -> [String] { (0..<40).map { "\(list):\($0)" } }

    @Test("Repair drops records with exchanged ids, and gives neither the pages of the other")
    func exchangedIDs() async throws {
        let (folder, queries) = try await makeLists(3)
        let (first, second) = (queries[0].rawValue, queries[1].rawValue)
        try Connection(path: folder.store).execute(
            "UPDATE query SET id = 99 WHERE id = \(first); UPDATE query SET id = \(first) WHERE id = \(second); UPDATE query SET id = \(second) WHERE id = 99"
        )
        #expect(try await repair(folder.store).queriesDropped == 2)
        for list in 0..<2 { #expect(try await items(of: list, in: folder.store) == nil) }
        #expect(try await items(of: 2, in: folder.store) == expectedItems(2))
    }

    @Test("Repair of a damaged index of names drops no list", arguments: 1..<4)
    func damagedIndex(cell: Int) async throws {
        let (folder, _) = try await makeLists(4)
        let tree = DamagedTree(at: folder)
        try tree.repeatCell(cell, of: try #require(try tree.leaves(of: "sqlite_autoindex_query_1").first))
        #expect(try await repair(folder.store).queriesDropped == 0)
        for list in 0..<4 { #expect(try await items(of: list, in: folder.store) == expectedItems(list)) }
    }

    @Test("A store whose index of names lacks a list registers no list, because that list could get a second record")
    func missingInIndex() async throws {
        let (folder, _) = try await makeLists(4)
        let tree = DamagedTree(at: folder)
        try tree.repeatCell(2, of: try #require(try tree.leaves(of: "sqlite_autoindex_query_1").first))
        let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
        for name in ["list-2", "new"] {
            do throws(StorageError) {
                _ = try await store.register(QueryKey(name), at: noon)
                Issue.record("\(name) was registered")
            } catch {
                #expect(error.code == .damaged, "\(error)")
            }
        }
        await store.close()
        #expect(try Connection(path: folder.store).number(SQL("SELECT count(*) FROM query NOT INDEXED")) == 4)
    }

    @Test(
        "Repair keeps the older of two intact records with one name, and otherwise the intact one",
        arguments: [false, true])
    func namesakes(isOlderBroken: Bool) async throws {
        let (folder, queries) = try await makeLists(2)
        do {
            let connection = try Connection(path: folder.store)
            var record = try #require(try QueryTable.find(queries[1], in: connection))
            record.key = QueryKey("list-0")
            try QueryTable.save(record, in: connection)
            if isOlderBroken { try connection.execute("UPDATE query SET seal = 1 WHERE id = \(queries[0].rawValue)") }
        }
        let report = try await repair(folder.store)
        #expect(report.queriesDropped == 1)
        #expect(try await items(of: 0, in: folder.store) == expectedItems(isOlderBroken ? 1 : 0))
    }

    @Test("Of two records with one name, a repair keeps the damaged one with pages, and not the intact one without")
    func namesakeWithoutPages() async throws {
        let (folder, queries) = try await makeLists(1)
        let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
        let second = try await store.register(QueryKey("other"), at: noon).id
        await store.close()
        do {
            let connection = try Connection(path: folder.store)
            var record = try #require(try QueryTable.find(second, in: connection))
            record.key = QueryKey("list-0")
            try QueryTable.save(record, in: connection)
            try connection.execute("UPDATE query SET seal = 1 WHERE id = \(queries[0].rawValue)")
        }
        #expect(try await repair(folder.store).queriesDropped == 1)
        let repaired = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
        let record = try #require(try await repaired.query(QueryKey("list-0")))
        let window = try await repaired.window(of: record.id, 0..<40)
        #expect(window?.parts.flatMap { $0.content.ids.compactMap { $0 } } == expectedItems(0))
        await repaired.close()
    }

    @Test("A repair after a flipped byte in a record keeps every list and its items")
    func flippedRecord() async throws {
        let (folder, _) = try await makeLists(3)
        let tree = DamagedTree(at: folder)
        let intact = try tree.bytes
        let page = try #require(try tree.leaves(of: "query").first)
        let start = (page - 1) * DamagedTree.pageSize
        // The cells are at the end of the page.
        let content = Int(intact[start + 5]) << 8 | Int(intact[start + 6])
        for position in start + content..<start + DamagedTree.pageSize {
            var bytes = intact
            bytes[position] ^= 1
            try tree.write(bytes)
            _ = try await repair(folder.store)
            for list in 0..<3 {
                let found = try await items(of: list, in: folder.store)
                #expect(found == expectedItems(list), "byte \(position - start), list \(list): \(found?.count ?? -1)")
            }
        }
    }
}
