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

@Suite("Completions")
struct CompletionTests {
    private let folder = Folder()

    @Test("Each shell has a completion script", arguments: ["bash", "zsh", "fish"])
    func scripts(shell: String) async throws {
        let ended = try await Tool.run(["completions", shell])
        #expect(ended.status == 0)
        // Each shell has its own way to request the names of queries, and to write an option.
        let asks = shell == "fish" ? "custom_completion" : "---completion"
        let words = ["sync", "export", "watch", shell == "fish" ? "-l 'store'" : "--store", asks]
        for word in words { #expect(ended.output.contains(word), "\(word)") }
        #expect(try await Tool.run(["completions", "csh"]).status == 64)
    }

    @Test("Queries are completed from --store or the default store, and a missing store is not an error")
    func queries() async throws {
        let origin = DemoOrigin(count: 10)
        try await withOrigin(origin) { root in
            var ids: [String] = []
            for path in ["items", "pages"] {
                let ended = try await Tool.run(["sync", "\(root)/\(path)", "--store", folder.store, "--json"])
                ids.append(try #require(ended.json["query"] as? String))
            }
            /// Requests completions as the scripts do: the words so far, the index of the last word, and its length.
            func complete(_ words: [String], _ environment: [String: String] = [:]) async throws -> [String] {
                let last = words.last ?? ""
                let ended = try await Tool.run(
                    ["---completion", "show", "--", "positional@0", String(words.count - 1), String(last.count)]
                        + words, environment: environment)
                #expect(ended.status == 0)
                #expect(ended.errors.isEmpty)
                return ended.output.split(separator: "\n").map(String.init)
            }
            let store = ["PAGECACHE_STORE": folder.store]
            let keys = ["items", "pages"].map { "\(root.replacing("http://", with: ""))/\($0)" }
            #expect(try await complete(["pagecache", "show", ""], store) == keys)
            let zsh = try await complete(["pagecache", "show", ""], store.merging(["SAP_SHELL": "zsh"]) { $1 })
            let place = root.replacing("http://", with: "").replacing(":", with: "\\:")
            #expect(zsh.contains { $0.hasPrefix("\(place)/items:") && $0.hasSuffix(ids[0]) }, "\(zsh)")
            #expect(
                try await complete(["pagecache", "show", "--store", folder.store, String(ids[0].prefix(3))]).contains(
                    ids[0]))
            #expect(try await complete(["pagecache", "show", ""]) == [])
            let text = "\(folder.path)/notes.txt"
            folder.createFile(text, "no store")
            #expect(try await complete(["pagecache", "show", ""], ["PAGECACHE_STORE": text]) == [])
        }
    }

    @Test(
        "The store is found in the typed words",
        arguments: [
            (["pagecache", "--store", "/a"], "/a"), (["pagecache", "--store=/a b"], "/a b"),
            (["pagecache", "--store", "'/a'"], "/a"),
            (["pagecache", "--store"], nil), (["pagecache", "show"], nil),
        ] as [([String], String?)])
    func store(words: [String], path: String?) { #expect(QueryCompletion.store(in: words) == path) }

    @Test("Candidates begin with keys, and describe them by their ids where the shell shows descriptions")
    func candidates() {
        let keys = [QueryKey("https://api.example.com/items?a=1&b=2"), QueryKey("orders")]
        let ids = keys.map(\.shortID)
        #expect(
            QueryCompletion.candidates(keys, prefix: "", shell: .fish)
                == ["api.example.com/items?a=1&b=2\t\(ids[0])", "orders\t\(ids[1])"])
        #expect(
            QueryCompletion.candidates(keys, prefix: "https://a", shell: .zsh)
                == ["https\\://api.example.com/items?a=1&b=2:\(ids[0])"])
        #expect(
            QueryCompletion.candidates(keys, prefix: "", shell: .bash) == ["api.example.com/items?a=1&b=2", "orders"])
        // The shell would expand this key.
        let strange = QueryKey("a$(b)")
        #expect(QueryCompletion.candidates([strange], prefix: "", shell: .bash) == [strange.shortID])
        let control = QueryKey("evil\n\u{1b}[31mkey")
        for shell in [CompletionShell.zsh, .fish] {
            let found = QueryCompletion.candidates([control], prefix: "", shell: shell)
            #expect(found.count == 1 && found[0].hasPrefix(control.shortID), "\(found)")
            #expect(found.allSatisfy { !$0.contains("\n") && !$0.contains("\u{1b}") })
        }
        // A key of two scopes names no query.
        let twins = ["a", "b"].map { QueryKey("k", scope: $0) }
        #expect(QueryCompletion.candidates(twins, prefix: "", shell: .bash) == twins.map(\.shortID).sorted())
        #expect(QueryCompletion.candidates(keys, prefix: "or", shell: nil) == ["orders"])
    }

