#if Tool
import ArgumentParser
import Foundation
import PageModel
import PagedRepository
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import pagecache

/// What an operator sees at a terminal of each width, word for word. `SnapshotTests` describes how to record it.
@Suite("Snapshots of terminals of 20, 40, 80 and 120 columns")
struct TerminalSnapshotTests {
    private static let commands = [
        ["list"], ["show", "orders", "--limit", "2"], ["show", "orders", "--limit", "2", "--fields", "/id,/title"],
        ["pages", OperatorStore.failing.text], ["pages", "--map", OperatorStore.failing.text], ["errors"],
        ["info", OperatorStore.failing.text], ["stats"], ["diff", "orders"], ["why", OperatorStore.failing.text],
        ["--help"], ["pages", "--help"],
    ]

    @Test(
        "Every command fits the terminal, breaks no word, and keeps the status, the error and the end of a URL",
        arguments: [20, 40, 80, 120])
    func commands(columns: Int) async throws {
        let store = try await OperatorStore(now: SystemClock().now())
        var snapshot = ""
        for command in Self.commands {
            let isHelp = command.contains("--help")
            // Commands in the output would contain the folder of the test if the store were an option.
            let place = isHelp ? [:] : ["PAGECACHE_STORE": store.folder.store]
            let common = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm"]
            let tool = try TerminalProgram(
                Tool.path, command, environment: common.merging(place) { $1 }, columns: columns)
            try await eventually("it has ended") { tool.ended != nil }
            #expect(tool.ended == (command[0] == "diff" ? 1 : 0), "\(command): \(tool.shown)")
            let shown = OperatorStore.stable(tool.shown)
            snapshot += "$ pagecache \(command.joined(separator: " "))\n\(shown)\n"
            expectFits(shown, columns, command)
            let piped = try await Tool.run(command, environment: place.merging(["COLUMNS": "1000"]) { $1 }).output
            if isHelp { expectWhole(shown, OperatorStore.stable(piped), columns, command) }
            if command[0] == "why" {
                // A URL or a time is longer than the narrowest line, and is broken between its parts.
                let lines = shown.split(separator: "\n")
                #expect(lines.allSatisfy { TextWidth.columns($0) <= columns }, "\(command) at \(columns)")
                #expect(unspaced(shown) == unspaced(OperatorStore.stable(piped)), "\(command) at \(columns)")
            }
            if command == ["errors"] || command == ["pages", OperatorStore.failing.text] {
                let words = Set(shown.split { $0.isWhitespace })
                for word in ["503", "429", "retrying", "origin", "answered"] {
                    #expect(words.contains(Substring(word)), "\(command) at \(columns): \(word)")
                }
            }
            if ["info", "list", "stats"].contains(command[0]) {
                let end = "customers?sort=name"
                #expect(shown.replacing(/\n */, with: "").contains(end), "\(command) at \(columns)")
            }
            if ["list", "stats"].contains(command[0]) {
                #expect(shown.contains(OperatorStore.failing.shortID), "\(command) at \(columns)")
            }
            if command[0] == "list" { #expect(shown.contains("24 %"), "list at \(columns)") }
        }
        try SnapshotTests.compare(snapshot, with: "Tests/ToolTests/Snapshots/terminal-\(columns)-columns.txt")
    }

    @Test("The summary of sync, and the checks of doctor", arguments: [20, 40, 80, 120])
    func summaries(columns: Int) async throws {
        let store = try await OperatorStore(now: SystemClock().now())
        var snapshot = ""
        for (key, report) in store.reports {
            var report = report
            report.duration = .milliseconds(1_234)
            let rendering = SyncRendering(
                report: report, key: key, url: key.text, common: try CommonOptions.parse([]), storedBytes: 123_456)
            let texts = [
                rendering.sentence, rendering.savings?.text, rendering.complaint.map { "pagecache: \($0)" },
            ].compactMap { $0 }
            let shown = texts.flatMap { TableLayout.wrapped($0, width: columns, breakingWords: false) }
                .joined(separator: "\n")
            snapshot += "$ pagecache sync \(key.text)\n\(OperatorStore.stable(shown))\n\n"
            expectFits(OperatorStore.stable(shown), columns, ["sync"])
            expectWhole(shown, texts.joined(separator: "\n"), columns, ["sync"])
        }
        var checks = DoctorChecks(
            environment: ["SSL_CERT_FILE": "/nonexistent/certificates.crt"], now: SystemClock().now())
        var statistics = try #require(store.statistics)
        statistics.fileBytes = 4_321_000
        checks.checkStore("/home/operator/.cache/pagecache/store.sqlite", statistics, 1)
        checks.checkSurroundings()
        let shown = Doctor.table(checks.results).lines(width: columns).lines.joined(separator: "\n") + "\n"
        snapshot += "$ pagecache doctor\n\(OperatorStore.stable(shown))"
        expectFits(shown, columns, ["doctor"])
        try SnapshotTests.compare(snapshot, with: "Tests/ToolTests/Snapshots/summaries-\(columns)-columns.txt")
    }

    /// Expects no line to be longer than the terminal, unless it is one word, such as a time.
    private func expectFits(_ shown: String, _ columns: Int, _ command: [String]) {
        for line in shown.split(separator: "\n") where TextWidth.columns(line) > columns {
            #expect(line.split(separator: " ").count == 1, "\(command) at \(columns): \(line)")
        }
    }

    private func unspaced(_ text: String) -> String { text.filter { !$0.isWhitespace } }

    /// Expects every word of the text to be shown whole.
    private func expectWhole(_ shown: String, _ text: String, _ columns: Int, _ command: [String]) {
        let words = Set(shown.split { $0.isWhitespace })
        let broken = text.split { $0.isWhitespace }.filter { !words.contains($0) }
        #expect(broken.isEmpty, "\(command) at \(columns)")
    }
}
#endif
