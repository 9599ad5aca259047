#if Tool
import DemoOrigin
import Foundation
import PageModel
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@Suite("pagecache export, end to end")
struct ExportTests {
    private let folder = Folder()

    /// Fills a store with a list of this many items, and stops the origin. Returns the query.
    private func filled(_ count: Int, _ flags: [String] = []) async throws -> String {
        let origin = DemoOrigin(count: count)
        return try await withOrigin(origin) { root in
            let ended = try await Tool.run(["sync", "\(root)/items", "--store", folder.store, "--json"] + flags)
            return try #require(ended.json["query"] as? String)
        }
    }

    private func export(_ query: String, _ flags: [String] = []) async throws -> Program.Ended {
        try await Tool.run(["export", query, "--store", folder.store] + flags)
    }

    @Test("The commands of Documentation/Analysis.md load an export into SQLite")
    func analysis() async throws {
        let sqlite = "/usr/bin/sqlite3"
        guard FileManager.default.isExecutableFile(atPath: sqlite) else { return }
        try await folder.write(
            PageContent(
                (0..<3).map { RawItem(payload: Array(#"{"id":\#($0),"name":"item \#($0)"}"#.utf8), id: "\($0)") }),
            as: "orders", total: .exact(3), and: [.setEnd(3)])
        // The page has one block of commands for SQLite with fields, and one with whole items.
        let page = try String(contentsOfFile: Repository.path("Documentation/Analysis.md"), encoding: .utf8)
        let all = page.matches(of: /(?s)```sh\n(.*?)```/).map { String($0.output.1) }
        let blocks = all.filter { $0.contains("sqlite3") }
        #expect(blocks.count == 2)
        var output = ""
        for block in blocks {
            let script = "cd '\(folder.path)' && pagecache() { '\(Tool.path)' \"$@\" --quiet; }\n\(block)"
            let ended = try await Program.run(
                "/bin/bash", ["-ec", script],
                environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PAGECACHE_STORE": folder.store])
            #expect(ended.status == 0, "\(ended.errors)")
            output += ended.output
        }
        #expect(output == "3\nitem 0\nitem 1\nitem 2\n")
    }

    @Test("NDJSON contains each item byte for byte on its own line, and `show` into a pipe writes the same")
    func ndjson() async throws {
        let query = try await filled(2_345)
        let ended = try await export(query)
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.output.hasPrefix(#"{"id":"item-2344","title":"#))
        #expect(ended.output.split(separator: "\n").count == 2_345)
        #expect(ended.output == (try await Tool.run(["show", query, "--store", folder.store])).output)
    }

    @Test("JSON is one array of all items, and CSV has a header line and one line per item")
    func otherFormats() async throws {
        let query = try await filled(250)
        #expect(try await export(query, ["--json"]).jsonArray.compactMap { $0["id"] as? String }.count == 250)
        let rows = try await export(query, ["--format", "csv"]).output.split(separator: "\n")
        #expect(rows.first == "id,title,price,weight,note")
        #expect(rows.count == 251)
        #expect(rows[1] == "item-249,brass harbour delta,249.50,1.0e0,größer als 11 – exactly as sent")
        let named = try await export(query, ["--format", "csv", "--fields", "/price,/id"]).output.split(separator: "\n")
        #expect(named.prefix(2) == ["/price,/id", "249.50,item-249"])
    }

    @Test(
        "An exported file is complete, leaves no temporary file, keeps its mode, follows a link, and cannot be a directory"
    )
    func file() async throws {
        let query = try await filled(250)
        let place = Folder()
        let path = "\(place.path)/items.ndjson"
        place.createFile(path, "old")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let link = "\(place.path)/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let ended = try await export(query, ["-o", link])
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.output.isEmpty)
        #expect(ended.errors.contains("250 items"))
        #expect(try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count == 250)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
        #expect(Set(place.contents) == ["items.ndjson", "link"])
        #expect(try await export(query, ["-o", place.path]).status == 73)
        #expect(try await export(query, ["-o", "\(place.path)/none/x"]).status == 73)
        #expect(try await export(query, ["-o", "-"]).output.split(separator: "\n").count == 250)
        // A device is written to and stays a device.
        #expect(try await export(query, ["-o", "/dev/null"]).status == 0)
        #expect(
            try FileManager.default.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType
                == .typeCharacterSpecial)
    }

    @Test("An export that does not fit ends with 74, keeps the old file and leaves no temporary file")
    func full() async throws {
        let query = try await filled(2_000)
        let place = Folder()
        let path = "\(place.path)/items"
        place.createFile(path, "old")
        // The limit raises SIGXFSZ (setrlimit(2)). It is 100 blocks of 512 or 1,024 bytes, depending on the shell.
        let script = "ulimit -f 100; exec '\(Tool.path)' export \(query) --store '\(folder.store)' -o '\(path)'"
        let ended = try await Program.run("/bin/sh", ["-c", script])
        #expect(ended.status == 74, "\(ended.status): \(ended.errors)")
        #expect(ended.errors.split(separator: "\n").count == 1)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
        #expect(place.contents == ["items"])
        for command in ["--version", "list --store \(folder.store)"] {
            let full = try await Program.run("/bin/sh", ["-c", "'\(Tool.path)' \(command) > /dev/full"])
            #expect(full.status == 74)
            #expect(full.errors.contains("cannot write the output: No space left on device"), "\(full.errors)")
        }
        let device = try await export(query, ["-o", "/dev/full"])
        #expect(device.status == 74)
        #expect(device.errors.contains("no space left"))
    }

    @Test(
        "export and show into a slow pipe write one state of the list, although a sync changes it",
        arguments: ["export", "show"])
    func slowReader(command: String) async throws {
        let origin = DemoOrigin(count: 3_000)
        try await withOrigin(origin) { root in
            let synced = try await Tool.run(["sync", "\(root)/items", "--store", folder.store, "--json"])
            let query = try #require(synced.json["query"] as? String)
            let before = origin.ids
            let pipe = "\(folder.path)/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            defer { close(reader) }
            let tool = try TerminalProgram(
                Tool.path, [command, query, "--store", folder.store],
                environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"], output: pipe)
            var waiting: Int32 = 0
            try await eventually("the pipe is full") {
                ioctl(reader, UInt(FIONREAD), &waiting) == 0 && waiting >= 4_096
            }
            origin.insert(at: 0)
            origin.remove(at: 1_500)
            #expect(try await Tool.run(["sync", query, "--sweep", "--store", folder.store]).status == 0)
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            try await eventually("it has ended") {
                let hadEnded = tool.ended != nil
                while case let count = read(reader, &buffer, buffer.count), count > 0 { bytes += buffer.prefix(count) }
                return hadEnded
            }
            #expect(tool.ended == 0, "\(tool.shown)")
            let ids = String(decoding: bytes, as: UTF8.self).matches(of: /"id":"([^"]+)"/).map { String($0.output.1) }
            #expect(ids == before)
        }
    }

    @Test(
        "An output of 40 MB is one state, although its reader is late and the list is removed, and it frees the log",
        arguments: ["export", "show"])
    func lateReader(command: String) async throws {
        let rest = String(repeating: "x", count: 25_000)
        func item(_ id: Int) -> String { #"{"id":\#(id),"rest":"\#(rest)"}"# }
        func page(_ start: Int) -> PageContent {
            PageContent((start..<start + 400).map { RawItem(payload: Array(item($0).utf8), id: "\($0)") })
        }
        let edits = [400, 800, 1_200].map { start -> ListEdit in
            .insertPage(PageWrite(offset: start, content: page(start), evidence: .verified))
        }
        try await folder.write(page(0), as: "orders", total: .exact(1_600), and: edits + [.setEnd(1_600)])
        let pipe = "\(folder.path)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let temporary = Folder()
        let tool = try TerminalProgram(
            Tool.path, [command, "orders", "--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TMPDIR": temporary.path], output: pipe)
        var waiting: Int32 = 0
        try await eventually("the pipe is full") {
            ioctl(reader, UInt(FIONREAD), &waiting) == 0 && waiting >= 4_096
        }
        #expect(try await Tool.run(["purge", "orders", "--yes", "--store", folder.store]).status == 0)
        // Nobody has read from the pipe yet.
        let script = """
            import sqlite3, sys
            sys.exit(sqlite3.connect('\(folder.store)').execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchone()[0])
            """
        try await eventuallyAwaiting("the log can be truncated") {
            try await Program.run("/usr/bin/env", ["python3", "-c", script]).status == 0
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        try await eventually("it has ended") {
            let hadEnded = tool.ended != nil
            while case let count = read(reader, &buffer, buffer.count), count > 0 { bytes += buffer.prefix(count) }
            return hadEnded
        }
        #expect(tool.ended == 0, "\(tool.shown)")
        let expected = (0..<1_600).map { item($0) + "\n" }.joined()
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
        #expect(temporary.contents.isEmpty)
    }

    @Test("An export with gaps writes the held items, reports the missing ones, and ends with 75 (R12)")
    func gaps() async throws {
        let query = try await filled(1_000, ["--max-pages", "3", "--overlap", "0"])
        let ended = try await export(query)
        #expect(ended.status == 75)
        #expect(ended.output.split(separator: "\n").count == 300)
        #expect(ended.errors.contains("700 positions are missing"))
        #expect(ended.errors.split(separator: "\n").count == 1)
    }

    @Test(
        "An export omits and counts damaged items, ends with 65, and does not write to the store, which may be read-only",
        arguments: [
            [], ["--json"], ["--format", "csv"], ["-o"],
        ])
    func damaged(flags: [String]) async throws {
        let query = try await filled(950, ["--overlap", "0", "--max-pages", "9"])
        let script = try await Program.run(
            "/usr/bin/env",
            [
                "python3", "-c",
                "import sqlite3; d = sqlite3.connect('\(folder.store)'); d.execute('UPDATE body SET payload = zeroblob(length(payload)) WHERE id = (SELECT body FROM page WHERE offset = 300)'); d.commit(); d.execute('PRAGMA wal_checkpoint(TRUNCATE)'); d.close()",
            ])
        #expect(script.status == 0, "\(script.errors)")
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: folder.store)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        let place = Folder()
        let ended = try await export(query, flags == ["-o"] ? ["-o", "\(place.path)/items"] : flags)
        #expect(ended.status == 65)
        let lines = ended.errors.split(separator: "\n")
        let said = try #require(lines.last)
        #expect(said.contains(flags == ["--json"] ? #""code":"damaged""# : "pagecache: "))
        #expect(
            said.contains(
                "100 items from position 300 on are damaged and were left out; 50 other positions are missing or old"
            ))
        let output = flags == ["-o"] ? try String(contentsOfFile: "\(place.path)/items", encoding: .utf8) : ended.output
        // Of the 900 fetched items, a hundred are damaged. CSV has a header line in addition.
        #expect(output.split(separator: "\n").count == (flags == ["--format", "csv"] ? 801 : 800))
        #expect(!output.contains("\u{0}"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before)
        // The damaged page still counts as held. Only a repair with write access drops it.
        #expect(
            try await Tool.run(["list", "--json", "--store", folder.store]).jsonArray.first?["items"] as? Int == 900)
    }

    @Test("--fields writes only these members, in this order, byte for byte as received")
    func fields() async throws {
        let query = try await filled(3)
        let lines = try await export(query, ["--fields", "/price,/none,/note,/id"]).output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0] == #"{"/price":2.50,"/none":null,"/note":"größer als 2 – exactly as sent","/id":"item-2"}"#)
        let json = try await export(query, ["--fields", "/id", "--json"])
        #expect(json.jsonArray.compactMap { $0["/id"] as? String } == ["item-2", "item-1", "item-0"])
    }

    @Test("A closed pipe is not an error, and wrong usage ends with 64 or 66")
    func usage() async throws {
        let query = try await filled(3_000)
        let command = "'\(Tool.path)' export \(query) --store '\(folder.store)' | head -n 1 >/dev/null"
        #expect(try await Program.run("/bin/sh", ["-c", command]).errors.isEmpty)
        #expect(try await export(query, ["--format", "table"]).status == 64)
        #expect(try await export(query, ["--fields", "id"]).status == 64)
        #expect(try await export(query, ["--format", "csv", "--fields", "id"]).status == 64)
        #expect(try await export("nothing").status == 66)
    }

    @Test("An empty list is exported as an empty file, an empty array, or a header line")
    func empty() async throws {
        let query = try await filled(0)
        let ended = try await export(query)
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.output.isEmpty)
        #expect(try await export(query, ["--json"]).output == "[]\n")
        #expect(try await export(query, ["--format", "csv"]).output == "payload\n")
    }
}
#endif
