#if Tool
import Foundation
import PageModel
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// Completions in interactive shells. The words are typed, and Tab is pressed. A missing shell skips its test.
@Suite("Completions in zsh and fish", .serialized)
struct ShellCompletionTests {
    private let folder = Folder()

    private static let zsh = "/usr/bin/zsh"
    private static let fish = "/usr/bin/fish"

    private static func exists(_ shell: String) -> Bool { FileManager.default.isExecutableFile(atPath: shell) }

    /// Starts an interactive shell without the settings of the user. Its search path begins with the tool.
    private func start(_ shell: String, _ arguments: [String]) async throws -> TerminalProgram {
        for key in ["http://127.0.0.1:8732/users", "orders"] {
            try await folder.write(items(0..<10), as: QueryKey(key), total: .exact(10))
        }
        let bin = "\(folder.path)/bin"
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: "\(bin)/pagecache", withDestinationPath: URL(fileURLWithPath: Tool.path).path)
        let environment = [
            "PATH": "\(bin):/usr/bin:/bin", "HOME": folder.path, "TERM": "xterm", "PAGECACHE_STORE": folder.store,
        ]
        return try TerminalProgram(shell, arguments, environment: environment, columns: 120, rows: 50)
    }

    /// Checks that the shell can parse the script, without running it.
    private func expectParses(_ shell: String, _ script: String) async throws {
        let read = try await Program.run(shell, ["-n", script], environment: ["PATH": "/usr/bin:/bin"])
        #expect(read.status == 0, "\(read.errors)")
    }

    /// Types words and Tab, and waits until the shell shows the expected texts after them. The line is removed again.
    private func complete(_ shell: TerminalProgram, _ words: String, _ expected: [String]) async throws {
        let before = shell.shown.count
        shell.type(words + "\t")
        try await eventually("\(words) shows \(expected)") {
            let shown = shell.shown.dropFirst(before)
            return expected.allSatisfy { shown.contains($0) }
        }
        // Ctrl-U removes the line in both shells.
        shell.type("\u{15}")
    }

    private func expectCompletions(_ shell: TerminalProgram) async throws {
        let ids = ["http://127.0.0.1:8732/users", "orders"].map { QueryKey($0).shortID }
        try await complete(shell, "pagecache p", ["pages", "probe", "purge"])
        try await complete(shell, "pagecache show ", ["127.0.0.1:8732/users", "orders"] + ids)
        try await complete(shell, "pagecache show or", ["orders"])
        try await complete(shell, "pagecache help ", ["exit-codes", "doctor"])
        try await complete(shell, "pagecache ls --", ["--format", "--json"])
        try await complete(shell, "pagecache sync --bearer-env PAGECACHE_S", ["PAGECACHE_STORE"])
        shell.type("exit\r")
        try await eventually("the shell has ended") { shell.ended != nil }
    }

    @Test(
        "zsh parses its script, and completes commands, keys with their ids, and options after ls",
        .enabled(if: ShellCompletionTests.exists(ShellCompletionTests.zsh), "zsh is not installed"))
    func zshCompletes() async throws {
        let script = "\(folder.path)/_pagecache"
        folder.createFile(script, try await Tool.run(["completions", "zsh"]).output)
        try await expectParses(Self.zsh, script)
        let shell = try await start(Self.zsh, ["-f", "-i"])
        shell.type("fpath=('\(folder.path)' $fpath); autoload -Uz compinit; compinit -u -D; echo do''ne\r")
        try await eventually("zsh is ready") { shell.shown.contains("done\r\n") }
        try await expectCompletions(shell)
    }

    @Test(
        "fish parses its script, and completes commands, keys with their ids, and options after ls",
        .enabled(if: ShellCompletionTests.exists(ShellCompletionTests.fish), "fish is not installed"))
    func fishCompletes() async throws {
        let script = "\(folder.path)/pagecache.fish"
        folder.createFile(script, try await Tool.run(["completions", "fish"]).output)
        try await expectParses(Self.fish, script)
        let shell = try await start(Self.fish, ["--no-config", "-i"])
        shell.type("source '\(script)'; echo do''ne\r")
        try await eventually("fish is ready") { shell.shown.contains("done\r\n") }
        try await expectCompletions(shell)
    }
}
#endif
