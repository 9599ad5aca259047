#if Tool
import ArgumentParser
import DemoOrigin
import Foundation
import PageModel
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

@Suite("Colours, by the conventions")
struct ColourTests {
    private let folder = Folder()

    @Test(
        "Options override variables, and NO_COLOR overrides the others",
        arguments: [
            ([], [:], true, true), ([], [:], false, false), ([], ["NO_COLOR": "1"], true, false),
            ([], ["NO_COLOR": ""], true, true), ([], ["CLICOLOR_FORCE": "1"], false, true),
            ([], ["CLICOLOR_FORCE": "0"], false, false), ([], ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], false, false),
            ([], ["TERM": "dumb"], true, false), ([], ["CLICOLOR": "0"], true, false),
            (["--color", "always"], ["NO_COLOR": "1"], false, true),
            (["--color=never"], ["CLICOLOR_FORCE": "1"], true, false),
            (["--no-color"], ["CLICOLOR_FORCE": "1"], true, false), (["--color", "auto"], [:], true, true),
        ] as [([String], [String: String], Bool, Bool)])
    func conventions(options: [String], environment: [String: String], isTerminal: Bool, expected: Bool) throws {
        let parsed = try ColourOptions.parse(options)
        #expect(parsed.isColoured(environment: environment, isTerminal: isTerminal) == expected)
    }

    @Test("The built tool colours states with --color=always and CLICOLOR_FORCE, and a pipe gets none otherwise")
    func tool() async throws {
        try await folder.writeListWithGap()
        let stale = "\u{1b}[33mstale"
        #expect(try await folder.tool(["list", "--color=always"]).output.contains(stale))
        #expect(try await folder.tool(["list"], environment: ["CLICOLOR_FORCE": "1"]).output.contains(stale))
        for command in [["list"], ["pages", "list"], ["pages", "list", "--map"], ["doctor"]] {
            let plain = try await folder.tool(command)
            #expect(!plain.output.contains("\u{1b}"), "\(command)")
            #expect(try await folder.tool(command + ["--color", "always"]).output.contains("\u{1b}["), "\(command)")
            let json = try await folder.tool(command + ["--color", "always", "--json"])
            #expect(!json.output.contains("\u{1b}"), "\(command)")
        }
    }

    @Test("The outcome of sync, the sentences of why, probe and errors have the colour of their state")
    func states() async throws {
        let origin = DemoOrigin(count: 250) { number, _ in number > 2 ? .status(503, retryAfter: nil) : nil }
        try await withOrigin(origin) { root in
            let always = ["--color", "always"]
            let partial = try await folder.tool(["sync", "\(root)/items", "--retries", "1", "--wait", "0s"] + always)
            #expect(partial.output.contains(": \u{1b}[33mincomplete\u{1b}[0m · "), "\(partial.output)")
            #expect(partial.errors.contains("pagecache: \u{1b}[33mincomplete\u{1b}[0m: "))
            let why = try await folder.tool(["why", "\(root)/items"] + always)
            #expect(why.output.contains("\u{1b}[32mis fresh\u{1b}[0m"))
            #expect(why.output.contains("\u{1b}[31mfails\u{1b}[0m"))
            try await withOrigin(DemoOrigin(count: 250)) { (fine: String) async throws in
                let whole = try await folder.tool(["sync", "\(fine)/items"] + always)
                #expect(whole.output.contains(": \u{1b}[32mcomplete\u{1b}[0m · "), "\(whole.output)")
                let probe = try await folder.tool(["probe", "\(fine)/items"] + always)
                #expect(probe.output.contains("\u{1b}[32myes\u{1b}[0m"))
            }
            let wrong = try await folder.tool(["show", "none"] + always)
            #expect(wrong.errors.hasPrefix("\u{1b}[31mpagecache:\u{1b}[0m no query is named"))
            let json = try await folder.tool(["show", "none", "--json"] + always)
            #expect(!json.errors.contains("\u{1b}"))
            #expect(!(try await folder.tool(["why", "\(root)/items"])).output.contains("\u{1b}"))
        }
    }

    @Test("A dumb terminal gets no colours from tables and maps", arguments: [["list"], ["pages", "list", "--map"]])
    func dumb(command: [String]) async throws {
        try await folder.writeListWithGap()
        for (term, isColoured) in [("xterm", true), ("dumb", false)] {
            let tool = try TerminalProgram(
                Tool.path, command + ["--store", folder.store],
                environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": term])
            try await eventually("it has ended") { tool.ended != nil }
            #expect(tool.shown.contains("\u{1b}[") == isColoured, "\(term)")
        }
    }
}
#endif
