#if Tool
import DemoOrigin
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// Keeping and removing pages with `pin`, `gc` and `verify`: output formats and dry runs.
@Suite("pagecache pin, gc and verify")
struct KeepingTests {
    private let folder = Folder()

    private func tool(_ arguments: [String]) async throws -> Program.Ended {
        try await Tool.run(arguments + ["--store", folder.store])
    }

    /// Creates a list of 300 items in three pages. Returns the id of its query.
    private func fill() async throws -> String {
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        let record = try await store.register("list", at: noon)
        var version = record.version
        for offset in [0, 100, 200] {
            let edits: [ListEdit] = [
                .insertPage(PageWrite(offset: offset, content: items(offset..<offset + 100), evidence: .verified)),
                .validated,
            ]
            let outcome = try await store.commit(CommitPlan(query: record.id, version: version, edits: edits))
            if case .committed(let now) = outcome { version = now }
        }
        await store.close()
        return record.key.shortID
    }

    @Test("gc --dry-run reports exactly what gc would remove and removes no page, and gc keeps pinned lists")
    func dryRun() async throws {
        let id = try await fill()
        func pages() async throws -> Int { try await tool(["pages", id, "--json"]).jsonArray.count }
        let half = try #require(try await tool(["list", "--json"]).jsonArray.first?["bytes"] as? Int) / 2
        let told = try await tool(["gc", "--max-bytes", String(half), "--dry-run", "--json"]).json
        #expect(told["dry_run"] as? Bool == true)
        #expect(told["pages"] as? Int == 2)
        #expect(try await pages() == 3)
        #expect(try await tool(["gc", "--max-bytes", "0", "-n"]).output.hasPrefix("would remove 3 pages, "))
        #expect(try await pages() == 3)
        let done = try await tool(["gc", "--max-bytes", String(half), "--json"]).json
        #expect(done["dry_run"] as? Bool == false)
        for member in ["pages", "bytes", "queries", "bytes_left"] {
            #expect(done[member] as? Int == told[member] as? Int, "\(member)")
        }
        #expect(try await tool(["list", "--json"]).jsonArray.first?["items"] as? Int == 100)
        _ = try await tool(["pin", id])
        #expect(try await tool(["gc", "--max-bytes", "0", "--dry-run", "--json"]).json["pages"] as? Int == 0)
    }

    @Test("CSV has a header line, and one line for the result")
    func csv() async throws {
        let id = try await fill()
        #expect(try await tool(["pin", id, "--format", "csv"]).output == "query,pinned\n\(id),true\n")
        #expect(try await tool(["unpin", id, "--format", "csv"]).output == "query,pinned\n\(id),false\n")
        #expect(
            try await tool(["gc", "--max-age", "36500d", "--format", "csv"]).output.hasPrefix(
                "dry_run,pages,bytes,queries,bytes_left\nfalse,0,0,0,"))
        #expect(try await tool(["verify", "--format", "csv"]).output == "kind,query,offset,count,message\n")
        try folder.overwrite(at: 0, Array("no header".utf8))
        let aside = try await tool(["verify", "--set-aside", "--dry-run", "--format", "csv"])
        #expect(aside.output == "dry_run,set_aside\ntrue,\(folder.store).corrupt-<time>\n")
        #expect(folder.contents.contains("store.sqlite"))
    }

    @Test(
        "For a store that cannot be opened, verify suggests --set-aside instead of verify",
        arguments: [["verify"], ["verify", "--repair", "--yes"]])
    func unreadable(arguments: [String]) async throws {
        _ = try await fill()
        let script = try await Program.run(
            "/usr/bin/env",
            [
                "python3", "-c",
                "import sqlite3; d = sqlite3.connect('\(folder.store)'); d.execute('PRAGMA writable_schema=1'); d.execute(\"UPDATE sqlite_schema SET sql = 'CREATE TABLE page (offset' WHERE name = 'page'\"); d.commit()",
            ])
        #expect(script.status == 0, "\(script.errors)")
        let ended = try await tool(arguments)
        #expect(ended.status == 65)
        #expect(
            ended.errors.contains("'pagecache verify --set-aside --store \(folder.store)' makes room for a new store"),
            "\(ended.errors)")
        #expect(!ended.errors.contains("'pagecache verify' says"), "\(ended.errors)")
    }

    @Test("verify prints a row for each finding and ends with 65, and --set-aside without a store ends with 66")
    func findings() async throws {
        let id = try await fill()
        let script = try await Program.run(
            "/usr/bin/env",
            [
                "python3", "-c",
                "import sqlite3; d = sqlite3.connect('\(folder.store)'); d.execute('UPDATE body SET payload = zeroblob(length(payload)) WHERE id = (SELECT body FROM page WHERE offset = 100)'); d.commit()",
            ])
        #expect(script.status == 0, "\(script.errors)")
        let ended = try await tool(["verify", "--format", "csv"])
        #expect(ended.status == 65)
        let rows = ended.output.split(separator: "\n")
        #expect(rows.first == "kind,query,offset,count,message")
        #expect(rows.dropFirst().contains { $0.contains(",\(id),100,100,") }, "\(ended.output)")
        let none = try await Tool.run(["verify", "--set-aside", "--dry-run", "--store", "\(folder.path)/none.sqlite"])
        #expect(none.status == 66)
    }
}
#endif
