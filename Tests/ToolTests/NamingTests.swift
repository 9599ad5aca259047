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

/// Names of queries, the map of a list, and options that every command has.
@Suite("pagecache: names, maps and common options")
struct NamingTests {
    private let folder = Folder()

    @Test("The warning about purged bytes in the log says when a command removes them")
    func purgedBytes() {
        let read = Purge.remainder(isDiskFull: false)
        #expect(read.contains("another process reads the store; "))
        let remedy = "the first command that writes to the store removes these bytes"
        #expect(read.hasSuffix("; once that process has ended its read, \(remedy)"))
        let full = Purge.remainder(isDiskFull: true)
        #expect(full.hasSuffix("; once the disk has room, \(remedy)"))
    }

    private func register(_ keys: [QueryKey], at moment: Timestamp = noon) async throws {
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        for key in keys { _ = try await store.register(key, at: moment) }
        await store.close()
    }

    @Test(
        "A name with swapped, missing or wrong letters, or a part of a name, leads to a suggestion",
        arguments: [
            ("itmes", "items"), ("item", "items"), ("itemsx", "items"), ("IT3MS", "items"), ("ord", "orders"),
            ("odrers", "orders"),
        ])
    func suggestions(wrong: String, right: String) {
        let names = [["items"], ["orders"], ["customers"]]
        #expect(Spelling.suggestions(for: wrong, among: names).first.map { names[$0][0] } == right)
    }

