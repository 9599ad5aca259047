#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// The tool and a terminal that it shares with a shell, and the width of the help.
@Suite("pagecache on a shared terminal")
struct ForegroundTests {
    private let folder = Folder()

    @Test("watch in the background draws nothing and does not stop, and draws and reads keys after fg")
    func background() async throws {
        try await folder.writeListWithGap()
        let script =
            "set -m; '\(Tool.path)' watch list -v --store '\(folder.store)' & read line; jobs; fg; echo \"ended, $?\""
        let tool = try TerminalProgram(
            "/bin/sh", ["-c", script], environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"])
        try await eventually("it has started") { tool.shown.contains("the store is") }
        // A view would be drawn before these commands have ended.
        for _ in 0..<5 { #expect(try await folder.tool(["list"]).status == 0) }
        #expect(!tool.shown.contains("\u{1b}["), "\(tool.shown)")
        tool.type("\n")
        try await eventually("the view is there") { tool.shown.contains("q quit") }
        #expect(tool.shown.contains("Running"), "\(tool.shown)")
        tool.type("q")
        try await eventually("it has ended") { tool.shown.contains("ended, 0") }
    }

    @Test("watch reads keys again after it was stopped, continued in the background and brought back")
    func broughtBack() async throws {
        try await folder.writeListWithGap()
        let script = "set -m; '\(Tool.path)' watch --store '\(folder.store)'; bg; read line; fg; echo \"ended, $?\""
        let tool = try TerminalProgram(
            "/bin/bash", ["-c", script],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"])
        try await eventually("the view is there") { tool.shown.contains("q quit") }
        tool.type("\u{1a}")
        try await eventually("it is in the background") { tool.shown.contains("watch --store") }
        tool.type("\n")
        try await eventually("the view is there again") {
            tool.shown.components(separatedBy: "\u{1b}[?1049h").count == 3
        }
        tool.type("q")
        try await eventually("it has ended") { tool.shown.contains("ended, 0") }
    }

    @Test("A terminal that becomes narrower shows no rest of the progress line of sync")
    func narrower() async throws {
        let origin = DemoOrigin.holding(from: 900)
        try await withOrigin(origin) { root in
            let tool = try TerminalProgram(
                Tool.path, ["sync", "\(root)/items", "--store", folder.store],
                environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm-256color"], columns: 100)
            try await eventually("the line has pages") { tool.shown.contains(" pages · ") }
            tool.resize(columns: 30, rows: 24)
            try await eventually("its rows are erased") { tool.shown.contains(/\u{1b}\[\dA\r\u{1b}\[J/) }
            tool.signal(SIGINT)
            try await eventually("it has ended") { tool.ended != nil }
            origin.release()
        }
    }

    @Test("The view of watch leaves the last column free, where terminals differ", arguments: [20, 40])
    func lastColumn(columns: Int) async throws {
        try await folder.writeListWithGap()
        let tool = try TerminalProgram(
            Tool.path, ["watch", "--store", folder.store],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"], columns: columns)
        try await eventually("the view is there") { tool.shown.contains("q quit") }
        tool.type("q")
        try await eventually("it has ended") { tool.ended != nil }
        // Each picture begins at the first row, behind the last line of the one before.
        let pictures = tool.shown.replacing(/\u{1b}\[H/, with: "\n")
        let lines = pictures.replacing(/\u{1b}\[[0-9;?]*[A-Za-z]/, with: "").split(whereSeparator: \.isNewline)
        #expect(lines.allSatisfy { $0.count < columns }, "\(lines)")
    }

    @Test("Help fits the terminal, whatever COLUMNS says", arguments: [60, 100])
    func helpWidth(columns: Int) async throws {
        let tool = try TerminalProgram(
            Tool.path, ["sync", "--help"], environment: ["PATH": "/usr/bin:/bin", "COLUMNS": "200", "TERM": "xterm"],
            columns: columns)
        try await eventually("it has ended") { tool.ended != nil }
        let lines = tool.shown.split(whereSeparator: \.isNewline)
        #expect(lines.allSatisfy { $0.count <= columns }, "\(lines)")
        #expect(lines.contains { $0.count > columns - 20 })
    }
}
#endif
