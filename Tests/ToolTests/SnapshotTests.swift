#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

/// Compares the output of the tool word for word. `PAGECACHE_UPDATE_SNAPSHOTS=1` records the current output.
@Suite("Snapshots of the output", .serialized)
struct SnapshotTests {
    private let folder = Folder()

    /// Compares a text with a recorded file, and records the text if the file is missing.
    /// - Parameter file: The path of the file, relative to the root of the package.
    static func compare(_ text: String, with file: String) throws {
        let path = Repository.path(file)
        let isUpdate = ProcessInfo.processInfo.environment["PAGECACHE_UPDATE_SNAPSHOTS"] != nil
        let old = try? String(contentsOfFile: path, encoding: .utf8)
        guard old != text else { return }
        if isUpdate || old == nil { try text.write(toFile: path, atomically: true, encoding: .utf8) }
        guard !isUpdate else { return }
        guard let old else {
            Issue.record("\(file) was missing and has been written; review and commit it")
            return
        }
        let lines = zip(
            old.split(separator: "\n", omittingEmptySubsequences: false),
            text.split(separator: "\n", omittingEmptySubsequences: false))
        let first = lines.first { $0 != $1 }.map { "it was '\($0)' and is '\($1)'" } ?? "one is longer than the other"
        Issue.record("\(file) differs: \(first); if this is intended, record it with PAGECACHE_UPDATE_SNAPSHOTS=1")
    }

    @Test("The help of the tool and of every command matches its snapshot")
    func help() async throws {
        let commands = try CommandDescription.tool().shownCommands.map(\.commandName)
        #expect(commands.count > 10)
        // The width of the help is that of a default terminal.
        let environment = ["COLUMNS": "80"]
        try Self.compare(
            try await Tool.run(["--help"], environment: environment).output, with: "Tests/ToolTests/Snapshots/help.txt")
        for command in commands {
            let ended = try await Tool.run([command, "--help"], environment: environment)
            #expect(ended.status == 0)
            try Self.compare(ended.output, with: "Tests/ToolTests/Snapshots/help-\(command).txt")
        }
    }

    @Test("The help of sync shows its eight common options before all others")
    func common() async throws {
        let help = try await Tool.run(["sync", "--help"], environment: ["COLUMNS": "80"]).output
        let groups = help.split(separator: "\n\n").map(String.init).filter { $0.contains("OPTIONS:\n") }
        let first = try #require(groups.first)
        #expect(first.hasPrefix("COMMON OPTIONS:"))
        #expect(
            first.matches(of: /\n  --([a-z-]+)/).map { String($0.output.1) }
                == ["refresh", "sweep", "max-pages", "stale-after", "offline", "due", "all", "stale"])
    }

    @Test("Documentation/pagecache.1 matches the output of `pagecache man`, and troff accepts it without a warning")
    func manual() async throws {
        let ended = try await Tool.run(["man"])
        #expect(ended.status == 0)
        try Self.compare(ended.output, with: "Documentation/pagecache.1")
        for command in try CommandDescription.tool().shownCommands {
            #expect(ended.output.contains(".SS pagecache \(Roff.escaped(command.commandName))"))
        }
        for section in ["NAME", "SYNOPSIS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"] {
            #expect(ended.output.contains(".SH \"\(section)\""), "\(section)")
        }
        // The check with troff runs only where groff is installed.
        let path = "\(folder.path)/pagecache.1"
        folder.createFile(path, ended.output)
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/groff") else { return }
        let checked = try await Program.run(
            "/usr/bin/groff", ["-man", "-Tutf8", "-K", "utf8", "-ww", "-z", path],
            environment: ["PATH": "/usr/bin:/bin"])
        #expect(checked.errors.isEmpty, "\(checked.errors)")
    }

    @Test("The tables of list, pages, show and sync match their snapshots")
    func tables() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            func run(_ arguments: [String]) async throws -> String {
                let ended = try await Tool.run(arguments + ["--store", folder.store])
                #expect(ended.status == 0, "\(ended.errors)")
                return stable(ended.output, root)
            }
            // This key is the same at every port.
            let tables = [
                ("sync", ["sync", "\(root)/items", "--key", "items", "--overlap", "0"]), ("list", ["list"]),
                ("pages", ["pages", "items"]),
                ("show", ["show", "items", "--limit", "2"]),
                ("show-csv", ["show", "items", "--limit", "2", "--format", "csv"]),
                ("export-csv", ["export", "items", "--format", "csv"]), ("gc", ["gc", "--max-bytes", "1G"]),
                ("verify", ["verify"]),
                ("pin", ["pin", "items"]), ("purge", ["purge", "items", "--dry-run"]),
            ]
            for (name, arguments) in tables {
                let text = try await run(arguments)
                try Self.compare(
                    text.split(separator: "\n").prefix(12).joined(separator: "\n") + "\n",
                    with: "Tests/ToolTests/Snapshots/\(name).txt")
            }
        }
    }

    /// Replaces everything that differs between runs: ports, times and durations. Columns are as wide as their
    /// contents, so runs of spaces become two spaces.
    private func stable(_ text: String, _ root: String) -> String {
        text.replacing(root, with: "http://origin")
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/, with: "TIME")
            .replacing(/\b\d+(\.\d)? (s|ms)\b/, with: "AGE")
            .replacing(/\b[\d.]+ (B|KB|MB)\b/, with: "SIZE")
            .replacing(/[ ]{2,}/, with: "  ")
    }
}
#endif
