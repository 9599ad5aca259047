#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@Suite("pagecache, end to end")
struct ToolTests {
    private let folder = Folder()

    private func sync(_ url: String, _ more: [String] = []) async throws -> Program.Ended {
        try await Tool.run(["sync", url, "--store", folder.store, "--json"] + more)
    }

    @Test("sync brings in every item by each of the four ways; list, show and pages tell it", arguments: [
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
            // On first contact a chain costs one more: whether it can be asked by offset, or whether a HEAD counts it.
            let first = path == "linked" || path == "feed" ? 12 : 11
            #expect(origin.requests.count == first)
            #expect(ended.json["items"] as? Int == 1_050)
            #expect(try await shownIDs(folder, "\(root)/\(path)") == origin.ids)

            let listed = try await Tool.run(["list", "--store", folder.store, "--json"]).jsonArray
            #expect(listed.count == 1)
            #expect(listed.first?["id"] as? String == ended.json["query"] as? String)
            #expect(listed.first?["coverage"] as? Double == 1)
            let pages = try await Tool.run(["pages", "\(root)/\(path)", "--store", folder.store, "--json"]).jsonArray
            // R21: with offsets, each page is asked for with the item before it.
            #expect(pages.count == 11)
            #expect(pages.allSatisfy { $0["state"] as? String == "ok" })

            let again = try await sync("\(root)/\(path)")
            #expect(again.json["reconciliation"] as? String == "unchanged")
            // Where there is no total, the last page is asked for too: only it tells whether the list has grown.
            #expect(origin.requests.count == first + (path == "linked" ? 2 : 1))
        }
    }

