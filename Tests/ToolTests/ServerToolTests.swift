#if Tool && PostgreSQL
import ArgumentParser
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import pagecache

/// The tool with a store on a server.
@Suite(
    "pagecache with a store on a server",
    .enabled(if: TestServer.isThere, "no server: run `Scripts/postgres start DIR && . DIR/env`"))
struct ServerToolTests {
    private let folder = Folder()
    private var address: String { TestServer.address(schema: folder.schema) }

    private func tool(_ words: [String], at address: String? = nil) async throws -> Program.Ended {
        try await Tool.run(words + ["--store", address ?? self.address])
    }

    /// The ids of the items that a command has printed, one item a line.
    private func ids(_ ended: Program.Ended) -> [String] {
        ended.output.split(separator: "\n").compactMap { line in
            ((try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any])?["id"] as? String
        }
    }

    @Test("Every command works with a store on a server")
    func everyCommand() async throws {
        let faults = FailureCommandTests.Faults([250: 500])
        let origin = DemoOrigin(count: 300) { _, target in faults.fault(target) }
        var used: Set<String> = []
        func run(_ words: String..., status: Int32 = 0) async throws -> Program.Ended {
            used.insert(words[0])
            let ended = try await tool(words)
            #expect(ended.status == status, "\(words): \(ended.output.suffix(500)) \(ended.errors)")
            return ended
        }
        try await withOrigin(origin) { root in
            let url = "\(root)/items"
            let first = try await run("sync", url, "--wait", "0s", "--json", status: 75)
            let id = try #require(first.json["query"] as? String)
            #expect(try await run("errors", "--json").jsonArray.compactMap { $0["offset"] as? Int } == [199])
            #expect(try await run("why", id).output.contains("500"))
            faults.mend()
            _ = try await run("retry", id)
            _ = try await run("probe", url)
            #expect(ids(try await run("show", id)) == origin.ids)
            #expect(ids(try await run("export", id)) == origin.ids)
            let listed = try await run("list", "--json").jsonArray
            #expect(listed.map { $0["query"] as? String } == [id])
            #expect(listed.first?["coverage"] as? Double == 1)
            #expect(try await run("info", id).output.contains(url))
            let pages = try await run("pages", id, "--json").jsonArray
            #expect(pages.count == 4 && pages.allSatisfy { $0["state"] as? String == "ok" })
            _ = try await run("stats", "--json")
            let checks = try await run("doctor", "--json").jsonArray
            #expect(!checks.isEmpty && checks.allSatisfy { $0["status"] as? String != "error" })
            _ = try await run("verify")

            origin.insert(at: 0)
            _ = try await run("sync", id)
            #expect(try await run("diff", id, status: 1).output.contains(origin.ids[0]))
            _ = try await run("pin", id)
            #expect(try await run("gc", "--max-bytes", "0", "--json").json["pages"] as? Int == 0)
            _ = try await run("unpin", id)
            #expect(try await run("gc", "--max-bytes", "0", "--json").json["pages"] as? Int ?? 0 > 0)
            _ = try await run("sync", id)
            #expect(ids(try await run("show", id)) == origin.ids)

            let completion = ["---completion", "show", "--", "positional@0", "2", "0", "pagecache", "show", ""]
            let completed = try await Tool.run(completion, environment: ["PAGECACHE_STORE": address])
            #expect(completed.output == "\(url.dropFirst("http://".count))\n")

            used.insert("watch")
            try await watch(id) {
                origin.insert(at: 0)
                _ = try await run("sync", id)
            }
            #expect(try await run("purge", id, "--yes", "--json").json["queries"] as? Int == 1)
            #expect(try await run("list", "--json").jsonArray.isEmpty)
        }
        let all = Set(Pagecache.configuration.subcommands.compactMap { $0.configuration.commandName })
        #expect(all.subtracting(used) == ["completions", "demo", "man"], "the commands without a store")
    }

