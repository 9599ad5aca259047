#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@Suite("pagecache, end to end")
struct ToolTests {
    let folder = Folder()

    func sync(_ url: String, _ more: [String] = []) async throws -> Program.Ended {
        try await Tool.run(["sync", url, "--store", folder.store, "--json"] + more)
    }

    @Test(
        "sync fetches every item by each of four paging styles, and list, show and pages report it",
        arguments: [
            ("items", "offset"), ("pages", "page"), ("linked", "link"), ("feed", "next-url"),
        ])
    func fourWays(path: String, paging: String) async throws {
        let origin = DemoOrigin(count: 1_050)
        try await withOrigin(origin) { root in
            let ended = try await sync("\(root)/\(path)")
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.json["paging"] as? String == paging)
            #expect(ended.json["outcome"] as? String == "complete")
            #expect(ended.json["reconciliation"] as? String == "first_load")
            #expect(ended.json["requests"] as? Int == origin.requests.count)
            // On first contact a chain costs one more request: a probe of offsets, or a HEAD for the total. Without a
            // total, page one confirms the walk.
            let first = ["linked": 13, "feed": 12][path] ?? 11
            #expect(origin.requests.count == first)
            #expect(ended.json["items"] as? Int == 1_050)
            #expect(try await shownIDs(folder, "\(root)/\(path)") == origin.ids)

            let listed = try await Tool.run(["list", "--store", folder.store, "--json"]).jsonArray
            #expect(listed.count == 1)
            #expect(listed.first?["query"] as? String == ended.json["query"] as? String)
            #expect(listed.first?["coverage"] as? Double == 1)
            let pages = try await Tool.run(["pages", "\(root)/\(path)", "--store", folder.store, "--json"]).jsonArray
            // With offsets, each request includes the item before its page (R21).
            #expect(pages.count == 11)
            #expect(pages.allSatisfy { $0["state"] as? String == "ok" })

            let again = try await sync("\(root)/\(path)")
            #expect(again.json["reconciliation"] as? String == "unchanged")
            // Without a total the last page is fetched, too, because only it shows whether the list has grown.
            #expect(origin.requests.count == first + (path == "linked" ? 2 : 1))
        }
    }

    @Test(
        "A configured paging style is used",
        arguments: [
            (
                "items",
                [
                    "--paging", "offset", "--items", "/results", "--total", "/count", "--id", "/id", "--page-size",
                    "70", "--overlap", "0",
                ], 15
            ),
            ("pages", ["--paging", "page", "--items", "", "--total", "header:X-Total-Count", "--id", "/id"], 11),
            // Without a total, page one confirms the walk.
            ("linked", ["--paging", "link", "--items", "/items", "--id", "/id"], 12),
            (
                "feed",
                [
                    "--paging", "next-url", "--items", "/data/entries", "--next", "/next", "--total", "/total", "--id",
                    "/id",
                ], 11
            ),
        ])
    func named(path: String, flags: [String], requests: Int) async throws {
        let origin = DemoOrigin(count: 1_050)
        try await withOrigin(origin) { root in
            let ended = try await sync("\(root)/\(path)", flags)
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(origin.requests.count == requests)
            #expect(try await shownIDs(folder, "\(root)/\(path)") == origin.ids)
        }
    }

    @Test("A query is named by its key, a prefix or its id, an unknown name ends with 66, and an ambiguous one with 64")
    func naming() async throws {
        let origin = DemoOrigin(count: 30)
        try await withOrigin(origin) { root in
            let id = try #require(try await sync("\(root)/items").json["query"] as? String)
            _ = try await sync("\(root)/items?sort=up")
            for name in [id, String(id.prefix(5)), "\(root)/items?s", "\(root)/items?limit=9&offset=18"] {
                #expect(try await Tool.run(["pages", name, "--store", folder.store]).status == 0, "\(name)")
            }
            #expect(try await Tool.run(["show", "nothing", "--store", folder.store]).status == 66)
            let several = try await Tool.run(["show", "127.0.0.1", "--store", folder.store])
            #expect(several.status == 64)
            #expect(several.errors.contains("2 queries"))
            // A known query needs no URL.
            let before = origin.requests.count
            #expect(try await sync(id).json["reconciliation"] as? String == "unchanged")
            #expect(origin.requests.count == before + 1)
        }
    }

    @Test("purge lists queries with --dry-run, refuses without --yes, and removes them with it")
    func purge() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            _ = try await sync("\(root)/items")
            func purge(_ flags: [String]) async throws -> Program.Ended {
                try await Tool.run(["purge", "\(root)/items", "--store", folder.store, "--json"] + flags)
            }
            #expect(try await purge(["--dry-run"]).json["pages"] as? Int == 3)
            let refused = try await purge([])
            #expect(refused.status == 64)
            #expect(refused.errors.contains("--yes"))
            #expect(try await Tool.run(["list", "--json", "--store", folder.store]).jsonArray.count == 1)
            #expect(try await purge(["--yes"]).json["queries"] as? Int == 1)
            #expect(try await Tool.run(["list", "--json", "--store", folder.store]).jsonArray.count == 0)
            // A purge that matches no query succeeds.
            #expect(try await Tool.run(["purge", "--all", "--yes", "--store", folder.store]).status == 0)
        }
    }

    @Test("show prints a window in each format, and reports positions beyond the end")
    func show() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            _ = try await sync("\(root)/items")
            func show(_ flags: [String]) async throws -> Program.Ended {
                try await Tool.run(["show", "\(root)/items", "--store", folder.store] + flags)
            }
            #expect(try await show(["--offset", "95", "--limit", "10"]).output.split(separator: "\n").count == 10)
            let json = try await show(["--offset", "240", "--limit", "99", "--json"]).jsonArray
            #expect(json.count == 10)
            #expect(json.last?["id"] as? String == "item-0")
            #expect(
                try await show(["--format", "csv", "--limit", "1"]).output.hasPrefix(
                    "offset,id,payload\n0,item-249,\"{\"\"id\"\""))
            let beyond = try await show(["--offset", "999"])
            #expect(beyond.status == 0)
            #expect(beyond.output.isEmpty)
            #expect(beyond.errors.contains("250 items"))
            // The item is printed byte for byte as the origin sent it (R7).
            let raw = try await show(["--limit", "1"]).output
            #expect(
                raw
                    == #"{"id":"item-249","title":"brass harbour delta","price":249.50,"weight":1.0e0,"note":"größer als 11 – exactly as sent"}"#
                    + "\n")
        }
    }

    @Test("Secrets appear neither in the store, nor in its log, nor in the output (R45)")
    func secrets() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            let host = root.dropFirst("http://".count)
            let ended = try await Tool.run(
                [
                    "sync", "http://user:S3CRETPW@\(host)/feed?api_key=S3CRETKEY&x=1", "--store", folder.store,
                    "--bearer-env", "TOKEN", "--json",
                ],
                environment: ["TOKEN": "S3CRETTOKEN"])
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(origin.requests.allSatisfy { $0.contains("api_key=S3CRETKEY") }, "the secret is sent nevertheless")
            #expect(!(ended.output + ended.errors).contains("S3CRET"))
            #expect(ended.errors.contains("can see a secret in a URL"))
            // This list is not shown without its credential (R45).
            let other = try await Tool.run(["sync", "http://\(host)/feed?x=1", "--store", folder.store])
            #expect(other.status == 77)
            #expect(other.errors.contains("--scope"))
            for file in folder.contents {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)"))
                #expect(bytes.range(of: Data("S3CRET".utf8)) == nil, "\(file)")
            }
        }
    }

    @Test("--help contains examples and the exit codes, and --version prints a version")
    func help() async throws {
        let root = try await Tool.run(["--help"])
        #expect(root.status == 0)
        #expect(root.output.contains("EXIT CODES"))
        for command in ["sync", "list", "show", "pages", "purge", "demo"] {
            let help = try await Tool.run([command, "--help"])
            #expect(help.status == 0)
            #expect(help.output.contains("EXAMPLES"), "\(command)")
        }
        #expect(try await Tool.run(["--version"]).output.split(separator: ".").count == 3)
    }

    @Test("The demo runs to its end and leaves no file behind")
    func demo() async throws {
        let ended = try await Tool.run(["demo"], environment: ["TMPDIR": folder.path])
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.output.contains("kill -9 after"))
        #expect(ended.output.contains("the 10,000 ids in the store are the origin's"))
        // 10,000 items in pages of 100 that overlap by one item are 101 pages.
        let stored = ended.output.firstMatch(of: /items in (\d+) complete pages?/).flatMap { Int($0.1) }
        let missing = ended.output.firstMatch(of: /for (\d+) missing pages?/).flatMap { Int($0.1) }
        #expect(try #require(stored) + #require(missing) == 101)
        #expect(ended.output.contains("answered with 304"))
        #expect(ended.output.contains("sync ends with 75: offline: "))
        #expect(!ended.output.contains(folder.path), "the demo names a file that it removes")
        #expect(folder.contents == [])
    }

    @Test("The demo fits the terminal, breaks no word, and marks what it cuts", arguments: [20, 40, 80])
    func demoAtTerminal(columns: Int) async throws {
        let tool = try TerminalProgram(
            Tool.path, ["demo"],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm", "TMPDIR": folder.path],
            columns: columns)
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 0, "\(tool.shown)")
        let lines = tool.shown.replacing(/\u{1b}\[[0-9;]*[a-zA-Z]/, with: "").split(whereSeparator: \.isNewline)
        for line in lines { #expect(line.count <= columns, "\(line)") }
        let quoted = lines.filter { $0.hasPrefix("     {") }
        #expect(quoted.count == 2, "\(lines)")
        for line in quoted { #expect(line.hasSuffix("}") || line.hasSuffix("…"), "\(line)") }
        // A request count that is cut would be another number.
        for line in lines where line.hasPrefix("   resuming: ") { #expect(line.hasSuffix(" so far"), "\(line)") }
        let words = lines.flatMap { $0.split(separator: " ") }.joined(separator: " ")
        #expect(words.contains("3 The origin changes: three inserts and two deletes"))
    }
}
#endif