    @Test("bash completes a key with colons, as readline splits it and replaces its last part")
    func colons() async throws {
        guard FileManager.default.isExecutableFile(atPath: "/bin/bash") else { return }
        let script = "\(folder.path)/script"
        folder.createFile(script, try await Tool.run(["completions", "bash"]).output)
        for key in ["http://127.0.0.1:8732/users", "http://127.0.0.1:8732/uploads?a=1"] {
            try await folder.write(items(0..<10), as: QueryKey(key), total: .exact(10))
        }
        func complete(_ words: [String], _ line: String) async throws -> [String] {
            let program = """
                source '\(script)'
                pagecache() { '\(Tool.path)' "$@"; }
                COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " "))); COMP_CWORD=\(words.count - 1)
                COMP_LINE='\(line)'; COMP_POINT=\(line.count)
                _pagecache_words pagecache '\(words.last ?? "")' '\(words.dropLast().last ?? "")'
                printf '%s\\n' "${COMPREPLY[@]}"
                """
            let ended = try await Program.run(
                "/bin/bash", ["-c", program], environment: ["PATH": "/usr/bin:/bin", "PAGECACHE_STORE": folder.store])
            #expect(ended.errors.isEmpty, "\(ended.errors)")
            return ended.output.split(separator: "\n").map(String.init).sorted()
        }
        #expect(
            try await complete(["pagecache", "show", ""], "pagecache show ")
                == ["127.0.0.1:8732/uploads?a=1", "127.0.0.1:8732/users"])
        let url = ["http", ":", "//127.0.0.1", ":", "8732/u"]
        #expect(
            try await complete(["pagecache", "show"] + url, "pagecache show http://127.0.0.1:8732/u")
                == ["8732/uploads?a=1", "8732/users"])
        #expect(
            try await complete(["pagecache", "show", "127.0.0.1", ":", "8732/us"], "pagecache show 127.0.0.1:8732/us")
                == ["8732/users"])
        // An escaped colon is part of the word that readline replaces.
        #expect(
            try await complete(
                ["pagecache", "show", #"127.0.0.1\:8732/us"#], #"pagecache show 127.0.0.1\:8732/us"#)
                == ["127.0.0.1:8732/users"])
    }

    @Test("bash completes commands after help, options after ls, and variables after --bearer-env")
    func bash() async throws {
        let script = "\(folder.path)/script"
        folder.createFile(script, try await Tool.run(["completions", "bash"]).output)
        func complete(_ words: [String]) async throws -> [String] {
            let line = words.joined(separator: " ")
            let program = """
                source '\(script)'
                pagecache() { '\(Tool.path)' "$@"; }
                COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " "))); COMP_CWORD=\(words.count - 1)
                COMP_LINE='\(line)'; COMP_POINT=\(line.count)
                _pagecache pagecache '\(words.last ?? "")' '\(words.dropLast().last ?? "")'
                printf '%s\\n' "${COMPREPLY[@]}"
                """
            let ended = try await Program.run(
                "/bin/bash", ["-c", program], environment: ["PATH": "/usr/bin:/bin", "API_TOKEN": "x"])
            return ended.output.split(separator: "\n").map(String.init)
        }
        guard FileManager.default.isExecutableFile(atPath: "/bin/bash") else { return }
        #expect(try await complete(["pagecache", "help", ""]).contains("sync"))
        #expect(try await complete(["pagecache", "ls", "--"]).contains("--format"))
        #expect(try await complete(["pagecache", "sync", "--bearer-env", "API"]) == ["API_TOKEN"])
    }

    @Test("The version is one constant, and matches the changelog")
    func version() async throws {
        #expect(try await Tool.run(["--version"]).output == toolVersion + "\n")
        #expect(toolVersion.wholeMatch(of: /\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?/) != nil)
        let changes = try String(contentsOfFile: Repository.path("CHANGELOG.md"), encoding: .utf8)
        let released = changes.split(separator: "\n").first { $0.hasPrefix("## [") }
        if let released { #expect(released.contains("[\(toolVersion)]")) }
    }
}
#endif
