#if Tool
import ArgumentParser
import PageStore

/// The command line tool. A command parses, calls and renders. It contains neither SQL nor policy.
@main
struct Pagecache: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pagecache",
        abstract:
            "Keeps paginated lists of slow, changing, often absent APIs on disk, and reads them without the network.",
        discussion: """
            EXAMPLES
              pagecache sync 'https://api.example.com/items'   every page; later: new ones
              pagecache list                                   what is in the store
              pagecache show api.example.com/items             its items, from the disk
              pagecache demo                                   the story in half a minute

            EXIT CODES
               0  done
              64  usage
              65  the store is damaged, or the origin's answer cannot be used
              66  no such store or query
              69  the origin cannot be reached, and nothing is cached
              70  internal error
              73  cannot create
              74  input or output failed, disk full
              75  incomplete for now; also: the store is busy
              77  permission
              78  the store is of a newer version
             130  stopped by SIGINT; what was fetched is kept. 129: SIGHUP, 143: SIGTERM
            """,
        version: toolVersion,
        // Each command states its name. Otherwise the parser derives the names of all commands from their types on
        // every call, which took a quarter of the time of `--version`.
        subcommands: [
            Sync.self, Probe.self, List.self, Show.self, Pages.self, Purge.self, Pin.self, Unpin.self,
            CollectGarbage.self, Verify.self, Demo.self,
            Errors.self, Why.self, Retry.self, Stats.self,
            Export.self, Watch.self, Completions.self, Manual.self,
        ])

    /// Parses the arguments here instead of in the library's `main`, so that every error is one line in the requested
    /// format. Parsing comes before any task or signal source. Both start threads, which `--version` and `--help` do
    /// not need.
    @MainActor
    static func main() async {
        ToolProcess.outliveReaders()
        if asksForVersions(CommandLine.arguments.dropFirst()) {
            Terminal.standard.print(toolVersion)
            Terminal.standard.print("SQLite \(PageStore.sqliteVersion)")
            ToolProcess.end(nil)
        }
        do {
            var command = try parseAsRoot()
            if let command = command as? any AsyncParsableCommand {
                await ToolProcess.run(command)
            }
            try command.run()
            ToolProcess.end(nil)
        } catch  where ToolFailure(error) == nil && exitCode(for: error) == .success {
            exit(withError: error)  // --help, --version, completions of a shell
        } catch {
            ToolProcess.end(error)
        }
    }

    /// Whether the arguments are `--version --verbose`, which also prints the library versions. The parser handles
    /// `--version` alone.
    private static func asksForVersions(_ words: some Collection<String>) -> Bool {
        words.count == 2 && words.contains("--version") && words.contains { $0 == "--verbose" || $0 == "-v" }
    }

    /// The parser's error about invalid arguments as an error of the tool. Commands throw such errors, too.
    static func usageFailure(_ error: any Error) -> ToolFailure? {
        guard ToolFailure(error) == nil, !(error is CancellationError), exitCode(for: error) == .validationFailure
        else { return nil }
        if asksForJSON(CommandLine.arguments) { Terminal.standard.configure(quiet: false, json: true, colour: false) }
        let text = message(for: error).split(separator: "\n").first.map(String.init) ?? "wrong arguments"
        return ToolFailure(.usage, "usage", text, hint: valueHint(for: text) ?? helpHint(for: error))
    }

    /// A hint with the valid forms. The parser names only the invalid value.
    private static func valueHint(for text: String) -> String? {
        guard text.hasPrefix("The value ") else { return nil }
        return if text.contains("<duration>") {
            "durations are written 30s, 5m, 2h or 7d"
        } else if text.contains("<size>") {
            "sizes are written 500M or 2G"
        } else if text.contains("<rate>") {
            "rates are written 5/s, 30/m or 100/h"
        } else {
            nil
        }
    }

    /// A hint at the help of the intended command. The parser names it in the last words of its full message.
    private static func helpHint(for error: any Error) -> String {
        let command = fullMessage(for: error).split(separator: "\n").last?.firstMatch(
            of: /See '(pagecache [^']*--help)'/)?.output.1
        return "see '\(command ?? "pagecache --help")'"
    }

    /// Whether arguments that could not be parsed still request JSON, so that the error is JSON, too.
    static func asksForJSON(_ words: [String]) -> Bool {
        let formats = ["json", "ndjson"]
        return words.contains {
            $0 == "--json" || formats.contains(String($0.trimmingPrefix("--format="))) && $0.hasPrefix("--format=")
        }
            || zip(words, words.dropFirst()).contains { $0 == "--format" && formats.contains($1) }
    }
}
#else
// Without the trait `Tool`, the package is a library and has no tool.
@main
enum Pagecache {
    static func main() {}
}
#endif