    @Test("the paging that is named is the paging that is used", arguments: [
        ("items", ["--paging", "offset", "--items", "/results", "--total", "/count", "--id", "/id", "--page-size", "70", "--overlap", "0"], 15),
        ("pages", ["--paging", "page", "--items", "", "--total", "header:X-Total-Count", "--id", "/id"], 11),
        ("linked", ["--paging", "link", "--items", "/items", "--id", "/id"], 11),
        ("feed", ["--paging", "next-url", "--items", "/data/entries", "--next", "/next", "--total", "/total", "--id", "/id"], 11),
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

    @Test("R31: kill -9 in the middle; the next run asks for page one and for what was not committed, and nothing else", arguments: [
        "items", "pages", "linked", "feed",
    ])
    func killAndResume(path: String) async throws {
        let committed = 12
        // From the thirteenth request on nothing is answered: whatever is asked for then is in flight when it dies.
        let origin = DemoOrigin(count: 3_000) { number, _ in number > committed ? .hold : nil }
        try await withOrigin(origin) { root in
            let url = "\(root)/\(path)"
            let first = try await Tool.start(["sync", url, "--store", folder.store, "--overlap", "0"])
            let isChain = path == "linked" || path == "feed"
            try await eventually("everything that may be in flight is") { origin.held >= (isChain ? 1 : 4) }
            let inFlight = Set(origin.requests.dropFirst(committed))
            #expect(inFlight.count == (isChain ? 1 : 4))
            first.signal(SIGKILL)
            #expect(try await first.ended().status == SIGKILL)

            // Offline meanwhile: what was committed is served, whole pages only.
            let served = try await shownIDs(folder, url)
            // One request of a chain found out how it can be asked.
            let stored = isChain ? committed - 1 : committed
            #expect(served.count == stored * 100)
            #expect(Set(served).isSubset(of: Set(origin.ids)))
            let pages = try await Tool.run(["pages", url, "--store", folder.store, "--json"]).jsonArray
            #expect(pages.count { $0["state"] as? String == "in_flight" } == inFlight.count)

            origin.release()
            let before = origin.requests.count
            let answered = Set(origin.requests.prefix(committed))
            let second = try await sync(url, ["--overlap", "0"])
            #expect(second.status == 0, "\(second.errors)")
            #expect(second.json["reconciliation"] as? String == "resumed")
            let asked = origin.requests.dropFirst(before)
            #expect(asked.count == 1 + (30 - stored))
            #expect(Set(asked.dropFirst()).isDisjoint(with: answered), "a committed page was asked for again")
            #expect(second.json["pages_kept"] as? Int == stored - 1)
            #expect(try await shownIDs(folder, url) == origin.ids)
        }
    }

    @Test("R14: with the origin gone, show and list work, sync exits 75 with one clear line, and nothing is lost")
    func offline() async throws {
        let origin = DemoOrigin(count: 250)
        let url = try await withOrigin(origin) { (root: String) async throws -> String in
            let url = "\(root)/items"
            #expect(try await sync(url).status == 0)
            return url
        }
        let ended = try await Tool.run(["sync", url, "--store", folder.store, "--quiet"])
        #expect(ended.status == 75)
        #expect(ended.errors.split(separator: "\n").count == 1)
        #expect(ended.errors.contains("connection refused"))
        #expect(ended.errors.contains("250 cached items"))
        let json = try await sync(url)
        #expect(json.status == 75)
        #expect(json.json["outcome"] as? String == "offline")
        #expect(json.json["items"] as? Int == 250)
        #expect((json.json["failures"] as? [[String: Any]])?.first?["error_class"] as? String == "transport")
        #expect(try await Tool.run(["list", "--store", folder.store]).status == 0)
        #expect(try await shownIDs(folder, url) == origin.ids)
        let untouched = try await Tool.run(["sync", url, "--offline", "--store", folder.store, "--json"])
        #expect(untouched.status == 0)
        #expect(untouched.json["requests"] as? Int == 0)
    }

    @Test("nothing cached and nobody there: 69, one line, and no store is made")
    func unreachable() async throws {
        let ended = try await Tool.run(["sync", "http://127.0.0.1:1/items", "--store", folder.store, "--quiet"])
        #expect(ended.status == 69)
        #expect(ended.errors == "pagecache: http://127.0.0.1:1/items: connection refused\n")
        let host = try await Tool.run(["sync", "http://no-such-host.invalid/items", "--store", folder.store, "--quiet"])
        #expect(host.status == 69)
        #expect(host.errors.split(separator: "\n").count == 1)
        #expect(folder.contents == [])
    }

    @Test("errors of the origin: retried where that helps, told where it does not", arguments: [
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

    @Test("500s and a 429 with Retry-After on the way: waited out, and all is there")
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

    @Test("what is not a URL of ours, or no usage at all: 64, one line, nothing made", arguments: [
        ["sync", "ftp://example.com/x"], ["sync", "file:///etc/passwd"], ["sync", "http://"], ["sync"], ["frobnicate"],
        ["sync", "http://h/", "--paging", "sideways"], ["sync", "http://h/", "--items", "items"], ["sync", "http://h/", "--wait", "soon"],
        ["sync", "http://h/", "--concurrency", "0"], ["purge"], ["purge", "--all", "--stale"], ["list", "--format", "xml"],
    ])
    func usage(arguments: [String]) async throws {
        let ended = try await Tool.run(arguments, environment: ["PAGECACHE_STORE": folder.store])
        #expect(ended.status == 64)
        #expect(ended.errors.split(separator: "\n").count == 1, "\(ended.errors)")
        #expect(ended.errors.hasPrefix("pagecache: "))
        #expect(ended.output.isEmpty)
        #expect(folder.contents == [])
    }

    @Test("--json errors are JSON, on standard error")
    func jsonErrors() async throws {
        let ended = try await Tool.run(["list", "--json", "--store", folder.store])
        #expect(ended.status == 66)
        let error = try #require(
            (try JSONSerialization.jsonObject(with: Data(ended.errors.utf8)) as? [String: Any])?["error"] as? [String: Any])
        #expect(error["code"] as? String == "not_found")
        #expect(error["message"] is String)
        #expect(error["hint"] is String)
    }

    @Test("stores that cannot be: the right code, one line, nothing changed")
    func badStores() async throws {
        let origin = DemoOrigin(count: 10)
        try await withOrigin(origin) { root in
            let text = "\(folder.path)/notes.txt"
            try "my notes".write(toFile: text, atomically: true, encoding: .utf8)
            for (path, status) in [(text, 65), ("\(text)/store.sqlite", 73), (folder.path, 65), ("/proc/none/store.sqlite", 73)] as [(String, Int32)] {
                let ended = try await Tool.run(["sync", "\(root)/items", "--store", path])
                #expect(ended.status == status, "\(path): \(ended.errors)")
                #expect(ended.errors.split(separator: "\n").count == 1)
            }
            #expect(try String(contentsOfFile: text, encoding: .utf8) == "my notes")
            #expect(folder.contents == ["notes.txt"])
        }
    }

    @Test("a query is named by its key, a prefix, or its id; a name of nothing is 66, of several 64")
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

    @Test("purge shows with --dry-run, refuses without --yes, removes with it, and says how much")
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
            // A purge that matches nothing is done.
            #expect(try await Tool.run(["purge", "--all", "--yes", "--store", folder.store]).status == 0)
        }
    }

    @Test("show: windows, formats, and positions beyond the end")
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
            #expect(try await show(["--format", "csv", "--limit", "1"]).output.hasPrefix("offset,id,payload\n0,item-249,\"{\"\"id\"\""))
            let beyond = try await show(["--offset", "999"])
            #expect(beyond.status == 0)
            #expect(beyond.output.isEmpty)
            #expect(beyond.errors.contains("250 items"))
            // R7: byte for byte what the origin sent.
            let raw = try await show(["--limit", "1"]).output
            #expect(raw == #"{"id":"item-249","title":"brass harbour delta","price":249.50,"weight":1.0e0,"note":"größer als 11 – exactly as sent"}"# + "\n")
        }
    }

    @Test("SIGINT and SIGTERM: what was fetched is kept, within a second, and the code says which", arguments: [SIGINT, SIGTERM])
    func signals(number: Int32) async throws {
        let origin = DemoOrigin(count: 3_000) { number, _ in number > 6 ? .hold : nil }
        try await withOrigin(origin) { root in
            let tool = try await Tool.start(["sync", "\(root)/items", "--store", folder.store, "--overlap", "0"])
            try await eventually("it waits for four pages") { origin.held == 4 }
            let asked = ContinuousClock.now
            tool.signal(number)
            let ended = try await tool.ended()
            #expect(ended.status == 128 + number)
            // Beside hundreds of other tests a second may take several; the answers that are held would take a minute.
            #expect(ContinuousClock.now - asked < .seconds(15))
            #expect(try await shownIDs(folder, "\(root)/items").count == 600)
            let pages = try await Tool.run(["pages", "\(root)/items", "--store", folder.store, "--json"]).jsonArray
            #expect(pages.count { $0["state"] as? String == "in_flight" } == 0)
        }
    }

    @Test("R45: no secret in the store, its log, or anything that is printed")
    func secrets() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            let host = root.dropFirst("http://".count)
            let ended = try await Tool.run(
                ["sync", "http://user:S3CRETPW@\(host)/feed?api_key=S3CRETKEY&x=1", "--store", folder.store, "--bearer-env", "TOKEN", "--json"],
                environment: ["TOKEN": "S3CRETTOKEN"])
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(origin.requests.allSatisfy { $0.contains("api_key=S3CRETKEY") }, "and yet it is sent")
            #expect(!(ended.output + ended.errors).contains("S3CRET"))
            #expect(ended.errors.contains("a secret in a URL can be seen"))
            // R45: nobody else is shown this list by accident.
            let other = try await Tool.run(["sync", "http://\(host)/feed?x=1", "--store", folder.store])
            #expect(other.status == 77)
            #expect(other.errors.contains("--scope"))
            for file in folder.contents {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)"))
                #expect(bytes.range(of: Data("S3CRET".utf8)) == nil, "\(file)")
            }
        }
    }

    @Test("damaged bytes are left out and said, and the next sync fetches them again")
    func damage() async throws {
        let origin = DemoOrigin(count: 950)
        try await withOrigin(origin) { root in
            let url = "\(root)/feed"
            _ = try await sync(url)
            let script = try await Program.run("/usr/bin/env", [
                "python3", "-c",
                "import sqlite3; d = sqlite3.connect('\(folder.store)'); d.execute('UPDATE body SET payload = zeroblob(length(payload)) WHERE id = (SELECT body FROM page WHERE offset = 300)'); d.commit()",
            ])
            #expect(script.status == 0)
            let shown = try await Tool.run(["show", url, "--store", folder.store])
            #expect(shown.status == 65)
            #expect(shown.output.split(separator: "\n").count == 850)
            #expect(shown.errors.contains("100 items from position 300 on are damaged"))
            let before = origin.requests.count
            #expect(try await sync(url).status == 0)
            #expect(origin.requests.count == before + 2)
            #expect(try await shownIDs(folder, url) == origin.ids)
        }
    }

    @Test("| head is quiet")
    func brokenPipe() async throws {
        let origin = DemoOrigin(count: 3_000)
        try await withOrigin(origin) { root in
            _ = try await sync("\(root)/items")
            let command = "'\(Tool.path)' show '\(root)/items' --store '\(folder.store)' | head -n 1 >/dev/null"
            #expect(try await Program.run("/bin/sh", ["-c", command]).errors.isEmpty)
        }
    }

    @Test("--help has examples, --version a version, and the exit codes are told")
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

    @Test("the demo tells its story in less than a minute, and leaves nothing behind")
    func demo() async throws {
        let started = ContinuousClock.now
        let ended = try await Tool.run(["demo"], environment: ["TMPDIR": folder.path])
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.output.contains("kill -9 after"))
        #expect(ended.output.contains("the 10,000 ids in the store are the origin's"))
        #expect(ended.output.contains("answered with 304"))
        #expect(ended.output.contains("sync ends with 75"))
        #expect(ContinuousClock.now - started < .seconds(60))
        #expect(folder.contents == [])
    }
}
#endif
