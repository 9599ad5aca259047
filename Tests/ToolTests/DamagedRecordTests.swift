#if Tool
import DemoOrigin
import Foundation
import PageModel
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// Commands on a store in which the record of one query is damaged.
@Suite("Damaged records of queries")
struct DamagedRecordTests {
    private let folder = Folder()

    private func tool(_ arguments: [String]) async throws -> Program.Ended { try await folder.tool(arguments) }

    private func sql(_ text: String) async throws {
        let script = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.executescript(sys.argv[2]); d.commit()"
        let ended = try await Program.run("/usr/bin/env", ["python3", "-c", script, folder.store, text])
        #expect(ended.status == 0, "\(ended.errors)")
    }

    /// Writes the queries "list" and "other", and damages the record of "list".
    private func writeTwo(_ damage: String = "revision = revision + 1") async throws {
        try await folder.writeListWithGap()
        try await folder.write(items(0..<10), as: "other", total: .exact(10))
        try await sql("UPDATE query SET \(damage) WHERE key = 'list'")
    }

    private var bytes: Data {
        ["", "-wal"].reduce(Data()) {
            $0 + ((try? Data(contentsOf: URL(fileURLWithPath: folder.store + $1))) ?? Data())
        }
    }

    @Test(
        "A command for a query whose record is damaged ends with 65 and names the repair",
        arguments: ["show", "export", "pages", "why", "info", "diff", "sync", "retry", "pin", "unpin"])
    func named(command: String) async throws {
        try await writeTwo()
        let ended = try await tool([command, "list"])
        #expect(ended.status == 65, "\(ended.output)\(ended.errors)")
        #expect(ended.errors.contains("the record of 1 query is damaged"), "\(ended.errors)")
        #expect(ended.errors.contains("'pagecache verify --repair"), "\(ended.errors)")
    }

    @Test("A command for a query with a sound record serves it, and warns of the damaged one")
    func sound() async throws {
        try await writeTwo()
        let ended = try await tool(["show", "other"])
        #expect(ended.status == 0)
        #expect(ended.output.split(separator: "\n").count == 10)
        #expect(ended.errors.contains("warning: the record of 1 query is damaged"), "\(ended.errors)")
    }

