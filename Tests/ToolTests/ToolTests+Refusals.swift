#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

// Failures of the tool: the exit code, one line of explanation, and no change.
extension ToolTests {
    @Test("An unreachable origin without a cached list ends with 69 and one line, and creates no store")
    func unreachable() async throws {
        let ended = try await Tool.run(["sync", "http://127.0.0.1:1/items", "--store", folder.store, "--quiet"])
        #expect(ended.status == 69)
        let problem = "pagecache: http://127.0.0.1:1/items: connection refused"
        #expect(ended.errors == "\(problem) (check the host and the port of the URL, and the network)\n")
        let host = try await Tool.run(["sync", "http://no-such-host.invalid/items", "--store", folder.store, "--quiet"])
        #expect(host.status == 69)
        #expect(host.errors.split(separator: "\n").count == 1)
        #expect(folder.contents == [])
    }

    @Test(
        "A refusal by the origin is not retried, and ends with its own code",
        arguments: [
            (404, 65), (410, 65), (401, 77), (403, 77),
        ])
    func refused(status: Int, exit: Int32) async throws {
        let origin = DemoOrigin(count: 10) { _, _ in .status(status, retryAfter: nil) }
        try await withOrigin(origin) { root in
            let ended = try await Tool.run(["sync", "\(root)/items", "--store", folder.store, "--quiet"])
            #expect(ended.status == exit)
            #expect(ended.errors.contains("the origin answered \(status) ("))
            #expect(ended.errors.split(separator: "\n").count == 1)
            #expect(origin.requests.count == 1)
            #expect(folder.contents == [])
        }
    }

    @Test("Answers 500 and 429 with Retry-After are retried until the list is complete")
    func faults() async throws {
        let origin = DemoOrigin(count: 2_000) { number, _ in
            number == 7 ? .status(429, retryAfter: 1) : number % 5 == 0 ? .status(500, retryAfter: nil) : nil
        }
        try await withOrigin(origin) { root in
            let ended = try await sync("\(root)/items")
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(try await shownIDs(folder, "\(root)/items") == origin.ids)
            #expect((ended.json["failures"] as? [Any])?.isEmpty == true)
        }
    }

    @Test(
        "An invalid URL or wrong usage ends with 64 and one line, and creates no file",
        arguments: [
            ["sync", "ftp://example.com/x"], ["sync", "file:///etc/passwd"], ["sync", "http://"], ["sync"],
            ["frobnicate"],
            ["sync", "http://h/", "--paging", "sideways"], ["sync", "http://h/", "--items", "items"],
            ["sync", "http://h/", "--wait", "soon"],
            ["sync", "http://h/", "--concurrency", "0"], ["purge"], ["purge", "--all", "--stale"],
            ["list", "--format", "xml"],
        ])
    func usage(arguments: [String]) async throws {
        let ended = try await Tool.run(arguments, environment: ["PAGECACHE_STORE": folder.store])
        #expect(ended.status == 64)
        #expect(ended.errors.split(separator: "\n").count == 1, "\(ended.errors)")
        #expect(ended.errors.hasPrefix("pagecache: "))
        #expect(ended.output.isEmpty)
        #expect(folder.contents == [])
    }

    @Test("Errors with --json are JSON on standard error")
    func jsonErrors() async throws {
        let ended = try await Tool.run(["list", "--json", "--store", folder.store])
        #expect(ended.status == 66)
        let error = try #require(
            (try JSONSerialization.jsonObject(with: Data(ended.errors.utf8)) as? [String: Any])?["error"]
                as? [String: Any])
        #expect(error["code"] as? String == "not_found")
        #expect(error["message"] is String)
        #expect(error["hint"] is String)
    }

    @Test("An invalid path of a store ends with its own code and one line, and changes no file")
    func badStores() async throws {
        let origin = DemoOrigin(count: 10)
        try await withOrigin(origin) { root in
            let text = "\(folder.path)/notes.txt"
            try "my notes".write(toFile: text, atomically: true, encoding: .utf8)
            for (path, status) in [
                (text, 65), ("\(text)/store.sqlite", 73), (folder.path, 64), ("/proc/none/store.sqlite", 73),
            ] as [(String, Int32)] {
                let ended = try await Tool.run(["sync", "\(root)/items", "--store", path])
                #expect(ended.status == status, "\(path): \(ended.errors)")
                // On a busy machine, a line of progress may come first: one is printed every five seconds.
                let lines = ended.errors.split(separator: "\n").filter { !$0.hasSuffix(" requests") }
                #expect(lines.count == 1, "\(path): \(ended.errors)")
            }
            #expect(try String(contentsOfFile: text, encoding: .utf8) == "my notes")
            #expect(folder.contents == ["notes.txt"])
        }
    }

    @Test(
        "show omits damaged items and reports them without writing, and after verify --repair the next sync fetches them again"
    )
    func damage() async throws {
        let origin = DemoOrigin(count: 950)
        try await withOrigin(origin) { root in
            let url = "\(root)/feed"
            _ = try await sync(url)
            let script = try await Program.run(
                "/usr/bin/env",
                [
                    "python3", "-c",
                    "import sqlite3; d = sqlite3.connect('\(folder.store)'); d.execute('UPDATE body SET payload = zeroblob(length(payload)) WHERE id = (SELECT body FROM page WHERE offset = 300)'); d.commit()",
                ])
            #expect(script.status == 0)
            // A page is stale after a minute, which the commands take on a busy machine.
            func pages() async throws -> String {
                try await Tool.run(["pages", url, "--json", "--store", folder.store]).output.replacing(
                    #""stale""#, with: #""fresh""#)
            }
            let listed = try await pages()
            let shown = try await Tool.run(["show", url, "--store", folder.store])
            #expect(try await pages() == listed, "show does not write to the store")
            #expect(shown.status == 65)
            #expect(shown.output.split(separator: "\n").count == 850)
            #expect(shown.errors.contains("100 items from position 300 on are damaged"))
            #expect(shown.errors.contains("verify --repair"))
            let lost = try await Tool.run(["show", url, "--id", origin.ids[320], "--store", folder.store])
            #expect(lost.status == 65 && lost.errors.contains("100 items from position 300 on are damaged"))
            #expect(try await Tool.run(["verify", "--repair", "--yes", "--store", folder.store]).status == 0)
            let before = origin.requests.count
            #expect(try await sync(url).status == 0)
            // Page one, the damaged page, and the end of the chain, which no total shows (R24).
            #expect(origin.requests.count == before + 3)
            #expect(try await shownIDs(folder, url) == origin.ids)
        }
    }

    @Test(
        "Each command that syncs stored lists finds damaged items, and fetches them again",
        arguments: [["--all"], ["--all", "--sweep"], ["--stale", "--stale-after", "1ms"]])
    func damageInStoredLists(options: [String]) async throws {
        let origin = DemoOrigin(count: 950)
        try await withOrigin(origin) { root in
            _ = try await sync("\(root)/feed")
            let script = try await Program.run(
                "/usr/bin/env",
                [
                    "python3", "-c",
                    "import sqlite3; d = sqlite3.connect('\(folder.store)'); d.execute('UPDATE body SET payload = zeroblob(length(payload)) WHERE id = (SELECT body FROM page WHERE offset = 300)'); d.commit()",
                ])
            #expect(script.status == 0, "\(script.errors)")
            let ended = try await Tool.run(["sync"] + options + ["--store", folder.store])
            #expect(ended.status == 0 && ended.errors.contains("100 items are damaged in the store"), "\(ended.errors)")
            #expect(try await shownIDs(folder, "\(root)/feed") == origin.ids)
        }
    }
}
#endif
