#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

@Suite("JSON schemas of the output")
struct SchemaTests {
    private let folder = Folder()

    /// Commands without JSON output.
    private static let withoutJSON: Set<String> = ["demo", "completions", "man"]

    private func check(_ ended: Program.Ended, _ name: String, status: Int32 = 0) throws {
        #expect(ended.status == status, "\(name): \(ended.errors)")
        let value = try #require(try? JSONValue(ended.output), "\(name): no JSON: \(ended.output.prefix(200))")
        #expect(try JSONSchema.documented(name).problems(with: value) == [], "\(name)")
    }

    @Test("Every command has a schema in a supported form, and every schema a command")
    func all() throws {
        let commands = Set(try CommandDescription.tool().shownCommands.map(\.commandName)).subtracting(
            SchemaTests.withoutJSON)
        let files = try FileManager.default.contentsOfDirectory(atPath: Repository.path("Documentation/schemas"))
        let names = Set(files.map { $0.replacing(".json", with: "") })
        #expect(names == commands.union(["error", "notice"]))
        for name in names { #expect(throws: Never.self, "\(name)") { try JSONSchema.documented(name) } }
        let page = try String(contentsOfFile: Repository.path("Documentation/JSON.md"), encoding: .utf8)
        for name in names { #expect(page.contains("schemas/\(name).json"), "\(name) is not in Documentation/JSON.md") }
    }

    @Test("The example of an error in Documentation/JSON.md is the output of a command")
    func errorExample() async throws {
        let page = try String(contentsOfFile: Repository.path("Documentation/JSON.md"), encoding: .utf8)
        let example = try #require(page.split(separator: "\n").first { $0.hasPrefix("{\"error\":") })
        let path = "/home/me/.cache/pagecache/store.sqlite"
        #expect(example.contains(path))
        let store = "\(folder.path)/none.sqlite"
        let ended = try await Tool.run(["list", "--json"], environment: ["PAGECACHE_STORE": store])
        #expect(ended.status == 66)
        #expect(ended.errors.trimmingCharacters(in: .newlines) == example.replacing(path, with: store))
    }

    @Test("The --json output of every command matches its schema")
    func outputs() async throws {
        let origin = DemoOrigin(count: 550)
        try await withOrigin(origin) { root in
            func run(_ arguments: [String]) async throws -> Program.Ended {
                try await Tool.run(arguments + ["--store", folder.store, "--json"])
            }
            let first = try await run(["sync", "\(root)/feed"])
            try check(first, "sync")
            let query = try #require(first.json["query"] as? String)
            try check(try await run(["probe", "\(root)/feed"]), "probe")
            // This origin fails from its third request on, so that `errors` has entries.
            let failing = DemoOrigin(count: 550) { number, _ in number > 2 ? .status(503, retryAfter: 60) : nil }
            try await withOrigin(failing) { other in
                try check(
                    try await run(["sync", "\(other)/items", "--wait", "0s", "--retries", "1"]), "sync", status: 75)
                try check(try await run(["errors"]), "errors")
                #expect(try await run(["errors"]).jsonArray.isEmpty == false)
                try check(try await run(["pages", "\(other)/items"]), "pages")
                try check(try await run(["why", "\(other)/items"]), "why")
                try check(try await run(["retry", "--no-run"]), "retry")
                try check(try await run(["retry", "\(other)/items", "--wait", "0s"]), "retry", status: 75)
                try check(try await run(["export", "\(other)/items"]), "export", status: 75)
            }
            try check(try await run(["sync", query]), "sync")
            for arguments in [
                ["list"], ["pages", query], ["why", query], ["stats"], ["show", query], ["export", query], ["verify"],
            ] {
                try check(try await run(arguments), arguments[0])
            }
            try check(try await run(["info", query]), "info")
            try check(try await run(["doctor"]), "doctor")
            try check(try await run(["diff", query]), "diff", status: 1)
            // The origin of the other list is gone.
            try check(try await run(["sync", "--all", "--wait", "0s"]), "sync", status: 75)
            try check(try await run(["pages", query, "--map"]), "pages")
            try check(try await run(["pin", query]), "pin")
            try check(try await run(["unpin", query]), "unpin")
            try check(try await run(["gc", "--max-bytes", "1G"]), "gc")
            try check(try await run(["gc", "--max-bytes", "0", "--dry-run"]), "gc")
            try check(try await run(["show", query, "--fields", "/id,/none", "--limit", "3"]), "show")
            try check(try await run(["verify", "--repair", "--yes"]), "verify")
            try check(try await run(["purge", query, "--dry-run"]), "purge")
            try check(try await run(["purge", "--all", "--yes"]), "purge")
            // Only a damaged store is set aside.
            try folder.overwrite(at: 0, Array("no header".utf8))
            try check(try await run(["verify", "--set-aside", "--dry-run"]), "verify")
            try check(try await run(["verify", "--set-aside", "--yes"]), "verify")
        }
    }

    @Test(
        "Every error is a JSON object on standard error, with code, message and hint",
        arguments: [
            (["list"], 66), (["show", "x"], 66), (["sync", "http://127.0.0.1:1/items"], 69), (["sync", "ftp://x"], 64),
            (["purge", "--all"], 66),
            (["purge", "--all", "--stale"], 64), (["frobnicate"], 64), (["show"], 64),
        ] as [([String], Int32)])
    func errors(arguments: [String], status: Int32) async throws {
        let ended = try await Tool.run(arguments + ["--store", folder.store, "--json", "--quiet"])
        #expect(ended.status == status, "\(ended.errors)")
        #expect(ended.output.isEmpty)
        #expect(try JSONSchema.documented("error").problems(with: try JSONValue(ended.errors)) == [])
    }

    @Test("With --json every line on standard error is an error or a notice, at every level")
    func standardError() async throws {
        let failing = DemoOrigin(count: 550) { number, _ in number > 3 ? .status(503, retryAfter: 60) : nil }
        try await withOrigin(failing) { root in
            var levels: Set<String> = []
            let url = "\(root)/items?api_key=S3CRET"
            for arguments in [
                ["sync", url, "--wait", "0s", "--retries", "1"], ["sync", url, "--offline", "--verbose", "--explain"],
                ["errors"], ["retry", "--no-run"], ["export", url], ["show", url], ["list"], ["sync", "--due"],
                ["show", "none"], ["watch", "none"], ["purge", "none"],
            ] {
                let ended = try await Tool.run(arguments + ["--store", folder.store, "--json"])
                for line in ended.errors.split(separator: "\n") {
                    let value = try #require(try? JSONValue(String(line)), "\(arguments): \(line)")
                    let form = try JSONSchema.documented(line.hasPrefix(#"{"error":"#) ? "error" : "notice")
                    #expect(form.problems(with: value) == [], "\(arguments): \(line)")
                    if let level = line.firstMatch(of: /"level":"([a-z]+)"/) { levels.insert(String(level.1)) }
                }
            }
            #expect(levels == ["note", "detail", "warning", "reason"])
        }
    }

    @Test("A schema with an unsupported keyword or a dangling reference is refused")
    func refused() {
        let head = #""$schema":"https://json-schema.org/draft/2020-12/schema""#
        for rest in [
            #""anyOf":[]"#, #""type":"text""#, ##""$ref":"#/$defs/none""##, #""format":"uri""#, #""required":["a"]"#,
            #""items":{"contains":{}}"#,
        ] {
            #expect(throws: (any Error).self, "\(rest)") { try JSONSchema("{\(head),\(rest)}") }
        }
        #expect(throws: JSONSchema.Unusable.self) { try JSONSchema("{}") }
    }

    @Test(
        "The validator distinguishes valid and invalid values",
        arguments: [
            (#"{"type":"integer","minimum":2}"#, "2", true), (#"{"type":"integer","minimum":2}"#, "1", false),
            (#"{"type":"integer"}"#, "true", false), (#"{"type":"integer"}"#, "1.5", false),
            (#"{"type":"number","maximum":1}"#, "1", true),
            (#"{"type":["string","null"],"format":"date-time"}"#, "null", true),
            (#"{"type":"string","format":"date-time"}"#, #""today""#, false),
            (#"{"type":"string","format":"date-time"}"#, #""2026-01-02T03:04:05.678Z""#, true),
            (#"{"enum":["a",null]}"#, "null", true),
            (#"{"enum":["a"]}"#, #""b""#, false), (#"{"pattern":"^a+$"}"#, #""aab""#, false),
            (
                #"{"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"additionalProperties":false}"#,
                #"{"a":null}"#, true
            ),
            (
                #"{"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"additionalProperties":false}"#,
                "{}", false
            ),
            (#"{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":false}"#, #"{"b":1}"#, false),
            (##"{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}"##, "[1,2]", true),
            (##"{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}"##, #"[1,"2"]"#, false),
            (#"{"oneOf":[{"type":"null"},{"type":"integer"}]}"#, "1", true),
            (#"{"oneOf":[{"type":"number"},{"type":"integer"}]}"#, "1", false),
        ])
    func validator(schema: String, value: String, isFine: Bool) throws {
        let schema = try JSONSchema(#"{"$schema":"https://json-schema.org/draft/2020-12/schema","# + schema.dropFirst())
        #expect(schema.problems(with: try JSONValue(value)).isEmpty == isFine)
    }
}
#endif
