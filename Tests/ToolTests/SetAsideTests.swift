#if Tool
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// `verify --set-aside` renames damaged stores only, and `verify --repair --dry-run` shows the plan of a repair.
@Suite("pagecache verify --set-aside and --repair --dry-run")
struct SetAsideTests {
    private let folder = Folder()

    private func tool(_ arguments: [String]) async throws -> Program.Ended { try await folder.tool(arguments) }

    private func sql(_ text: String, in path: String) async throws {
        let script = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.executescript(sys.argv[2]); d.commit()"
        let ended = try await Program.run("/usr/bin/env", ["python3", "-c", script, path, text])
        #expect(ended.status == 0, "\(ended.errors)")
    }

    /// Expects the same refusal from the dry run and from the real one, and an unchanged folder.
    private func expectRefusal(_ status: Int32, _ words: String) async throws {
        // SQLite may create the log and its shared memory for a reader.
        func files() -> [String] { folder.contents.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") } }
        let before = files()
        for flag in ["--dry-run", "--yes"] {
            let ended = try await tool(["verify", "--set-aside", flag])
            #expect(ended.status == status, "\(flag): \(ended.errors)")
            #expect(ended.errors.contains(words), "\(flag): \(ended.errors)")
            #expect(ended.output.isEmpty, "\(flag): \(ended.output)")
        }
        #expect(files() == before)
    }

    @Test("A database of another program is refused, and no file appears next to it")
    func foreign() async throws {
        try await sql("CREATE TABLE t (a); INSERT INTO t VALUES (1);", in: folder.store)
        try await expectRefusal(65, "is not a pagecache store")
        #expect(folder.contents == ["store.sqlite"])
    }

    @Test("A text file and a folder are refused")
    func others() async throws {
        folder.createFile(folder.store, "my notes")
        try await expectRefusal(65, "is not a pagecache store")
        try FileManager.default.removeItem(atPath: folder.store)
        try FileManager.default.createDirectory(atPath: folder.store, withIntermediateDirectories: false)
        try await expectRefusal(64, "is a directory, not a store (give the path of a file, such as /")
    }

    @Test("A sound store and a store of a newer version are refused")
    func sound() async throws {
        try await folder.writeListWithGap()
        try await expectRefusal(64, "is sound")
        try await sql("PRAGMA user_version = 99; INSERT INTO migration VALUES (99, 'n', 'c', 0)", in: folder.store)
        try await expectRefusal(78, "has schema 99")
    }

    @Test("A table of another program is named with its removal by every command, and the store is not set aside")
    func foreignTable() async throws {
        try await folder.writeListWithGap()
        try await sql("CREATE TABLE notes (a)", in: folder.store)
        let removal = #"DROP TABLE "notes""#
        try await expectRefusal(65, removal)
        for arguments in [["list"], ["verify"], ["verify", "--repair", "--yes"], ["sync", "list"]] {
            let ended = try await tool(arguments)
            #expect(ended.status == 65, "\(arguments): \(ended.errors)")
            #expect(ended.errors.contains("the table 'notes'"), "\(arguments): \(ended.errors)")
            #expect(ended.errors.contains(removal), "\(arguments): \(ended.errors)")
            #expect(!ended.errors.contains("--set-aside"), "\(arguments): \(ended.errors)")
        }
        try await sql(removal, in: folder.store)
        #expect(try await tool(["verify"]).status == 0)
    }

    @Test("A dropped table leads to --repair, which keeps the items in a new file, and a dry run changes nothing")
    func droppedTable() async throws {
        try await folder.writeListWithGap()
        try await sql("DROP TABLE tally", in: folder.store)
        for arguments in [["list"], ["verify"], ["sync", "list"], ["verify", "--repair", "--dry-run"]] {
            let ended = try await tool(arguments)
            #expect(ended.status == 65, "\(arguments): \(ended.errors)")
            #expect(ended.errors.contains("lacks the table 'tally'"), "\(arguments): \(ended.errors)")
            #expect(ended.errors.contains("'pagecache verify --repair"), "\(arguments): \(ended.errors)")
            #expect(!ended.errors.contains("--set-aside"), "\(arguments): \(ended.errors)")
        }
        let repair = try await tool(["verify", "--repair"])
        #expect(repair.status == 0, "\(repair.output)\(repair.errors)")
        #expect(repair.errors.contains("the old file is "), "\(repair.errors)")
        #expect(folder.contents.contains { $0.hasPrefix("store.sqlite.corrupt-") })
        #expect(try await tool(["verify"]).status == 0)
        #expect(try await tool(["show", "list", "--limit", "100"]).output.split(separator: "\n").count == 100)
    }

    @Test(
        "The advice for a change of another program works as it is printed, and keeps the items",
        arguments: [
            "CREATE TABLE notes (a)", "CREATE TABLE \"a\"\"b\" (a); CREATE VIEW v AS SELECT 1",
            "CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x); CREATE TABLE d (x)",
            "CREATE TABLE \"x\ny\" (a)", "DROP TABLE access", "ALTER TABLE page RENAME COLUMN offset TO place",
            "ALTER TABLE body RENAME TO bodies; CREATE TABLE notes (a)", "DROP INDEX ledger_due",
            "PRAGMA user_version = 7", "PRAGMA application_id = 5", "DELETE FROM migration",
        ])
    func advice(script: String) async throws {
        try await folder.writeListWithGap()
        try await sql(script, in: folder.store)
        var steps = 0
        while steps < 3 {
            let verify = try await tool(["verify"])
            guard verify.status != 0 else { break }
            steps += 1
            #expect(verify.status == 65, "\(verify.errors)")
            if let statement = verify.errors.firstMatch(of: /with another SQLite program: (.*)\)/) {
                try await sql(String(statement.1), in: folder.store)
            } else {
                let command = try #require(verify.errors.firstMatch(of: /'pagecache ([^']*)'/), "\(verify.errors)")
                let done = try await Tool.run(command.1.split(separator: " ").map(String.init))
                #expect(done.status == 0, "\(command.0): \(done.errors)")
            }
        }
        #expect(steps > 0)
        #expect(try await tool(["verify"]).status == 0)
        #expect(try await tool(["show", "list", "--limit", "100"]).output.split(separator: "\n").count == 100)
    }

