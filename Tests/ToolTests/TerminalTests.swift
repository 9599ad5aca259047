#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import PageStore

@Suite("pagecache at a terminal")
struct TerminalTests {
    private let folder = Folder()

    private func start(_ arguments: [String], columns: Int = 80, output: String? = nil, term: String = "xterm") throws
        -> TerminalProgram
    {
        try TerminalProgram(
            Tool.path, arguments + ["--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": term], columns: columns,
            output: output)
    }

    private func filled(_ count: Int) async throws -> String {
        let origin = DemoOrigin(count: count)
        return try await withOrigin(origin) { root in
            try #require(
                try await Tool.run(["sync", "\(root)/items", "--store", folder.store, "--json"]).json["query"]
                    as? String)
        }
    }

    /// Returns the displayed progress lines without their escapes.
    private func lines(_ shown: String) -> [String] {
        shown.components(separatedBy: "\r\u{1b}[K").dropFirst().map {
            String($0.prefix { $0 != "\r" && $0 != "\r\n" && $0 != "\n" })
        }
    }

    @Test("sync shows a single progress line in any width, and removes it at the end", arguments: [20, 40, 80])
    func progress(columns: Int) async throws {
        let origin = DemoOrigin.holding(from: 600)
        try await withOrigin(origin) { root in
            let tool = try start(["sync", "\(root)/items", "--overlap", "0"], columns: columns, output: "/dev/null")
            try await eventually("the line is there") { tool.shown.contains("6/30 pages") }
            origin.release()
            try await eventually("it has ended") { tool.ended != nil }
            #expect(tool.ended == 0)
            let lines = lines(tool.shown)
            #expect(lines.dropLast().allSatisfy { $0.count < columns })
            // The line is removed before other output, and does not come back.
            #expect(lines.last?.isEmpty ?? false || lines.last?.hasPrefix("detected") ?? false)
            #expect(!tool.shown.contains("\u{1b}[?1049h"))
        }
    }

    @Test("While another process holds the write lock, sync says that it waits for the store, and shows no full bar")
    func locked() async throws {
        let query = try await filled(300)
        let other = try Connection(path: folder.store)
        try other.execute("BEGIN IMMEDIATE")
        let tool = try start(["sync", query, "--wait", "0s"])
        try await eventually("it waits") { tool.shown.contains("waiting 1 s for the store") }
        #expect(!tool.shown.contains("█"), "\(tool.shown)")
        try other.execute("ROLLBACK")
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 75)
    }

    @Test("A dumb terminal receives no escapes")
    func dumb() async throws {
        let origin = DemoOrigin.holding(from: 600)
        try await withOrigin(origin) { root in
            let dumb = try start(["sync", "\(root)/items", "--overlap", "0"], output: "/dev/null", term: "dumb")
            // Without a line that can be redrawn, a plain line appears every five seconds, and it has no bar.
            try await eventually("a plain line is there") { dumb.shown.contains("pagecache: 6/30 pages · 600 items") }
            origin.release()
            try await eventually("it has ended") { dumb.ended != nil }
            #expect(!dumb.shown.contains("\u{1b}"))
            #expect(!dumb.shown.contains("█") && !dumb.shown.contains("░"))
        }
    }

    @Test(
        "Ctrl-C and SIGTERM in the middle restore the terminal and keep the fetched pages",
        arguments: [
            ("\u{3}", 130), ("", 143),
        ] as [(String, Int32)])
    func interrupted(keys: String, status: Int32) async throws {
        let origin = DemoOrigin.holding(from: 600)
        try await withOrigin(origin) { root in
            let tool = try start(["sync", "\(root)/items", "--overlap", "0"])
            try await eventually("the line is there") { tool.shown.contains("6/30 pages") }
            if keys.isEmpty { tool.signal(SIGTERM) } else { tool.type(keys) }
            try await eventually("it has ended") { tool.ended != nil }
            #expect(tool.ended == status)
            #expect(!(lines(tool.shown).last ?? "").contains("/30 pages"), "a progress line remains")
            #expect(try await shownIDs(folder, "\(root)/items").count == 600)
        }
    }

    @Test(
        "A confirmation prompt proceeds only on yes, and Ctrl-C ends it",
        arguments: [
            ("y\n", 0, 0), ("n\n", 0, 1), ("\n", 0, 1), ("\u{4}", 0, 1), ("\u{3}", 130, 1),
        ] as [(String, Int32, Int)])
    func prompt(answer: String, status: Int32, left: Int) async throws {
        let query = try await filled(250)
        let tool = try start(["purge", query])
        try await eventually("it asks") { tool.shown.contains("[y/N]") }
        tool.type(answer)
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == status, "\(tool.shown)")
        // The prompt names the query, and the result says that it is still there.
        #expect(tool.shown.contains("/items'"))
        if status == 0, left == 1 {
            #expect(tool.shown.split(whereSeparator: \.isNewline).contains("nothing removed"), "\(tool.shown)")
        }
        #expect(try await Tool.run(["list", "--json", "--store", folder.store]).jsonArray.count == left)
    }

    @Test("A table fits the terminal and contains no control characters of an origin", arguments: [40, 80])
    func table(columns: Int) async throws {
        _ = try await filled(250)
        let tool = try start(["list"], columns: columns)
        try await eventually("it has ended") { tool.ended != nil }
        for line in tool.shown.split(whereSeparator: \.isNewline) {
            #expect(line.replacing(/\u{1b}\[\d+m/, with: "").count <= columns)
        }
    }

    @Test("SIGTERM ends an export although its reader has stalled")
    func stuck() async throws {
        let query = try await filled(3_000)
        // The pipe is opened and not read, so that the write blocks forever.
        let pipe = "\(folder.path)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let tool = try start(["export", query], output: pipe)
        var waiting: Int32 = 0
        try await eventually("the pipe is full") { ioctl(reader, UInt(FIONREAD), &waiting) == 0 && waiting >= 4_096 }
        tool.signal(SIGTERM)
        // An export that waits for its reader never ends.
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 143)
    }

    @Test(
        "watch switches to the alternate screen, and back at the end",
        arguments: [("\u{3}", 130), ("", 143), ("\u{1c}", 131)] as [(String, Int32)])
    func watch(keys: String, status: Int32) async throws {
        let query = try await filled(250)
        let tool = try start(["watch", query])
        try await eventually("the view is there") {
            tool.shown.contains("pagecache watch") && tool.shown.contains(query)
        }
        #expect(tool.shown.contains("\u{1b}[?1049h\u{1b}[?25l"))
        if keys.isEmpty { tool.signal(SIGTERM) } else { tool.type(keys) }
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == status)
        #expect(tool.shown.contains("\u{1b}[?25h\u{1b}[?1049l"))
        #expect(tool.shown.hasSuffix("\u{1b}[?25h\u{1b}[?1049l"))
        #expect(!tool.shown.contains("Thread 0"))
    }

    @Test("The keys of watch select, pin, find, show items and quit, and the terminal gets its settings back")
    func keys() async throws {
        let query = try await filled(250)
        let tool = try start(["watch"])
        try await eventually("the keys are shown") { tool.shown.contains("q quit") }
        tool.type("p")
        try await eventually("it is pinned") { tool.shown.contains("\(query) is pinned") }
        // The origin has stopped.
        tool.type("s")
        try await eventually("the failed sweep has its reason") { tool.shown.contains("sweep failed: offline") }
        tool.type("\r")
        try await eventually("the items are shown") { tool.shown.contains("any other key returns") }
        tool.type("\u{1b}[F")
        try await eventually("the last items are shown") { tool.shown.contains("199  {") }
        tool.type(" /zebra")
        try await eventually("nothing matches") { tool.shown.contains("no query matches 'zebra'") }
        tool.type("\u{1b}")
        try await eventually("the filter is gone") {
            tool.shown.components(separatedBy: "no query matches").last?.contains("q quit") == true
        }
        tool.type("q")
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 0)
        #expect(tool.shown.hasSuffix("\u{1b}[?25h\u{1b}[?1049l"))
        #expect(
            try await Tool.run(["list", "--json", "--store", folder.store]).jsonArray.first?["pinned"] as? Bool == true)
    }

    @Test(
        "errors, pages and doctor fit 20, 40, 80 and 120 columns, and the status and the error stay whole",
        arguments: [20, 40, 80, 120])
    func failures(columns: Int) async throws {
        let origin = DemoOrigin(count: 300) { number, _ in number > 2 ? .status(503, retryAfter: nil) : nil }
        try await withOrigin(origin) { root in
            _ = try await Tool.run(["sync", "\(root)/items", "--wait", "0s", "--store", folder.store])
            for command in [["errors"], ["pages", "\(root)/items"], ["doctor"]] {
                let tool = try start(command, columns: columns)
                try await eventually("it has ended") { tool.ended != nil }
                let lines = tool.shown.replacing(/\u{1b}\[[0-9]*m/, with: "").split(whereSeparator: \.isNewline)
                #expect(lines.allSatisfy { $0.count <= columns }, "\(command): \(lines)")
                guard command != ["doctor"] else { continue }
                #expect(lines.contains { $0.contains("503") }, "\(command): \(lines)")
                let words = lines.joined(separator: " ").split(separator: " ")
                for word in ["origin", "answered"] { #expect(words.contains(Substring(word)), "\(command)") }
            }
        }
    }

    @Test("watch marks the selected query without colours, and watch --changes says that it waits")
    func plainWatch() async throws {
        _ = try await filled(250)
        let view = try start(["watch", "--no-color"])
        try await eventually("the selected line is reversed") { view.shown.contains("\u{1b}[7m") }
        #expect(!view.shown.contains("\u{1b}[3"))
        view.type("q")
        let changes = try start(["watch", "--changes"])
        try await eventually("it waits") { changes.shown.contains("waiting for changed items of 1 query") }
        // Neither a dumb terminal nor a pipe has a view.
        let dumb = try start(["watch"], term: "dumb")
        let piped = try start(["watch"], output: "/dev/null")
        for tool in [dumb, piped] {
            try await eventually("it waits") { tool.shown.contains("waiting for events of 1 query; Ctrl-C ends") }
        }
        for tool in [changes, dumb, piped] { tool.type("\u{3}") }
        for tool in [view, changes, dumb, piped] { try await eventually("it has ended") { tool.ended != nil } }
    }

    @Test("stats, probe and list break lines between words at 40 and 80 columns", arguments: [40, 80])
    func words(columns: Int) async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            #expect(try await Tool.run(["sync", "\(root)/items", "--store", folder.store]).status == 0)
            for (command, words) in [
                (["stats"], ["free", "requests,"]), (["probe", "\(root)/items"], ["items,", "id"]),
                (["list"], ["terminal,"]),
            ] {
                let tool = try start(command, columns: columns)
                try await eventually("it has ended") { tool.ended != nil }
                let lines = tool.shown.replacing(/\u{1b}\[[0-9]*m/, with: "").split(whereSeparator: \.isNewline)
                // A path may be longer than a line.
                #expect(lines.allSatisfy { $0.count <= columns || $0.contains(folder.path) }, "\(lines)")
                let shown = lines.joined(separator: " ").split(separator: " ")
                for word in words where command != ["list"] || columns == 40 {
                    #expect(shown.contains(Substring(word)), "\(command): \(lines)")
                }
            }
            let empty = try await Tool.run(["purge", "--all", "--yes", "--store", folder.store])
            #expect(empty.status == 0)
            let list = try await Tool.run(["list", "--store", folder.store])
            #expect(list.output.isEmpty)
            #expect(list.errors == "the store has no query; 'pagecache sync URL --store \(folder.store)' adds one\n")
        }
    }

    @Test("A message breaks between words on a terminal")
    func messages() async throws {
        let tool = try start(["diff", "x", "--since", "nonsense"], columns: 40)
        try await eventually("it has ended") { tool.ended != nil }
        let lines = tool.shown.split(whereSeparator: \.isNewline)
        #expect(lines.count > 2)
        #expect(lines.filter { !$0.contains("2026-01-31T12:00:00Z") }.allSatisfy { $0.count <= 40 })
        #expect(tool.shown.split(whereSeparator: \.isWhitespace).contains("'nonsense'"))
    }

    /// Starts a shell with job control (POSIX, `set -m`). It prints when its command is stopped, and continues it after
    /// a typed line.
    private func shell(_ command: String) throws -> TerminalProgram {
        let script =
            "set -m; \(command) --store '\(folder.store)'; echo \"stopped, $?\"; read line; fg; echo \"ended, $?\""
        return try TerminalProgram(
            "/bin/sh", ["-c", script], environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"])
    }

    /// Returns the output after the last occurrence of these words.
    private func shown(_ tool: TerminalProgram, after words: String) -> String {
        tool.shown.components(separatedBy: words).dropFirst().last ?? ""
    }

    @Test("watch restores the screen before Ctrl-Z stops it, and draws it again when it continues")
    func stopped() async throws {
        let query = try await filled(250)
        let (opens, closes) = ("\u{1b}[?1049h", "\u{1b}[?25h\u{1b}[?1049l")
        let tool = try shell("'\(Tool.path)' watch \(query)")
        try await eventually("the view is there") { tool.shown.contains("pagecache watch") }
        tool.type("\u{1a}")
        try await eventually("it has stopped") { tool.shown.contains("stopped, ") }
        let before = tool.shown.components(separatedBy: "stopped, ").first ?? ""
        #expect(before.contains(closes), "the shell's screen is restored")
        #expect(
            !before.components(separatedBy: closes).dropFirst().joined().contains("pagecache watch"),
            "no output follows on the shell's screen")
        tool.type("\n")
        try await eventually("the view is there again") {
            let after = shown(tool, after: "stopped, ")
            return after.contains(opens)
                && after.components(separatedBy: opens).last?.contains("pagecache watch") == true
        }
        tool.type("\u{3}")
        try await eventually("it has ended") { tool.ended != nil }
        #expect(shown(tool, after: opens).contains(closes))
        #expect(tool.shown.contains("ended, 130"))
    }

    @Test("Ctrl-Z does not stop watch without a shell that could continue it, and the view is drawn again")
    func orphaned() async throws {
        let query = try await filled(250)
        // The tool leads its own session. No shell can continue it with `fg`.
        let tool = try start(["watch", query])
        try await eventually("the view is there") { tool.shown.contains("pagecache watch") }
        tool.type("\u{1a}")
        try await eventually("it is there again") { tool.shown.components(separatedBy: "\u{1b}[?1049h").count == 3 }
        tool.type("\u{3}")
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.ended == 130)
        #expect(tool.shown.hasSuffix("\u{1b}[?25h\u{1b}[?1049l"))
    }

    @Test("A narrower window is redrawn with lines that fit")
    func resized() async throws {
        let query = try await filled(250)
        let tool = try start(["watch", query])
        try await eventually("the view is there") {
            tool.shown.contains("pagecache watch") && tool.shown.contains("127.0.0.1")
        }
        tool.resize(columns: 30, rows: 10)
        try await eventually("each line leaves the last of 30 columns free") {
            guard let last = tool.shown.components(separatedBy: "\u{1b}[H").dropLast().last else { return false }
            let lines = last.replacing(/\u{1b}\[[?0-9]*[a-zA-Z]/, with: "").split(whereSeparator: \.isNewline)
            return lines.contains { $0.hasPrefix(query) } && lines.allSatisfy { $0.count < 30 }
        }
        tool.type("\u{3}")
        try await eventually("it has ended") { tool.ended != nil }
    }

    @Test("A prompt is repeated after Ctrl-Z when the tool continues, and can be answered")
    func stoppedQuestion() async throws {
        let query = try await filled(250)
        let tool = try shell("'\(Tool.path)' purge \(query)")
        try await eventually("it asks") { tool.shown.contains("[y/N]") }
        tool.type("\u{1a}")
        try await eventually("it has stopped") { tool.shown.contains("stopped, ") }
        tool.type("\n")
        try await eventually("it asks again") { shown(tool, after: "stopped, ").contains("[y/N]") }
        tool.type("y\n")
        try await eventually("it has ended") { tool.ended != nil }
        #expect(tool.shown.contains("ended, 0"))
        #expect(try await Tool.run(["list", "--json", "--store", folder.store]).jsonArray.isEmpty)
    }
}
#endif