    /// Watches the store, and repeats a change until an event reports it.
    private func watch(_ id: String, _ change: () async throws -> Void) async throws {
        let path = "\(folder.path)/events"
        let watching = try TerminalProgram(
            Tool.path, ["watch", "--store", address, "--format", "ndjson"],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"], output: path)
        try await eventuallyAwaiting("an event reports a change") {
            try await change()
            return (try? String(contentsOfFile: path, encoding: .utf8))?.contains(id) == true
        }
        watching.signal(SIGINT)
        try await eventually("it has ended") { watching.ended != nil }
        #expect(watching.ended == 130)
    }

    private static let readers = [["list"], ["show", "x"], ["stats"], ["verify"]]
    private static let writers = [
        ["sync", "x"], ["pin", "x"], ["purge", "x", "--yes"], ["gc", "--max-bytes", "0"],
        ["verify", "--repair", "--yes"],
    ]

    private func expect(
        _ commands: [[String]], at address: String, end status: Int32, with sentence: String
    ) async throws {
        for words in commands {
            let ended = try await tool(words, at: address)
            #expect(ended.status == status, "\(words): \(ended.output)\(ended.errors)")
            #expect(ended.errors.contains(sentence), "\(words): \(ended.errors)")
            #expect(!(ended.output + ended.errors).contains("hidden-word"))
        }
    }

    @Test("A wrong password ends with 77, and a database that does not exist with 66")
    func addresses() async throws {
        let all = ServerToolTests.readers + ServerToolTests.writers
        let wrong = TestServer.address(schema: folder.schema, user: "scram:hidden-word")
        try await expect(all, at: wrong, end: 77, with: "check the user and the password")
        let none = TestServer.address(schema: folder.schema, database: "no_such_database")
        try await withOrigin(DemoOrigin(count: 10)) { root in
            // A name of a query is looked up before a store is made.
            let commands = all.filter { $0[0] != "sync" } + [["sync", "\(root)/items"]]
            let sentence = "database \"no_such_database\" does not exist (create the database with CREATE DATABASE, or"
            try await expect(commands, at: none, end: 66, with: sentence)
        }
    }

    @Test("An address that libpq cannot parse ends with 64, and is not shown")
    func unparsable() async throws {
        let address = "postgres://hidden-word@h/db?options=-c%20a=1"
        try await expect(
            ServerToolTests.readers, at: address, end: 64, with: "is not a valid connection string of libpq")
    }

    @Test("A role that may not create the store ends with 77 and leaves nothing, and its readers find no store")
    func rights() async throws {
        let role = "r\(folder.schema)"
        try await TestServer.run("CREATE ROLE \(role) LOGIN")
        let address = TestServer.address(schema: folder.schema, user: role)
        try await withOrigin(DemoOrigin(count: 10)) { root in
            try await expect([["sync", "\(root)/items"]], at: address, end: 77, with: "permission denied for database")
        }
        try await expect(ServerToolTests.readers, at: address, end: 66, with: "there is no store in")
        // Fails if the schema exists.
        try await TestServer.run("CREATE SCHEMA \(folder.schema)")
    }

    @Test("A store of a newer version ends with 78 and is unchanged")
    func newer() async throws {
        try await withOrigin(DemoOrigin(count: 10)) { root in
            let first = try await tool(["sync", "\(root)/items", "--key", "x"])
            #expect(first.status == 0)
        }
        let before = try await tool(["info", "x", "--json"]).json["version"] as? String
        try await TestServer.run("INSERT INTO \(folder.schema).migration VALUES (99, 'v0099_later.sql', 'x')")
        let all = ServerToolTests.readers + ServerToolTests.writers
        try await expect(all, at: address, end: 78, with: "has schema 99, this version reads up to 1")
        try await TestServer.run("DELETE FROM \(folder.schema).migration WHERE version = 99")
        #expect(before != nil)
        #expect(try await tool(["info", "x", "--json"]).json["version"] as? String == before)
    }

    @Test("Tables of another program end with 65, and are unchanged")
    func foreign() async throws {
        try await TestServer.run(
            "CREATE SCHEMA \(folder.schema)", "CREATE TABLE \(folder.schema).query (id int)",
            "INSERT INTO \(folder.schema).query VALUES (7)")
        let all = ServerToolTests.readers + ServerToolTests.writers
        try await expect(all, at: address, end: 65, with: "has tables that are not those of a pagecache store")
        // Fails unless the row and the table are all that is there.
        try await TestServer.run(
            """
            SELECT 1 / (CASE WHEN (SELECT sum(id) FROM \(folder.schema).query) = 7 AND
                (SELECT count(*) FROM pg_tables WHERE schemaname = '\(folder.schema)') = 1 THEN 1 ELSE 0 END)
            """)
    }

    @Test("A server that accepts no writes, as a standby, serves readers and ends writers with 77")
    func standby() async throws {
        try await withOrigin(DemoOrigin(count: 10)) { root in
            #expect(try await tool(["sync", "\(root)/items", "--key", "x"]).status == 0)
            let standby = TestServer.address(
                schema: folder.schema, parameters: ["options=-cdefault_transaction_read_only%3Don"])
            for words in ServerToolTests.readers {
                let ended = try await tool(words, at: standby)
                #expect(ended.status == 0, "\(words): \(ended.errors)")
            }
            let writers = ServerToolTests.writers.filter { $0[0] != "verify" }
            try await expect(writers, at: standby, end: 77, with: "use the address of the primary")
            let doctor = try await tool(["doctor", "--json"], at: standby)
            #expect(doctor.output.contains("default_transaction_read_only"), "\(doctor.output)")
        }
    }
}
#endif
