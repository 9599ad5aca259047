#if Tool
import DemoOrigin
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

@Suite("pagecache diff, on the journal (R48)")
struct DiffTests {
    private let folder = Folder()

    private func tool(_ arguments: [String]) async throws -> Program.Ended { try await folder.tool(arguments) }

    @Test("diff shows the inserts and deletes of the last sync that changed something, and ends with 1")
    func last() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            let url = "\(root)/items"
            #expect(try await tool(["sync", url]).status == 0)
            let first = try await tool(["diff", url])
            #expect(first.status == 1)
            #expect(first.output == "+ 0–249  loaded\n")
            let deleted = origin.ids[20]
            origin.insert(at: 0)
            origin.remove(at: 21)
            let inserted = origin.ids[0]
            #expect(try await tool(["sync", url]).status == 0)
            // A sync without changes does not move the start.
            #expect(try await tool(["sync", url]).status == 0)
            let second = try await tool(["diff", url])
            #expect(second.status == 1)
            #expect(second.output.contains("+ 0  \(inserted)  {"), "\(second.output)")
            #expect(second.output.contains("- 20  \(deleted)  {"), "\(second.output)")
            #expect(second.output.split(separator: "\n").count == 2)
            #expect(second.errors.hasPrefix("1 inserted, 1 deleted since @"))

            let json = try await tool(["diff", url, "--json"])
            #expect(json.status == 1)
            #expect(try JSONSchema.documented("diff").problems(with: try JSONValue(json.output)) == [])
            let changes = try #require(json.json["changes"] as? [[String: Any]])
            #expect(changes.compactMap { $0["change"] as? String }.sorted() == ["deleted", "inserted"])
            let gone = try #require(changes.first { $0["change"] as? String == "deleted" })
            #expect((gone["before"] as? [String: Any])?["id"] as? String == deleted)

