#if Tool
import DemoOrigin
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@Suite("pagecache watch, end to end")
struct WatchTests {
    private let folder = Folder()

    /// Starts a watch that writes into a file. The file can be read while the tool runs.
    private func watch(_ arguments: [String]) throws -> (tool: TerminalProgram, lines: () -> [[String: Any]]) {
        let path = "\(folder.path)/events"
        let tool = try TerminalProgram(
            Tool.path, ["watch", "--store", folder.store, "--format", "ndjson"] + arguments,
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"], output: path)
        return (
            tool,
            {
                let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").compactMap {
                    (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
                }
            }
        )
    }

    private func stop(_ tool: TerminalProgram) async throws {
        tool.signal(SIGINT)
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 130)
    }

    @Test("watch prints an object for each commit, failure, retry and purge of another process (R41)")
    func events() async throws {
        let origin = DemoOrigin(count: 550) { number, _ in number == 4 ? .status(503, retryAfter: 1) : nil }
        try await withOrigin(origin) { root in
            // The store must exist before it can be watched.
            _ = try await Tool.run(["sync", "\(root)/feed", "--max-pages", "1", "--store", folder.store])
            let (tool, lines) = try watch([])
            // The start of the watch is not visible from outside. Repeated changes of the store lead to its first
            // output.
            let schema = try JSONSchema(
                String(contentsOfFile: Repository.path("Documentation/schemas/watch.json"), encoding: .utf8))
            try await eventuallyAwaiting("it listens") {
                _ = try await Tool.run(["sync", "\(root)/linked", "--max-pages", "1", "--store", folder.store])
                return !lines().isEmpty
            }
            let query = try #require(
                try await Tool.run(["sync", "\(root)/items", "--store", folder.store, "--json"]).json["query"]
                    as? String)
            try await eventually("all of it is told") {
                lines().contains { $0["query"] as? String == query && $0["held"] as? Int == 550 }
            }
            _ = try await Tool.run(["purge", query, "--yes", "--store", folder.store])
            try await eventually("the purge is told") { lines().contains { $0["event"] as? String == "purged" } }
            try await stop(tool)
            let mine = lines().filter { $0["query"] as? String == query }.compactMap { $0["event"] as? String }
            #expect(mine.first == "registered")
            #expect(mine.contains("stored"))
            #expect(mine.last == "purged")
            let text = try String(contentsOfFile: "\(folder.path)/events", encoding: .utf8)
            for line in text.split(separator: "\n") {
                #expect(schema.problems(with: try JSONValue(String(line))) == [])
            }
        }
    }

    @Test(
        "A watch ends with 65 when another program changes the schema of the store, or gives the store another name",
        arguments: ["CREATE TABLE zz (a)", "ALTER TABLE tally ADD COLUMN zz INTEGER", "PRAGMA user_version = 9", nil]
            as [String?])
    func changedByOthers(script: String?) async throws {
        try await folder.writeListWithGap()
        let (tool, lines) = try watch([])
        var count = 0
        try await eventuallyAwaiting("it listens") {
            count += 1
            try await folder.write(items(0..<3), as: QueryKey("list \(count)"), total: .exact(3))
            return !lines().isEmpty
        }
        #expect(tool.ended == nil)
        if let script {
            let code = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.executescript(sys.argv[2]); d.commit()"
            let ended = try await Program.run("/usr/bin/env", ["python3", "-c", code, folder.store, script])
            #expect(ended.status == 0, "\(ended.errors)")
        } else {
            try FileManager.default.linkItem(atPath: folder.store, toPath: "\(folder.path)/other")
        }
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 65)
    }

    @Test("A watch of one query prints only its events, and an unknown query or a missing store ends with 66")
    func one() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            #expect(try await Tool.run(["watch", "--store", folder.store]).status == 66)
            let query = try #require(
                try await Tool.run(["sync", "\(root)/items", "--store", folder.store, "--json"]).json["query"]
                    as? String)
            #expect(try await Tool.run(["watch", "nothing", "--store", folder.store]).status == 66)
            let (tool, lines) = try watch([query])
            try await eventuallyAwaiting("it listens") {
                _ = try await Tool.run(["sync", "\(root)/pages", "--store", folder.store])
                _ = try await Tool.run(["sync", query, "--store", folder.store])
                return !lines().isEmpty
            }
            try await stop(tool)
            #expect(lines().allSatisfy { $0["query"] as? String == query })
            #expect(lines().contains { $0["event"] as? String == "confirmed" })
        }
    }

    @Test("The error that ends a view is printed after the screen was given back")
    func errorAfterView() async throws {
        try await folder.writeListWithGap()
        let tool = try TerminalProgram(
            Tool.path, ["watch", "--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"])
        try await eventually("the view is there") { tool.shown.contains("list") }
        for name in folder.contents where name.hasPrefix("store.sqlite") { unlink("\(folder.path)/\(name)") }
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 75)
        let screens = tool.shown.components(separatedBy: "\u{1b}[?1049l")
        #expect(screens.count >= 2, "\(tool.shown)")
        #expect(screens.last?.contains("removed while") == true, "\(tool.shown)")
    }

    @Test(
        "A watch whose store is removed or replaced, or whose link leads elsewhere, says so, and ends with 75",
        arguments: ["removed", "replaced", "linked"])
    func gone(change: String) async throws {
        let (link, target, other) = (folder.store, "\(folder.path)/target.sqlite", "\(folder.path)/other.sqlite")
        if change == "linked" {
            for path in [target, other] { await (try await SQLitePageStore.openForTest(at: path)).close() }
            #expect(symlink(target, link) == 0)
        }
        try await folder.writeListWithGap()
        let (tool, lines) = try watch([])
        try await eventuallyAwaiting("it listens") {
            _ = try await Tool.run(["pin", "list", "--store", folder.store])
            _ = try await Tool.run(["purge", "list", "--yes", "--store", folder.store])
            try await folder.writeListWithGap()
            return !lines().isEmpty
        }
        #expect(tool.ended == nil)
        // The last connection of another process removes the log meanwhile.
        for name in folder.contents where name.hasPrefix("store.sqlite") { unlink("\(folder.path)/\(name)") }
        if change == "replaced" { try await folder.writeListWithGap() }
        if change == "linked" { #expect(symlink(other, link) == 0) }
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 75)
        let shown = tool.shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let sentence = change == "linked" ? "was replaced by another file while" : "removed while it was watched"
        #expect(shown.contains(sentence), "\(shown)")
    }
}
#endif