    @Test("A store of an earlier build keeps its file, and no command advises to repair it or to set it aside")
    func earlierBuild() async throws {
        try await folder.writeListWithGap()
        try await sql(
            "ALTER TABLE query DROP COLUMN last_audit_at; UPDATE migration SET checksum = 'b26c6c0d2c17ceb1'",
            in: folder.store)
        for arguments in [["list"], ["verify"], ["verify", "--repair"], ["verify", "--set-aside", "--yes"]] {
            let ended = try await tool(arguments)
            #expect(ended.status == 65, "\(arguments): \(ended.errors)")
            #expect(ended.errors.contains("made by an earlier build of pagecache"), "\(arguments): \(ended.errors)")
            #expect(!ended.errors.contains("'pagecache verify"), "\(arguments): \(ended.errors)")
        }
        #expect(folder.contents.contains("store.sqlite"))
    }

    @Test("A dropped index hides nothing, verify reports it, and verify --repair creates it again")
    func droppedIndex() async throws {
        try await folder.writeListWithGap()
        try await sql("DROP INDEX ledger_due", in: folder.store)
        for arguments in [["list"], ["show", "list", "--limit", "1"], ["errors"], ["export", "list"]] {
            let ended = try await tool(arguments)
            // The list has a gap.
            #expect(ended.status == (arguments == ["export", "list"] ? 75 : 0), "\(arguments): \(ended.errors)")
        }
        let verify = try await tool(["verify"])
        #expect(verify.status == 65)
        #expect(verify.errors.contains("lacks the index 'ledger_due'"), "\(verify.errors)")
        #expect(verify.errors.contains("'pagecache verify --repair"), "\(verify.errors)")
        #expect(try await tool(["verify", "--repair", "--yes"]).status == 0)
        #expect(try await tool(["verify"]).status == 0)
    }

    @Test(
        "A store with an overwritten header or schema is known as a store, the hints lead to --set-aside, and it is renamed",
        arguments: [
            (0, [UInt8]("garbage garbage garbage garbage!".utf8)), (100, [UInt8](repeating: 0x55, count: 200)),
            (0, [UInt8](repeating: 0x00, count: 100)),
        ])
    func damaged(offset: Int, bytes: [UInt8]) async throws {
        try await folder.writeListWithGap()
        try folder.overwrite(at: offset, bytes)
        let list = try await tool(["list"])
        #expect(list.status == 65)
        #expect(list.errors.contains("'pagecache verify"), "\(list.errors)")
        let verify = try await tool(["verify"])
        #expect(verify.status == 65)
        #expect(verify.errors.contains("'pagecache verify --set-aside"), "\(verify.errors)")
        let told = try await tool(["verify", "--set-aside", "--dry-run"])
        #expect(told.status == 0, "\(told.errors)")
        #expect(folder.contents.contains("store.sqlite"))
        let done = try await tool(["verify", "--set-aside", "--yes"])
        #expect(done.status == 0, "\(done.errors)")
        #expect(!folder.contents.contains("store.sqlite"))
        #expect(folder.contents.contains { $0.hasPrefix("store.sqlite.corrupt-") })
    }

    @Test("verify --repair --dry-run counts what --repair drops and repairs, and changes nothing")
    func plan() async throws {
        try await folder.writeListWithGap()
        try await sql("UPDATE body SET payload = zeroblob(length(payload))", in: folder.store)
        let plan = try await tool(["verify", "--repair", "--dry-run", "--json"])
        #expect(plan.status == 65)
        let schema = try JSONSchema(
            String(contentsOfFile: Repository.path("Documentation/schemas/verify.json"), encoding: .utf8))
        #expect(schema.problems(with: try JSONValue(plan.output)) == [])
        let told = try #require(plan.json["repair"] as? [String: Any])
        #expect(told["dry_run"] as? Bool == true)
        let text = try await tool(["verify", "--repair", "--dry-run"])
        #expect(text.output.contains("would drop 1 page and 0 queries"), "\(text.output)")
        let done = try await tool(["verify", "--repair", "--yes", "--json"])
        let result = try #require(done.json["repair"] as? [String: Any])
        for member in ["pages_dropped", "queries_dropped", "repaired"] {
            #expect(told[member] as? Int == result[member] as? Int, "\(member)")
        }
        #expect(result["pages_dropped"] as? Int == 1)
    }
}
#endif
