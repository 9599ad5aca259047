#if Tool
import ArgumentParser
import PageStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The command line tool. A command parses, calls and renders. It contains neither SQL nor policy.
@main
struct Pagecache: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pagecache",
        abstract:
            "Keeps lists from paginated APIs on disk, updates them with few requests, and reads them offline.",
        discussion: """
            EXAMPLES
              pagecache sync 'https://api.example.com/items'   every page; later, changes
              pagecache list                                   the queries in the store
              pagecache show api.example.com/items             items, without the network
              pagecache diff api.example.com/items             its latest changes
              pagecache demo                                   a tour of a few seconds

            EXIT CODES
               0  done
               1  'diff' found changes
              64  usage
              65  the store is damaged, or an answer of the origin is unusable
              66  no such store or query
              69  the store's server, or the origin of a new query, is unavailable
              70  internal error
              73  cannot create a file, or cannot use the database as a store
              74  input or output error, disk full
              75  incomplete for now, or the store is busy
              77  permission denied
              78  the store has a newer version
             130  stopped by SIGINT; fetched pages are kept
                  (129: SIGHUP, 131: SIGQUIT, 143: SIGTERM)
            """,
        version: toolVersion,
        // Each command states its name. Otherwise the parser derives the names of all commands from their types on
        // every call, which took a quarter of the time of `--version`.
        groupedSubcommands: [
            CommandGroup(
                name: "Keep fresh", subcommands: [Sync.self, Retry.self, Pin.self, Unpin.self, Watch.self]),
            CommandGroup(
                name: "Read", subcommands: [List.self, Show.self, Export.self, Diff.self]),
            CommandGroup(
                name: "Diagnose",
                subcommands: [Probe.self, Info.self, Why.self, Errors.self, Pages.self, Stats.self, Doctor.self]),
            CommandGroup(
                name: "Maintain", subcommands: [Purge.self, CollectGarbage.self, Verify.self]),
            CommandGroup(name: "Set up", subcommands: [Demo.self, Completions.self, Manual.self]),
        ])

    /// Parses the arguments here instead of in the library's `main`, so that every error is one line in the requested
    /// format. Parsing comes before any task or signal source. Both start threads, which `--version` and `--help` do
    /// not need.
    @MainActor
    static func main() async {
        ToolProcess.outliveReaders()
        if CommandLine.arguments.isEmpty {
            ToolProcess.end(
                ToolFailure(
                    .internal, "no_arguments", "the arguments of the process cannot be read",
                    hint: "mount /proc: on Linux, Swift reads the arguments from it"))
        }
        let width = helpWidth()
        if CommandLine.arguments.count == 1 {
            printHelp(helpMessage(), width)
            ToolProcess.end(nil)
        }
        // The parser does not notice an output that cannot be written.
        if CommandLine.arguments.dropFirst() == ["--version"] {
            Terminal.standard.print(toolVersion)
            ToolProcess.end(nil)
        }
        if asksForVersions(CommandLine.arguments.dropFirst()) {
            Terminal.standard.print(toolVersion)
            Terminal.standard.print("SQLite \(SQLitePageStore.sqliteVersion)")
            ToolProcess.end(nil)
        }
        do {
            if let topic = try Help.topic(of: Array(CommandLine.arguments.dropFirst())) {
                printHelp(topic, width)
                ToolProcess.end(nil)
            }
            var command = try parseAsRoot()
            if let command = command as? any AsyncParsableCommand {
                await ToolProcess.run(command)
            }
            try command.run()
            ToolProcess.end(nil)
        } catch  where ToolFailure(error) == nil && exitCode(for: error) == .success {
            let message = fullMessage(for: error)
            if message.contains("\nUSAGE: ") {
                printHelp(message, width)
                ToolProcess.end(nil)
            }
            exit(withError: error)  // --help, --version, completions of a shell
        } catch {
            ToolProcess.end(error)
        }
    }

    /// Returns the number of columns for help texts. Returns nil when standard output is not a terminal and `COLUMNS`
    /// is not set. Also sets `COLUMNS` for the parser. For a narrow terminal the parser then renders unbroken lines,
    /// because it traps when its own columns do not fit.
    private static func helpWidth() -> Int? {
        let terminal = Terminal.standard
        let stated = getenv("COLUMNS").flatMap { Int(String(cString: $0)) }
        // An exported `COLUMNS` may be older than the present width of the terminal.
        guard let width = terminal.outputIsTerminal ? terminal.width : stated else { return nil }
        setenv("COLUMNS", "\(width < HelpLayout.narrowest ? HelpLayout.unbroken : width)", 1)
        return max(1, width)
    }

    /// Prints a help text, on a narrow terminal in the tool's own layout.
    private static func printHelp(_ text: String, _ width: Int?) {
        let shown = width.map { HelpLayout.lines(text, width: $0).joined(separator: "\n") } ?? text
        Terminal.standard.write(text: shown + "\n")
    }

    /// Whether the arguments are `--version --verbose`, which also prints the library versions. The parser handles
    /// `--version` alone.
    private static func asksForVersions(_ words: some Collection<String>) -> Bool {
        words.count == 2 && words.contains("--version") && words.contains { $0 == "--verbose" || $0 == "-v" }
    }

    /// Returns the parser's error about invalid arguments as an error of the tool, and nil for other errors. Commands
    /// throw such errors, too.
    /// - Parameter words: the arguments, without the name of the tool. Defaults to those of the process.
    static func usageFailure(
        _ error: any Error, words: [String] = Array(CommandLine.arguments.dropFirst())
    ) -> ToolFailure? {
        guard ToolFailure(error) == nil, !(error is CancellationError), exitCode(for: error) == .validationFailure
        else { return nil }
        if asksForJSON(words) { Terminal.standard.configure(quiet: false, json: true, colour: false) }
        let options = options(for: words)
        if let option = unknownOption(in: words, of: options) {
            return ToolFailure(
                .usage, "usage", "unknown option '\(option.name)'",
                hint: option.suggestion.map { "did you mean '\($0)'?" } ?? helpHint(for: error))
        }
        let usage = UsageMessage(message(for: error), words: words, commands: commandNames + [["help"]])
        let lacking = options?.first { option in option.names?.contains { $0.text == usage.lacking } ?? false }
        return ToolFailure(
            .usage, "usage", usage.message,
            hint: usage.hint ?? lacking.flatMap(UsageMessage.meaning) ?? helpHint(for: error))
    }

    /// The options of the command that the arguments name. Returns nil when they name none.
    private static func options(for words: [String]) -> [CommandDescription.Option]? {
        guard let name = words.first, let tool = try? CommandDescription.tool() else { return nil }
        let command = tool.subcommands?.first { $0.commandName == name || $0.aliases?.contains(name) == true }
        return command.map { $0.arguments ?? [] }
    }

    /// The first given long option that the command does not have. Returns nil when there is none, or when `options` is
    /// nil. The parser checks the values of known options first, and would report an invalid value instead of the
    /// unknown option.
    private static func unknownOption(
        in words: [String], of options: [CommandDescription.Option]?
    ) -> (name: String, suggestion: String?)? {
        guard let options else { return nil }
        var isValue = false
        for word in words.dropFirst() {
            if word == "--" { return nil }
            if isValue {
                isValue = false
                continue
            }
            guard word.hasPrefix("--") else { continue }
            let text = String(word.prefix { $0 != "=" })
            guard let option = options.first(where: { $0.names?.contains { $0.text == text } ?? false }) else {
                return (text, closest(text, options))
            }
            isValue = option.kind == "option" && !word.contains("=")
        }
        return nil
    }

    /// The option that is spelled most like the text. Returns nil when no option is close enough. Pure.
    private static func closest(_ text: String, _ options: [CommandDescription.Option]) -> String? {
        let names = options.flatMap { $0.names ?? [] }.map(\.text).filter { $0.hasPrefix("--") }
        let close = names.compactMap { name in Spelling.distance(ofOption: text, name).map { (name, $0) } }
        return close.min { $0.1 < $1.1 }?.0
    }

    /// The names of each command, aliases included.
    static var commandNames: [[String]] {
        configuration.subcommands.map { command in
            [command.configuration.commandName ?? ""] + command.configuration.aliases
        }
    }

    /// A hint at the help of the intended command. The parser names that command at the end of its full message.
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