    @Test("Implausible names lead to no suggestion, and long names are compared quickly")
    func noSuggestions() {
        #expect(Spelling.suggestions(for: "zebra", among: [["items"], ["orders"]]).isEmpty)
        #expect(Spelling.suggestions(for: "", among: [["items"]]).isEmpty)
        #expect(
            Spelling.suggestions(for: "it", among: [["kit"], ["site"]]).count == 1,
            "two letters match too much, unless one more letter completes the name")
        let long = String(repeating: "a", count: 100_000)
        #expect(Spelling.suggestions(for: long + "b", among: [[long]]) == [0])
        #expect(Spelling.suggestions(for: "aab", among: (0..<9).map { ["aab\($0)"] }).count == 3)
    }

    @Test("The number of letters that may differ in an option depends on its length")
    func options() {
        #expect(Spelling.distance(ofOption: "--nope", "--scope") == nil)
        #expect(Spelling.distance(ofOption: "--du", "--due") == 1)
        #expect(Spelling.distance(ofOption: "--jsno", "--json") == 1)
        #expect(Spelling.distance(ofOption: "--max-pegas", "--max-pages") == 2)
        #expect(Spelling.distance(ofOption: "--cocurency", "--concurrency") == 2)
        #expect(Spelling.distance(ofOption: "--aa", "--bb") == nil)
    }

    @Test("An unknown name ends with 66 and a suggestion, and an ambiguous one with 64 and the ids")
    func names() async throws {
        let items = QueryKey("https://api.example.com/items")
        let orders = [
            QueryKey("https://api.example.com/orders", scope: "a"),
            QueryKey("https://api.example.com/orders", scope: "b"),
        ]
        try await register([items] + orders)
        let wrong = try await folder.tool(["show", "itmes", "--json"])
        #expect(wrong.status == 66)
        #expect(wrong.errors.contains("did you mean \(items.shortID) – https://api.example.com/items?"))
        let id = try await folder.tool(["why", String(items.shortID.dropLast() + "_")])
        #expect(id.status == 66)
        #expect(id.errors.contains("did you mean \(items.shortID)"))
        let nothing = try await folder.tool(["pages", "zebra"])
        #expect(nothing.status == 66)
        let hint = "'pagecache list --store \(folder.store)' shows the stored queries"
        #expect(nothing.errors == "pagecache: no query is named 'zebra' (\(hint))\n")
        let several = try await folder.tool(["why", "api.example.com/orders"])
        #expect(several.status == 64)
        #expect(several.errors.contains("2 queries: \(orders[0].shortID) – a: "))
        #expect(several.errors.contains("\(orders[1].shortID) – b: "))
        _ = try await folder.tool(["purge", "--all", "--yes"])
        #expect(try await folder.tool(["show", "itmes"]).errors.contains("the store is empty"))
    }

    @Test(
        "Every command suggests the right list for an id with a wrong letter, and how to find one for an unknown name",
        arguments: [
            ["sync"], ["show"], ["pages"], ["why"], ["export"], ["pin"], ["unpin"], ["retry"], ["watch"],
            ["purge", "--yes"],
        ])
    func wrongID(command: [String]) async throws {
        let key = QueryKey("https://api.example.com/items")
        try await register([key, "https://api.example.com/customers"])
        // One letter in the middle differs, as in a misread id.
        var letters = Array(key.shortID)
        letters[6] = letters[6] == "7" ? "8" : "7"
        let wrong = try await folder.tool(command + [String(letters)])
        #expect(wrong.status == 66)
        #expect(
            wrong.errors.contains("did you mean \(key.shortID) – https://api.example.com/items?"), "\(wrong.errors)")
        let nothing = try await folder.tool(command + ["zebra"])
        #expect(nothing.status == 66)
        #expect(
            nothing.errors.contains(
                command == ["sync"]
                    ? "to add a query, give its URL"
                    : "'pagecache list --store \(folder.store)' shows the stored queries"))
    }

    @Test("A URL without its scheme names its own query, although another URL begins with it")
    func withoutScheme() {
        let keys = ["http://api.example.com/items", "http://api.example.com/items2"].map { QueryKey($0) }
        #expect(QuerySelector.matches("api.example.com/items", keys) == [0])
        #expect(QuerySelector.matches("api.example.com/item", keys) == [0, 1])
    }

    @Test("pages --map draws a map for people, and prints its ranges in formats for programs")
    func map() async throws {
        let origin = DemoOrigin(count: 300) { _, target in
            target.contains("offset=200") ? .status(500, retryAfter: nil) : nil
        }
        try await withOrigin(origin) { root in
            _ = try await folder.tool(["sync", "\(root)/items", "--overlap", "0", "--wait", "0s", "--quiet"])
            let drawn = try await folder.tool(["pages", "\(root)/items", "--map"]).output.split(separator: "\n")
            #expect(drawn.allSatisfy { $0.count < 80 && !$0.contains("\u{1b}") })
            #expect(drawn.last?.contains("! failing 100") == true)
            let stretches = try await folder.tool(["pages", "\(root)/items", "--map", "--json"]).jsonArray
            #expect(stretches.first?["offset"] as? Int == 0)
            #expect(stretches.compactMap { $0["count"] as? Int }.reduce(0, +) == 300)
            #expect(stretches.last?["state"] as? String == "failing")
            #expect(stretches.last?["offset"] as? Int == 200)
            let csv = try await folder.tool(["pages", "\(root)/items", "--map", "--format", "csv"]).output
            #expect(csv.hasPrefix("offset,count,state\n0,"))
        }
    }

    @Test(
        "pages --map fits a terminal of 20 columns, with colours unless NO_COLOR is set",
        arguments: [false, true])
    func mapAtTerminal(isPlain: Bool) async throws {
        try await folder.writeListWithGap()
        var variables = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"]
        if isPlain { variables["NO_COLOR"] = "1" }
        let drawn = try TerminalProgram(
            Tool.path, ["pages", "list", "--map", "--store", folder.store], environment: variables, columns: 20)
        try await eventually("it has ended") { drawn.ended != nil }
        #expect(drawn.ended == 0)
        #expect(drawn.shown.contains("\u{1b}[90m") == !isPlain)
        let lines = drawn.shown.replacing(/\u{1b}\[\d+m/, with: "").split(whereSeparator: \.isNewline)
        #expect(lines.allSatisfy { $0.count < 20 }, "\(drawn.shown)")
        #expect(lines.contains { $0.contains("· gap 50") })
    }

    @Test("purge selects by scope, age or failure, and --dry-run lists the queries and removes none")
    func purge() async throws {
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        try await register([QueryKey("old", scope: "a")], at: now + .seconds(-86_400 * 8))
        try await register([QueryKey("new", scope: "b"), QueryKey("failed", scope: "b")], at: now)
        let store = try await SQLitePageStore.openForTest(at: folder.store)
        let failed = try #require(try await store.query(QueryKey("failed", scope: "b"))).id
        try await store.record(
            [.failed(offset: 0, failure: FetchFailure(.server, "m", isRetryable: true), nextAttemptIn: nil)],
            for: failed, at: now)
        await store.close()
        func keys() async throws -> Set<String> {
            Set(try await folder.tool(["list", "--json"]).jsonArray.compactMap { $0["key"] as? String })
        }

        let dry = try await folder.tool(["purge", "--older-than", "7d", "--dry-run"]).output
        #expect(dry.contains("\(QueryKey("old", scope: "a").shortID)  old  (a)\nwould remove 1 query, 0 pages"))
        let csv = try await folder.tool(["purge", "--older-than", "7d", "--dry-run", "--format", "csv"]).output
        #expect(csv == "dry_run,queries,pages,bytes,may_remain_in_log,may_remain_in_file\ntrue,1,0,0,false,false\n")
        #expect(try await keys().count == 3)
        #expect(try await folder.tool(["purge", "--older-than", "7d", "--yes"]).status == 0)
        #expect(try await keys() == ["new", "failed"])
        #expect(try await folder.tool(["purge", "--failed", "--yes", "--json"]).json["queries"] as? Int == 1)
        #expect(try await keys() == ["new"])
        #expect(try await folder.tool(["purge", "--scope", "a", "--yes", "--json"]).json["queries"] as? Int == 0)
        #expect(try await folder.tool(["purge", "--scope", "b", "--yes", "--json"]).json["queries"] as? Int == 1)
        #expect(try await keys().isEmpty)
    }

    @Test("Every command accepts --no-input and then asks no question")
    func noInput() async throws {
        try await register(["list"])
        #expect(try await folder.tool(["list", "--no-input"]).status == 0)
        let refused = try await folder.tool(["purge", "--all", "--no-input"])
        #expect(refused.status == 64)
        #expect(refused.errors.contains("--yes"))
        #expect(try await folder.tool(["list", "--json"]).jsonArray.count == 1)
    }

    @Test("--verbose prints more on standard error without secrets, and changes no result")
    func verbose() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            let ended = try await folder.tool(
                ["sync", "\(root)/items?api_key=S3CRET", "--verbose", "--json"], environment: ["TOKEN": "S3CRET"])
            #expect(ended.status == 0)
            #expect(ended.json["outcome"] as? String == "complete")
            #expect(ended.errors.contains(#""level":"detail","message":"the store is \#(folder.store)"#))
            #expect(ended.errors.contains(#""message":"run started"#))
            #expect(!ended.errors.contains("S3CRET"))
            let plain = try await folder.tool(["list", "--json"])
            #expect(plain.errors.isEmpty)
            #expect(try await folder.tool(["list", "--json", "--verbose"]).output == plain.output)
        }
    }

    @Test(
        "The help of each command contains examples",
        arguments: ["errors", "why", "retry", "stats", "pages", "purge", "sync"])
    func help(command: String) async throws {
        let help = try await Tool.run([command, "--help"])
        #expect(help.status == 0)
        #expect(help.output.contains("EXAMPLES\n"))
        #expect(help.output.contains("--no-input"))
    }
}
#endif
