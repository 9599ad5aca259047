#if Tool
import ArgumentParser
import Foundation
import PageModel
import ProgramSupport
import Testing
import ToolSupport
@testable import pagecache

/// Commands that the tool prints for users to type are valid.
@Suite("Hints")
struct HintTests {
    /// Returns every source file of the package. Lines that a multi-line text breaks are joined again.
    private func sources(_ folder: String = "Sources") throws -> [(path: String, text: String)] {
        let root = Repository.path(folder)
        let paths = try #require(FileManager.default.enumerator(atPath: root)).compactMap { $0 as? String }.filter {
            $0.hasSuffix(".swift")
        }
        return try paths.sorted().map { path in
            let text = try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
            return (path, text.replacing(/\\\n\s*/, with: ""))
        }
    }

    /// Returns the words of a command as a shell splits them, up to a pipe, a redirection or a comment. An
    /// interpolation becomes the word `name`.
    private func words(_ command: String) -> [String] {
        let plain = command.replacing(/\\\([^()]*(?:\([^()]*\)[^()]*)*\)/, with: "name").replacing(/\\"/, with: "\"")
        var words: [String] = []
        for match in plain.matches(of: /'[^']*'|"[^"]*"|\S+/) {
            let word = String(match.output)
            // Two or more spaces begin a comment in the examples.
            if match.range.lowerBound > plain.startIndex, plain[..<match.range.lowerBound].hasSuffix("  ") { break }
            if ["|", ">", "&&"].contains(word) { break }
            words.append(word.trimmingCharacters(in: ["'", "\""]))
        }
        return words
    }

    /// Returns nil when the real parser accepts the command. A single word may be the name of a command, and needs no
    /// arguments.
    private func problem(_ command: String) throws -> String? {
        let words = Array(words(command).dropFirst())
        let names = try CommandDescription.tool().subcommands?.flatMap { [$0.commandName] + ($0.aliases ?? []) } ?? []
        if words.count == 1, let word = words.first, names.contains(word) { return nil }
        do {
            _ = try Pagecache.parseAsRoot(words)
            return nil
        } catch {
            return Pagecache.exitCode(for: error) == .success ? nil : Pagecache.message(for: error)
        }
    }

    @Test("Every 'pagecache …' in a text of the sources is a valid command")
    func quoted() throws {
        var found: Set<String> = []
        for (path, text) in try sources() {
            for line in text.split(separator: "\n") where !line.drop(while: \.isWhitespace).hasPrefix("//") {
                for match in line.matches(of: /['`](pagecache [^'`]+)['`]/) {
                    let command = String(match.output.1)
                    found.insert(command)
                    #expect(try problem(command) == nil, "\(path): \(command)")
                }
            }
        }
        // The search must find commands, including one that was wrong once.
        #expect(found.count > 10, "\(found.sorted())")
        #expect(found.contains("pagecache verify --repair"))
    }

    @Test(
        "An error about an invalid value says which values are valid",
        arguments: [
            (["purge", "--older-than", "soon"], "durations are written 30s, 5m, 2h, 7d, 1w or 1h30m"),
            (["gc", "--max-bytes", "much"], "sizes are written 500M, 2G or 512MiB"),
            (["sync", "https://a.example", "--rate", "fast"], "rates are written 5/s, 30/m or 100/h"),
            (["list", "--format", "yaml"], "use table, json, ndjson or csv"), (["show"], "see 'pagecache show --help'"),
            (["purge"], "see 'pagecache purge --help'"), (["nope"], "'pagecache --help' lists the commands"),
            (["--nope"], "see 'pagecache --help'"),
        ])
    func values(arguments: [String], hint: String) async throws {
        let ended = try await Tool.run(arguments)
        #expect(ended.status == 64)
        #expect(ended.errors.hasSuffix("(\(hint))\n"), "\(ended.errors)")
    }

    /// Without an explicit name, ArgumentParser derives it from the type, which searches the whole program at every
    /// start.
    @Test("Every command has an explicit name")
    func names() {
        #expect(Pagecache.configuration.subcommands.filter { $0.configuration.commandName == nil }.isEmpty)
    }

    @Test("No hint contains a command without quotes, which the other test would miss")
    func unquoted() throws {
        for (path, text) in try sources("Sources/pagecache") {
            #expect(text.firstMatch(of: #/hint: "pagecache /#) == nil, "\(path)")
        }
    }

    @Test("Every example in --help is a valid command")
    func examples() throws {
        let tool = try CommandDescription.tool()
        var count = 0
        for command in [tool] + (tool.subcommands ?? []) {
            for line in (command.discussion ?? "").split(separator: "\n") {
                let line = line.drop(while: \.isWhitespace)
                guard line.hasPrefix("pagecache ") else { continue }
                count += 1
                #expect(try problem(String(line)) == nil, "\(line)")
            }
        }
        #expect(count > 40)
    }

    @Test("Every option in a text of the sources belongs to a command")
    func options() throws {
        func all(_ command: CommandDescription) -> Set<String> {
            (command.subcommands ?? []).reduce(Set((command.arguments ?? []).flatMap { $0.names ?? [] }.map(\.text))) {
                $0.union(all($1))
            }
        }
        let known = try all(CommandDescription.tool()).union(["--help", "--version", "--experimental-dump-help"])
        #expect(known.contains("--stale-after"))
        // Style sheets contain names that look like options.
        for (path, text) in try sources("Sources/pagecache") where !path.hasSuffix("HTMLPieces.swift") {
            for line in text.split(separator: "\n") where !line.drop(while: \.isWhitespace).hasPrefix("//") {
                // After a letter the text is part of another word, and between letters it is a dash.
                for match in line.matches(of: #/(^|[ '"(=`/])(--[a-z][a-z-]*[a-z])/#) {
                    #expect(known.contains(String(match.output.2)), "\(path): \(match.output.2)")
                }
            }
        }
    }

    @Test("Every command in the output of `why` is valid, whatever the state of the list", arguments: [false, true])
    func explanations(isPinned: Bool) throws {
        var list = Sample.list(
            [Sample.page(0..<100, age: .seconds(900)), Sample.page(100..<200, evidence: .inferred)], total: .exact(500),
            validated: .seconds(900),
            ledger: [
                Sample.failing(0), Sample.failing(300, next: nil), Sample.failing(400, next: nil, isRetryable: false),
            ], isPinned: isPinned,
            sweep: SweepProgress(position: 50, startedAt: Sample.ago(.seconds(60))))
        var count = 0
        for policy in [
            FreshnessPolicy(), FreshnessPolicy(staleAfter: .milliseconds(1_500), originLifetime: .ignored),
            FreshnessPolicy(staleAfter: .seconds(7_200)),
        ] {
            for ledger in [list.ledger, []] {
                list.ledger = ledger
                let all =
                    [Explanation(of: list, policy: policy, now: Sample.now)]
                    + [0, 150, 250, 300, 900].map { Explanation(of: list, at: $0, policy: policy, now: Sample.now) }
                for sentence in all.flatMap(\.sentences) {
                    for match in sentence.text.matches(of: /'(pagecache [^']+)'/) {
                        count += 1
                        #expect(try problem(String(match.output.1)) == nil, "\(sentence.text)")
                    }
                }
            }
        }
        #expect(count > 10)
    }

    @Test("A repair without room names 'gc --rewrite' only for a store that it can read")
    func repairWithoutRoom() {
        let inPlace = Verify.hint(withoutRoom: StorageError(.full, "reading or writing S: database or disk is full"))
        #expect(inPlace.contains("'pagecache gc' with --max-bytes and --rewrite"))
        #expect(inPlace.contains("'pagecache purge --all'"))
        // The message is that of `Salvage.checkRoom`.
        let message = "a repair of S needs 11 MB of free space for a copy of its rows, and 9 MB are free"
        let copied = Verify.hint(withoutRoom: StorageError(.full, message))
        #expect(!copied.contains("--rewrite"))
        #expect(copied.contains("free that space and run"))
        #expect(copied.contains("'pagecache verify --repair --store COPY'"))
        #expect(copied.contains("'pagecache purge --all'"))
    }

    @Test("The note of gc on pages that stay calls damaged pages damaged, and other pages pinned")
    func pagesLeft() {
        var report = EvictionReport(bytesLeft: 9)
        let pinned = CollectGarbage.note(onPagesLeft: report, isFile: true)
        #expect(pinned == "the remaining pages belong to pinned queries")
        report.pagesDamaged = 2
        let damaged = CollectGarbage.note(onPagesLeft: report, isFile: true)
        #expect(damaged.hasPrefix("2 remaining pages are damaged, or the records of their queries are ("))
        #expect(CollectGarbage.note(onPagesLeft: EvictionReport(), isFile: false).contains("or are damaged"))
    }

    @Test("A repair names up to ten queries whose pins could not be read, and counts the others")
    func lostPins() {
        #expect(Verify.sentence(aboutPins: []) == nil)
        let keys = (0..<12).map { QueryKey("list \($0)") }
        let one = Verify.sentence(aboutPins: [keys[0]])
        #expect(one?.contains("pins of 1 rebuilt query could not be read: \(keys[0].shortID); 'pagecache pin") == true)
        let twelve = Verify.sentence(aboutPins: keys)
        #expect(twelve?.contains("\(keys[9].shortID) and 2 more; ") == true)
        #expect(twelve?.contains(keys[10].shortID) == false)
    }

    @Test(
        "The check of this suite rejects invalid commands",
        arguments: [
            "pagecache repair", "pagecache verify --mend", "pagecache frobnicate x", "pagecache gc --max-age soon",
            "pagecache show --limit 5",
        ])
    func wrong(command: String) throws { #expect(try problem(command) != nil, "\(command)") }
}
#endif