    @Test(
        "A command for all queries serves the sound ones, and ends with 65",
        arguments: [
            ["list"], ["list", "--json"], ["errors"], ["errors", "--json"], ["stats"], ["retry"], ["sync", "--all"],
            ["sync", "--due"], ["sync", "--stale"], ["gc", "--max-bytes", "0"],
        ])
    func all(arguments: [String]) async throws {
        try await writeTwo()
        let ended = try await tool(arguments)
        #expect(ended.status == 65, "\(ended.output)\(ended.errors)")
        #expect(ended.errors.contains("the record of 1 query is damaged"), "\(ended.errors)")
        if arguments.first == "list" { #expect(ended.output.contains("other")) }
        if arguments.first == "gc" {
            #expect(ended.output.contains("1 page"), "\(ended.output)")
            #expect(ended.errors.contains("1 remaining page is damaged, or the record of its query is"))
        }
        for claim in ["nothing is due", "no page fails", "no query is stale"] {
            #expect(!ended.errors.contains(claim), "\(ended.errors)")
        }
    }

    @Test("A store whose only record is damaged is not called empty")
    func only() async throws {
        try await folder.writeListWithGap()
        try await sql("UPDATE query SET revision = revision + 1")
        for arguments in [["show", "list"], ["list"], ["sync", "--all"]] {
            let ended = try await tool(arguments)
            #expect(ended.status == 65, "\(arguments): \(ended.errors)")
            #expect(!ended.errors.contains("empty"), "\(arguments): \(ended.errors)")
        }
    }

    @Test("A purge removes a query with a damaged record by its stored name or scope, with its bytes")
    func purge() async throws {
        for arguments in [["list"], ["--scope", ""]] {
            try await writeTwo()
            #expect(bytes.range(of: Data("i99".utf8)) != nil)
            let ended = try await tool(["purge"] + arguments + ["--yes", "--json"])
            #expect(ended.status == 0, "\(arguments): \(ended.errors)")
            #expect(ended.json["pages"] as? Int == (arguments == ["list"] ? 1 : 2))
            #expect(bytes.range(of: Data("i99".utf8)) == nil, "\(arguments)")
            #expect(try await tool(["verify"]).status == 0)
        }
    }

    @Test("A purge that cannot decide about a damaged record removes the rest, and ends with 65")
    func undecided() async throws {
        try await writeTwo()
        let stale = try await tool(["purge", "--stale", "--yes"])
        #expect(stale.status == 65, "\(stale.output)\(stale.errors)")
        #expect(stale.output.contains("removed 1 query"), "\(stale.output)")
        #expect(stale.errors.contains("'pagecache verify --repair"), "\(stale.errors)")
        #expect(stale.errors.contains("'pagecache purge --all"), "\(stale.errors)")
        let preview = try await tool(["purge", "--all", "--dry-run", "--json"])
        #expect(preview.json["queries"] as? Int == 1)
        #expect(preview.json["pages"] as? Int == 1)
        #expect(try await tool(["purge", "--all", "--yes"]).status == 0)
        #expect(try await tool(["verify"]).status == 0)
    }

    @Test("A purge of a name that a damaged record may have had ends with 65, and its stored name removes it")
    func damagedName() async throws {
        try await writeTwo("key = 'lisu'")
        let ended = try await tool(["purge", "list", "--yes"])
        #expect(ended.status == 65, "\(ended.output)\(ended.errors)")
        #expect(try await tool(["purge", "lisu", "--yes"]).status == 0)
        #expect(bytes.range(of: Data("i99".utf8)) == nil)
        #expect(try await tool(["verify"]).status == 0)
    }

    @Test("A purge removes a query whose name is damaged in its record only, and not in the index of names")
    func damagedNameInTable() async throws {
        try await folder.writeListWithGap("a-long-name-of-a-list")
        let script = """
            import sqlite3, sys
            path = sys.argv[1]
            page = sqlite3.connect(path).execute("SELECT rootpage FROM sqlite_master WHERE name = 'query'").fetchone()[0]
            file = open(path, 'r+b')
            data = bytearray(file.read())
            place = data.index(b'a-long-name', (page - 1) * 4096, page * 4096)
            data[place] ^= 2
            file.seek(0)
            file.write(data)
            """
        #expect(try await Program.run("/usr/bin/env", ["python3", "-c", script, folder.store]).status == 0)
        let ended = try await tool(["purge", "c-long-name-of-a-list", "--yes"])
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        #expect(bytes.range(of: Data("i99".utf8)) == nil)
        #expect(bytes.range(of: Data("long-name".utf8)) == nil)
        #expect(try await tool(["verify"]).status == 0)
    }

    @Test("After a repair that dropped queries, verify names the URLs and pins that it can read, and the commands work")
    func dropped() async throws {
        try await writeTwo("name_hash = 1")
        let nameless = try await tool(["verify", "--repair", "--yes"])
        #expect(nameless.errors.contains("1 dropped query has no readable URL"), "\(nameless.errors)")
        try await withOrigin(DemoOrigin(count: 250)) { root in
            #expect(try await tool(["sync", "\(root)/items?a=1&b=2", "--key", "items"]).status == 0)
            #expect(try await tool(["sync", "\(root)/feed", "--key", "feed"]).status == 0)
            #expect(try await tool(["pin", "items"]).status == 0)
            try await sql("UPDATE query SET name_hash = id WHERE key IN ('items', 'feed')")
            let ended = try await tool(["verify", "--repair", "--yes"])
            #expect(ended.status == 0, "\(ended.errors)")
            let url = "\(root)/items?a=1&b=2"
            #expect(ended.errors.contains("'pagecache sync \"\(url)\""), "\(ended.errors)")
            #expect(ended.errors.contains("'pagecache sync \(root)/feed"), "\(ended.errors)")
            #expect(ended.errors.contains("fetches the list of a dropped query again"), "\(ended.errors)")
            #expect(ended.errors.contains("'pagecache pin \"\(url)\""), "\(ended.errors)")
            #expect(!ended.errors.contains("'pagecache pin \(root)/feed"), "\(ended.errors)")
            #expect(!ended.errors.contains("no readable URL"), "\(ended.errors)")
            for command in ["sync", "pin"] { #expect(try await tool([command, url]).status == 0) }
            let whole = try await tool(["export", url])
            #expect(whole.output.split(separator: "\n").count == 250, "\(whole.errors)")
        }
    }

    @Test(
        "After a repair of a damaged record, sync --rebind fetches the whole list, and finds a list with a key by its URL and key"
    )
    func repaired() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            #expect(try await tool(["sync", "\(root)/items"]).status == 0)
            #expect(try await tool(["sync", "\(root)/feed", "--key", "fb"]).status == 0)
            let whole = try await tool(["export", "\(root)/items"]).output
            #expect(whole.split(separator: "\n").count == 250)
            try await sql("UPDATE query SET origin_window = 0")
            let fixed = try await tool(["verify", "--repair", "--yes"])
            #expect(fixed.status == 0)
            #expect(fixed.errors.contains("credential check of 2 rebuilt queries are lost"), "\(fixed.errors)")
            let shown = try await tool(["export", "\(root)/items"])
            #expect(shown.status == 75, "\(shown.errors)")
            #expect(shown.errors.contains(" --rebind --store "), "\(shown.errors)")
            let explained = try await tool(["why", "\(root)/items"])
            #expect(explained.output.contains("A repair rebuilt the record of the list"), "\(explained.output)")
            #expect(explained.output.contains(" --rebind --store "), "\(explained.output)")
            #expect(!explained.output.contains("A program that uses the store"), "\(explained.output)")
            #expect(!explained.output.contains("refreshes it automatically"), "\(explained.output)")
            #expect(try await tool(["why", "\(root)/items", "--offset", "900"]).output.contains(" --rebind --store "))
            #expect(try await tool(["why", "fb"]).output.contains("'pagecache sync URL --key fb"))
            let identity = try await tool(["info", "\(root)/items"])
            #expect(identity.output.contains("unknown; a repair has removed its check"), "\(identity.output)")
            #expect(try await tool(["info", "\(root)/items", "--json"]).json["credential"] is NSNull)
            let skipped = try await tool(["sync", "--all"])
            #expect(skipped.output.contains("failed · 250 items · not refreshed"), "\(skipped.output)")
            #expect(skipped.errors.contains(" --rebind --store "), "\(skipped.errors)")
            #expect(try await tool(["gc", "--max-bytes", "3k"]).status == 0)
            let named = try await tool(["sync", "fb"])
            #expect(named.status == 65)
            #expect(named.errors.contains("a repair could not restore the URL of 'fb'"), "\(named.errors)")
            #expect(named.errors.contains("sync it with its URL and --key fb"), "\(named.errors)")
            let all = try await tool(["sync", "--all"])
            #expect(all.status != 0, "\(all.output)\(all.errors)")
            #expect(all.errors.contains("a repair could not restore the URL of 'fb'"), "\(all.errors)")
            // Nothing shows any more with which credential the list was fetched.
            let refused = try await tool(["sync", "\(root)/items"])
            #expect(refused.status != 0 && refused.errors.contains("--rebind"), "\(refused.errors)")
            #expect(try await tool(["sync", "\(root)/items", "--rebind"]).status == 0)
            #expect(try await tool(["export", "\(root)/items"]).output == whole)
            #expect(try await tool(["sync", "\(root)/feed", "--key", "fb"]).status == 0)
            #expect(try await tool(["sync", "fb"]).status == 0)
            #expect(try await tool(["verify"]).status == 0)
        }
    }

    @Test("show ends with 75 when all items are requested and the end of the list is not known yet")
    func unknownEnd() async throws {
        try await folder.write(items(0..<10), total: .unknown)
        let all = try await tool(["show", "list"])
        #expect(all.status == 75)
        #expect(all.output.split(separator: "\n").count == 10)
        #expect(
            all.errors.contains("incomplete: the end of the list is not known yet; 'pagecache sync"), "\(all.errors)")
        #expect(try await tool(["show", "list", "--limit", "11"]).status == 75)
        let part = try await tool(["show", "list", "--limit", "5"])
        #expect(part.status == 0)
        #expect(part.errors.isEmpty, "\(part.errors)")
    }
}
#endif