            // A reader that continues with the reached version gets each change once.
            let reached = try #require(json.json["reached"] as? String)
            let nothing = try await tool(["diff", url, "--since", "@\(reached)", "--json"])
            #expect(nothing.status == 0)
            #expect((nothing.json["changes"] as? [Any])?.isEmpty == true)
            #expect(try await tool(["diff", url, "--since", "1h"]).status == 1)
            #expect(try await tool(["diff", url, "--since", "2020-01-31T12:00:00Z"]).status == 1)
            #expect(try await tool(["info", url, "--json"]).json["version"] as? String == reached)
            #expect(try await tool(["sync", url, "--json"]).json["version"] as? String != nil)
        }
    }

    @Test("The recipe of the help notifies of changes of one sync, and neither without changes nor after a failed sync")
    func recipe() async throws {
        let lines = try #require(
            try await tool(["diff", "--help"]).output.firstMatch(of: /(?s)( +v=\$\(.*?changed)\n/)
        ).1
        let program = String(lines).replacing("jq -r .version", with: #"sed 's/.*"version":"\([^"]*\)".*/\1/'"#)
            .replacing("notify-send changed", with: "echo NOTIFIED")
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { (root: String) async throws in
            func run(_ url: String) async throws -> Bool {
                let ended = try await Program.run(
                    "/bin/sh", ["-c", "pagecache() { '\(Tool.path)' \"$@\"; }\n\(program)"],
                    environment: [
                        "PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "URL": url, "PAGECACHE_STORE": folder.store,
                    ])
                return ended.output.contains("NOTIFIED")
            }
            #expect(try await tool(["sync", "\(root)/items"]).status == 0)
            origin.insert(at: 0)
            #expect(try await run("\(root)/items"))
            #expect(try await run("\(root)/items") == false)
            #expect(try await run("http://127.0.0.1:1/items") == false)
            await origin.stop()
            #expect(try await run("\(root)/items") == false)
        }
    }

    @Test("A version that the journal does not reach ends with 66 and journal_truncated")
    func truncated() async throws {
        try await folder.write(items(0..<10), total: .exact(10))
        for since in ["@1-00000000000000ff", "@999-00000000000000ff"] {
            let ended = try await tool(["diff", "list", "--since", since, "--json"])
            #expect(ended.status == 66)
            #expect(ended.errors.contains("\"code\":\"journal_truncated\""))
            #expect(ended.errors.contains("--since @"))
            #expect(ended.output.isEmpty)
        }
        #expect(try await tool(["diff", "list", "--since", "yesterday"]).status == 64)
        #expect(try await tool(["diff", "none"]).status == 66)
    }

    @Test("watch --changes prints each changed item of another process, in the form of diff")
    func watchChanges() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            let url = "\(root)/items"
            #expect(try await tool(["sync", url]).status == 0)
            let path = "\(folder.path)/changes"
            let watch = try TerminalProgram(
                Tool.path, ["watch", "--changes", "--json", "--store", folder.store],
                environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"], output: path)
            func text() -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
            // The start of the watch is not visible from outside.
            for _ in 0..<20 where !text().contains("\"inserted\"") {
                origin.insert(at: 0)
                #expect(try await tool(["sync", url]).status == 0)
            }
            try await eventually("a change is printed") { text().contains("\"inserted\"") }
            #expect(!text().contains("\"dropped\""))
            #expect(try await tool(["purge", url, "--yes"]).status == 0)
            try await eventually("the purge is printed") { text().contains("\"dropped\"") }
            watch.signal(SIGINT)
            try await eventually("it has ended") { watch.ended != nil }
            let schema = try JSONSchema.documented("watch")
            for line in text().split(separator: "\n") {
                #expect(schema.problems(with: try JSONValue(String(line))) == [], "\(line)")
            }
        }
    }

    @Test("Evicted positions are shown in order and counted, and are not a change of the list")
    func evicted() async throws {
        let origin = DemoOrigin(count: 550)
        try await withOrigin(origin) { root in
            let url = "\(root)/items"
            let synced = try await tool(["sync", url, "--json"])
            #expect(synced.status == 0)
            let version = try #require(synced.json["version"] as? String)
            #expect(try await tool(["gc", "--max-bytes", "0"]).status == 0)
            let diff = try await tool(["diff", url, "--since", "@\(version)"])
            #expect(diff.status == 0, "\(diff.errors)")
            #expect(diff.output == "- 0–549  no longer stored\n")
            #expect(diff.errors.hasPrefix("550 positions no longer stored since @"), "\(diff.errors)")
        }
    }

    @Test("A start in the future is refused")
    func future() async throws {
        try await folder.write(items(0..<10), total: .exact(10))
        let ended = try await tool(["diff", "list", "--since", "2999-01-01"])
        #expect(ended.status == 64)
        #expect(ended.errors.contains("--since must not be in the future, and is 2999-01-01T"), "\(ended.errors)")
    }

    @Test("Journal entries become changes, with loads in a row as ranges")
    func entries() {
        func entry(_ counter: Int, _ changes: [JournalChange]) -> JournalEntry {
            JournalEntry(version: ContentVersion(counter: counter, stamp: 7), at: noon, changes: changes)
        }
        let before = RawItem(payload: Array("{\"id\":7}".utf8), id: "7", idType: .number)
        let parts = JournalRearrangement(
            deleted: [.init(position: 3, item: before)], inserted: [.init(position: 0, id: "8", idType: .number)],
            moved: [.init(from: 5, to: 9, id: "9")], edited: [.init(from: 2, to: 2, before: before)])
        let changes = ItemChanges([
            entry(2, [.loaded(100..<200)]), entry(3, [.loaded(0..<100)]), entry(4, []),
            entry(5, [.rearranged(parts), .dropped(50..<Int.max), .generationBegan]),
        ]).all
        #expect(
            changes.map(\.kind) == [.loaded, .deleted, .inserted, .moved, .edited, .dropped, .replaced])
        #expect(changes[0].offset == 0 && changes[0].count == 200)
        #expect(changes[5].count == nil)
        let lines = changes.map { ItemChangeRendering(change: $0).line(width: 40) }
        #expect(lines[1] == "- 3  7  {\"id\":7}")
        #expect(lines[3] == "> 5 → 9  9")
        #expect(lines[4] == "~ 2  7  {\"id\":7}")
        #expect(
            ItemChange.summary(changes).hasPrefix(
                "1 inserted, 1 deleted, 1 moved, 1 edited, 200 positions loaded, positions from 50 on"))
        #expect(ItemChange.summary([]) == "no change")
        #expect(lines.allSatisfy { $0.count <= 40 })
    }

    @Test(
        "The start is last, a duration, a time or a version",
        arguments: [
            ("last", SinceArgument.last), ("1h30m", .age(.seconds(5_400))),
            ("1970-01-01T00:00:01Z", .time(Timestamp(milliseconds: 1_000))),
            ("@17-00c0ffee00c0ffee", .version(ContentVersion(counter: 17, stamp: 0x00c0_ffee_00c0_ffee))),
            ("@17", nil), ("@0-00c0ffee00c0ffee", nil), ("soon", nil), ("", nil),
        ] as [(String, SinceArgument?)])
    func since(text: String, expected: SinceArgument?) { #expect(SinceArgument(argument: text) == expected) }
}
#endif
