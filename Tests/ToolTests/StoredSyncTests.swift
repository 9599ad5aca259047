#if Tool
import DemoOrigin
import Foundation
import PageModel
import PagedRepository
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

/// `sync --all`, `--stale`, `--due`, `--quiet`, `info` and `doctor`.
@Suite("pagecache sync of stored queries, info, doctor")
struct StoredSyncTests {
    private let folder = Folder()

    private func tool(_ arguments: [String]) async throws -> Program.Ended { try await folder.tool(arguments) }

    @Test("--all syncs every query, --stale the stale ones, and --due explains why it does nothing")
    func selections() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            for path in ["items", "feed"] { #expect(try await tool(["sync", "\(root)/\(path)"]).status == 0) }
            let all = try await tool(["sync", "--all", "--json"])
            #expect(all.status == 0)
            #expect(all.jsonArray.count == 2)
            let table = try await tool(["sync", "--all"])
            #expect(table.output.split(separator: "\n").count == 2)
            #expect(table.errors.contains("2 queries: 2 complete · 2 requests, "))
            #expect(try await tool(["sync", "--stale"]).errors == "no query is stale\n")
            #expect(try await tool(["sync", "--due"]).errors == "nothing is due\n")
            let stale = try await tool(["sync", "--stale", "--stale-after", "0s", "--json"])
            #expect(stale.jsonArray.count == 2)
            let due = try await tool(["sync", "--due", "--stale-after", "0s"])
            #expect(due.status == 0)
            #expect(due.errors.contains("nothing is due (2 stale queries are not pinned; "), "\(due.errors)")
        }
    }

    @Test("--all limits the rate of requests to an origin of several queries, and trusts only --cacert")
    func limits() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            for path in ["items", "items?sort=name"] {
                #expect(try await tool(["sync", "\(root)/\(path)"]).status == 0)
            }
            let before = origin.requests.count
            let began = ContinuousClock.now
            #expect(try await tool(["sync", "--all", "--sweep", "--rate", "4/s"]).status == 0)
            let sent = origin.requests.count - before
            #expect(sent >= 4)
            // A fetch may send more than one request.
            #expect(ContinuousClock.now - began >= .milliseconds(250) * (sent / 2))
            let untrusting = try await tool(["sync", "--all", "--cacert", "\(folder.path)/none.pem"])
            #expect(untrusting.status == 64)
            #expect(untrusting.errors.contains("none.pem"), "\(untrusting.errors)")
        }
    }

    @Test("A successful sync with --quiet prints nothing, and a failing one its error")
    func quiet() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            for arguments in [["sync", "\(root)/items"], ["sync", "\(root)/items"], ["sync", "--all"]] {
                let ended = try await tool(arguments + ["--quiet"])
                #expect(ended.status == 0)
                #expect(ended.output + ended.errors == "", "\(arguments)")
            }
            #expect(
                try await tool(["sync", "\(root)/items", "--quiet", "--json"]).json["outcome"] as? String == "complete")
            await origin.stop()
            let ended = try await tool(["sync", "\(root)/items", "--quiet", "--wait", "0s"])
            #expect(ended.status == 75)
            #expect(ended.errors.contains("offline: "))
        }
    }

    @Test("A result window ends a sync with 0 as limited, and a warning has both numbers")
    func resultWindow() async throws {
        let origin = DemoOrigin(count: 450) { _, target in
            let offset = target.firstMatch(of: /offset=(\d+)/).flatMap { Int($0.1) } ?? 0
            return offset >= 200 ? .status(422, retryAfter: nil) : nil
        }
        try await withOrigin(origin) { root in
            for _ in 0..<2 {
                let ended = try await tool(["sync", "\(root)/items", "--overlap", "0", "--json"])
                #expect(ended.status == 0, "\(ended.errors)")
                #expect(ended.json["outcome"] as? String == "limited")
                #expect(ended.json["limited_by"] as? String == "origin_window")
                #expect(ended.json["items"] as? Int == 200)
                let warnings = try #require(ended.json["warnings"] as? [String])
                #expect(warnings.contains { $0.contains("450") && $0.contains("200") }, "\(warnings)")
            }
        }
    }

    @Test("A style that was named once belongs to the list, also for --all, and --paging auto detects again (R47)")
    func keptStyle() async throws {
        // A page of 100 without a way on looks like a part of its list.
        let origin = DemoOrigin(count: 100)
        try await withOrigin(origin) { root in
            #expect(try await tool(["sync", "\(root)/linked", "--paging", "none"]).status == 0)
            for arguments in [["\(root)/linked"], ["--all"]] {
                let before = origin.requests.count
                let ended = try await tool(["sync"] + arguments)
                #expect(ended.status == 0, "\(ended.errors)")
                #expect(origin.requests.count == before + 1)
            }
            #expect(try await tool(["sync", "\(root)/linked", "--paging", "auto"]).status == 75)
        }
    }

    @Test("SIGINT in a sweep reports the verified pages and how to continue, not a changing list")
    func interruptedSweep() async throws {
        let origin = DemoOrigin(count: 3_000) { number, _ in number > 40 ? .hold : nil }
        try await withOrigin(origin) { root in
            #expect(try await tool(["sync", "\(root)/items", "--overlap", "0"]).status == 0)
            let sweep = try await Tool.start(["sync", "\(root)/items", "--sweep", "--json", "--store", folder.store])
            try await eventually("requests are held") { origin.held >= 2 }
            sweep.signal(SIGINT)
            let ended = try await sweep.ended()
            #expect(ended.status == 130)
            #expect(ended.json["outcome"] as? String == "interrupted")
            #expect(ended.json["requests_failed"] as? Int == 0, "an interrupted request is no failed one")
            #expect(
                ended.errors.firstMatch(of: /interrupted: \d+ of \d+ pages verified; run the command again to continue/)
                    != nil, "\(ended.errors)")
            #expect(!ended.errors.contains("kept changing"))
            origin.release()
        }
    }

    @Test("info shows the URL of a named query, its paging and its settings, and list --json and why name the URL")
    func info() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            #expect(try await tool(["sync", "\(root)/items?sort=name&offset=0", "--key", "orders"]).status == 0)
            let url = "\(root)/items?sort=name"
            let json = try await tool(["info", "orders", "--json"])
            let schema = try JSONSchema(
                String(contentsOfFile: Repository.path("Documentation/schemas/info.json"), encoding: .utf8))
            #expect(schema.problems(with: try JSONValue(json.output)) == [])
            #expect((json.json["url"] as? String)?.hasPrefix("\(root)/items") == true)
            #expect(json.json["paging"] as? String == "offset")
            #expect(json.json["page_size"] as? Int == 100)
            #expect(json.json["credential"] as? Bool == false)
            #expect(json.json["pinned"] as? Bool == false)
            #expect((json.json["profile"] as? [Any])?.isEmpty == false)
            let table = try await tool(["info", "orders"])
            #expect(table.output.contains("Paging       offset, 100 items per page"), "\(table.output)")
            let shown = try #require(json.json["url"] as? String)
            #expect(try await tool(["list", "--json"]).jsonArray.first?["url"] as? String == shown)
            #expect(try await tool(["why", "orders"]).output.split(separator: "\n")[0].contains(shown))
            #expect(try await tool(["why", "orders", "--json"]).json["url"] as? String == shown)
            #expect(shown.hasPrefix(url) || url.hasPrefix(shown))
        }
    }

    @Test("A first sync of a URL names the list with a key that has the URL already")
    func sameURL() async throws {
        let origin = DemoOrigin(count: 50)
        try await withOrigin(origin) { root in
            #expect(try await tool(["sync", "\(root)/items", "--key", "orders"]).status == 0)
            let second = try await tool(["sync", "\(root)/items"])
            #expect(second.status == 0)
            let hint = "'orders' has this URL already, and this is a second copy; 'pagecache sync "
            #expect(second.errors.contains(hint + QueryKey("orders").shortID), "\(second.errors)")
            for arguments in [["\(root)/items"], ["\(root)/items?sort=up"], ["\(root)/items", "--key", "third"]] {
                let ended = try await tool(["sync"] + arguments)
                #expect(!ended.errors.contains("second copy"), "\(ended.errors)")
            }
        }
    }

    @Test("doctor checks a store, and reports what is wrong with it in its exit code")
    func doctor() async throws {
        let missing = try await tool(["doctor"])
        #expect(missing.status == 0)
        #expect(missing.output.contains("there is no store"))
        let origin = DemoOrigin(count: 250)
        let synced = try await withOrigin(origin) { root in try await tool(["sync", "\(root)/items"]) }
        #expect(synced.status == 0)
        let sound = try await tool(["doctor", "--json"])
        #expect(sound.status == 0)
        let schema = try JSONSchema(
            String(contentsOfFile: Repository.path("Documentation/schemas/doctor.json"), encoding: .utf8))
        #expect(schema.problems(with: try JSONValue(sound.output)) == [])
        #expect(sound.jsonArray.contains { $0["check"] as? String == "store" && $0["status"] as? String == "ok" })
        #expect(chmod(folder.store, 0o644) == 0)
        let open = try await tool(["doctor"])
        #expect(open.status == 77)
        #expect(open.output.contains("chmod 600"))
        let environment = ["SSL_CERT_FILE": "/nonexistent/ca.pem"]
        #expect(chmod(folder.store, 0o600) == 0)
        #expect(try await folder.tool(["doctor"], environment: environment).status == 64)
        for proxy in ["foo://x", "http://127.0.0.1:99999"] {
            let ended = try await folder.tool(["doctor", "--json"], environment: ["HTTP_PROXY": proxy])
            #expect(ended.status == 64, "as of every sync: \(ended.output)")
            #expect(ended.output.contains("HTTP_PROXY: "), "\(ended.output)")
        }
    }

    @Test("A list whose items were all evicted is stale: list shows it, and sync --stale fetches it")
    func evicted() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            #expect(try await tool(["sync", "\(root)/items"]).status == 0)
            #expect(try await tool(["gc", "--max-bytes", "0"]).status == 0)
            let list = try #require(try await tool(["list", "--json"]).jsonArray.first)
            #expect(list["items"] as? Int == 0)
            #expect(list["freshness"] as? String == "stale")
            #expect(try await tool(["sync", "--due"]).errors.contains("1 stale query is not pinned"))
            let synced = try await tool(["sync", "--stale", "--json"])
            #expect(synced.jsonArray.first?["items"] as? Int == 250, "\(synced.output)\(synced.errors)")
        }
    }

    @Test("doctor reports whether this user can write, and a file of certificates without a certificate")
    func doctorOnAccess() async throws {
        try await folder.writeListWithGap()
        func result(_ name: String, _ environment: [String: String] = [:]) async throws -> [String: Any]? {
            try await folder.tool(["doctor", "--json"], environment: environment).jsonArray.first {
                $0["check"] as? String == name
            }
        }
        #expect(try await result("write access")?["status"] as? String == "ok")
        // The superuser may write everywhere.
        if getuid() != 0 {
            #expect(chmod(folder.store, 0o400) == 0)
            #expect(try await result("write access")?["status"] as? String == "warning")
            #expect(chmod(folder.store, 0o600) == 0)
        }
        let file = "\(folder.path)/ca.pem"
        folder.createFile(file, "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n")
        #expect(try await result("certificates", ["SSL_CERT_FILE": file])?["status"] as? String == "error")
        let refused = try await Tool.run(["sync", "https://127.0.0.1:1/", "--cacert", file, "--store", folder.store])
        #expect(refused.status == 64)
        let problem = "--cacert: the file '\(file)' has no certificate in PEM form"
        #expect(refused.errors.contains(problem), "\(refused.errors)")
        folder.createFile(file, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
        #expect(CertificateFile.problem(at: file) == nil)
    }

    @Test("The hint at gc names a budget below the present size, and none for a small store")
    func spaceHint() {
        func hint(_ bytes: [(Int, Bool)]) -> String {
            DoctorChecks.spaceHint(
                bytes.map { QuerySummary(outline: Sample.list([], isPinned: $0.1), bytes: $0.0) })
        }
        #expect(hint([(239_000_000, false)]) == "'pagecache gc --max-bytes 119M' shrinks the store")
        #expect(hint([(40_000_000, false), (60_000_000, true)]) == "'pagecache gc --max-bytes 80M' shrinks the store")
        #expect(
            hint([(1_000_000, false)]) == "free some space on this disk; 'pagecache gc' can evict 1.0 MB of the store")
        #expect(hint([]) == "free some space on this disk; 'pagecache gc' can evict 0 B of the store")
    }

    @Test("doctor refuses a folder and a text file as other commands do, and says where no store can be created")
    func doctorOnOtherFiles() async throws {
        let text = "\(folder.path)/notes.txt"
        folder.createFile(text, "no store, only a text")
        // A folder is a mistake of the caller, and no damage.
        for (path, status) in [(folder.path, 64), (text, 65)] as [(String, Int32)] {
            let environment = ["PAGECACHE_STORE": path]
            let ended = try await Tool.run(["doctor", "--json"], environment: environment)
            #expect(ended.status == status)
            #expect(!ended.output.contains("chmod"), "\(ended.output)")
            #expect(ended.jsonArray.first?["status"] as? String == "error")
            #expect(try await Tool.run(["list"], environment: environment).status == status)
        }
        var places = ["\(text)/store.sqlite", "\(text)/deep/store.sqlite"]
        let closed = "\(folder.path)/closed"
        try FileManager.default.createDirectory(
            atPath: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o500])
        // The superuser may write everywhere.
        if getuid() != 0 { places.append("\(closed)/store.sqlite") }
        for place in places {
            let ended = try await Tool.run(["doctor", "--json"], environment: ["PAGECACHE_STORE": place])
            #expect(ended.status == 73, "\(place): \(ended.output)")
        }
        let new = ["PAGECACHE_STORE": "\(folder.path)/new/deep/store.sqlite"]
        #expect(try await Tool.run(["doctor"], environment: new).status == 0)
    }

    @Test("A complete run is compared with a client that fetches every page")
    func savings() {
        let saved = Savings(requests: 1, pages: 101, bytes: 9_800_000)
        #expect(saved?.text == "1 request instead of 101: 9.8 MB saved")
        #expect(Savings(requests: 2, pages: 3, bytes: nil)?.text == "2 requests instead of 3")
        #expect(Savings(requests: 101, pages: 101, bytes: 0) == nil)
        #expect(Savings(requests: 0, pages: 101, bytes: 0) == nil)
    }
}
#endif
