#if Tool
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import pagecache

/// The bytes of an item right after each of its changes, so that a replay of the changes gives the right history.
@Suite("The items of changes")
struct ItemChangesTests {
    private let folder = Folder()

    private func entry(_ counter: Int, _ changes: [JournalChange]) -> JournalEntry {
        JournalEntry(version: ContentVersion(counter: counter, stamp: 7), at: noon, changes: changes)
    }

    private func item(_ id: Int?, _ value: Int) -> RawItem {
        RawItem(payload: Array("\(value)".utf8), id: id.map(String.init), idType: .number)
    }

    private func texts(_ changes: ItemChanges) -> [String?] {
        changes.all.map { $0.item.map { String(decoding: $0, as: UTF8.self) } }
    }

    @Test("An edited item has the bytes before its next edit, also when it has no id and shifts in between")
    func edits() {
        for id in [7, nil] {
            func edited(_ from: Int, _ to: Int, _ value: Int) -> JournalChange {
                .rearranged(JournalRearrangement(edited: [.init(from: from, to: to, before: item(id, value))]))
            }
            var changes = ItemChanges([
                entry(2, [edited(1, 1, 0)]), entry(3, [edited(1, 1, 5)]),
                // An insert before the item moves it to position 2.
                entry(
                    4,
                    [
                        .rearranged(
                            JournalRearrangement(added: [0..<1], inserted: [.init(position: 0, id: nil)]))
                    ]), entry(5, [edited(2, 2, 6)]),
            ])
            #expect(texts(changes) == ["5", "6", nil, nil])
            changes.follow([entry(6, [edited(2, 2, 8)])])
            #expect(texts(changes) == ["5", "6", nil, "8"])
        }
    }

    @Test("An insert that is deleted later has the deleted bytes, and a moved item those before its next change")
    func moves() {
        let changes = ItemChanges([
            entry(
                2,
                [.rearranged(JournalRearrangement(added: [3..<4], inserted: [.init(position: 3, id: "1")]))]),
            entry(
                3,
                [
                    .rearranged(
                        JournalRearrangement(
                            removed: [3..<4], added: [0..<1], moved: [.init(from: 3, to: 0, id: "1")]))
                ]),
            entry(
                4,
                [
                    .rearranged(
                        JournalRearrangement(removed: [0..<1], deleted: [.init(position: 0, item: item(1, 9))]))
                ]),
        ])
        #expect(changes.all.map(\.kind) == [.inserted, .moved, .deleted])
        #expect(texts(changes) == ["9", "9", nil])
        #expect(ItemChangeRendering(change: changes.all[0]).line(width: 40) == "+ 3  1  9")
    }

    @Test("The bytes of an item that was dropped after its change are unknown")
    func dropped() {
        let insert = JournalChange.rearranged(
            JournalRearrangement(added: [0..<1], inserted: [.init(position: 0, id: "1")]))
        let removal = JournalChange.rearranged(
            JournalRearrangement(removed: [0..<1], deleted: [.init(position: 0, item: item(1, 9))]))
        for loss in [JournalChange.dropped(0..<5), .generationBegan] {
            #expect(texts(ItemChanges([entry(2, [insert, loss, .loaded(0..<5), removal])])).first == .some(nil))
        }
    }

    @Test("diff gives each of several edits the item that followed it, with ids and without", arguments: [true, false])
    func diff(hasIDs: Bool) async throws {
        func content(_ range: Range<Int>, _ value: Int) -> PageContent {
            PageContent(
                range.map { number in
                    RawItem(
                        payload: Array(#"{"id":\#(number),"v":\#(number == 1 ? value : 0)}"#.utf8),
                        id: hasIDs ? "\(number)" : nil, idType: .number)
                })
        }
        try await folder.write(content(0..<5, 0), total: .exact(5), and: [.setEnd(5)])
        let version = try #require(try await folder.tool(["info", "list", "--json"]).json["version"] as? String)
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        let query = try await store.register("list", at: noon).id
        for value in [5, 6, 0] {
            let page = PageWrite(offset: 1, content: content(1..<2, value), evidence: .verified)
            let version = try #require(try await store.outline(of: query)).record.version
            let outcome = try await store.commit(
                CommitPlan(query: query, version: version, edits: [.splice(1..<2, page), .validated]), at: noon)
            #expect("\(outcome)".hasPrefix("committed"), "\(outcome)")
        }
        await store.close()
        let ended = try await folder.tool(["diff", "list", "--since", "@\(version)", "--json"])
        #expect(ended.status == 1)
        let changes = try #require(ended.json["changes"] as? [[String: Any]])
        func values(_ name: String, _ kind: String) -> [Int] {
            changes.filter { $0["change"] as? String == kind }.compactMap { ($0[name] as? [String: Int])?["v"] }
        }
        if hasIDs {
            #expect(values("item", "edited") == [5, 6, 0])
            #expect(values("before", "edited") == [0, 5, 6])
        } else {
            // Without an id, an edit is a deletion and an insertion.
            #expect(values("item", "inserted") + values("item", "edited") == [5, 6, 0], "\(changes)")
        }
        let lines = try await folder.tool(["diff", "list", "--since", "@\(version)"]).output.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains("{\"id\":1,\"v\":") }, "\(lines)")
    }
}
#endif
