#if Tool
/// The manual page in the macros of man(7), generated from the same descriptions as `--help`.
struct ManualPage {
    let tool: CommandDescription
    let version: String

    /// The environment variables, which the help of no command describes.
    private static let environment = [
        (
            "PAGECACHE_STORE",
            "The path of the store file, or the address of a PostgreSQL store (postgres://...). --store overrides it."
        ),
        (
            "PAGECACHE_LOCAL_COPY",
            "The path of a file that keeps pages of a PostgreSQL store on this machine. It can be removed at any time. Default: no such file."
        ),
        ("PAGECACHE_LOCAL_COPY_BYTES", "The largest size of that file, such as 64M. Default: 256 MiB."),
        ("XDG_CACHE_HOME", "The directory that contains pagecache/store.sqlite, the default store. Default: ~/.cache."),
        (
            "HTTP_PROXY, HTTPS_PROXY",
            "The proxies for URLs of each scheme. The same names in lower case take precedence."
        ),
        ("NO_PROXY", "Hosts that are reached without a proxy, separated by commas or spaces."),
        (
            "SSL_CERT_FILE",
            "A file of certificate authorities to trust, in PEM format. --cacert overrides it."
        ),
        (
            "PGUSER, PGPASSWORD, PGSSLMODE, ...",
            "The variables of libpq apply to a PostgreSQL store, for parts that its address does not state."
        ),
        ("NO_COLOR", "Any text turns colours off, unless --color always is given."),
        ("CLICOLOR_FORCE", "Any text but 0 turns colours on without a terminal, unless NO_COLOR is set."),
        ("CLICOLOR", "0 turns colours off, unless CLICOLOR_FORCE or --color always turns them on."),
        (
            "TERM",
            "\"dumb\" turns off progress lines, the view of watch, and colours, unless --color always or CLICOLOR_FORCE turns these on."
        ),
    ]

    private static let files = [
        ("~/.cache/pagecache/store.sqlite", "The store. Only its owner can read the file and its directory."),
        (
            "store.sqlite-wal, store.sqlite-shm",
            "SQLite's write-ahead log and its index. They belong to the store and must not be removed."
        ),
        ("store.sqlite-notices", "Notices that tell other processes of a commit."),
        ("store.sqlite-owners", "Locks of the processes that fetch pages."),
        (
            "store.sqlite.corrupt-<time>",
            "A damaged store that 'verify --repair' replaced, or that 'verify --set-aside' renamed."
        ),
        (
            "store.sqlite.repair-old, store.sqlite.repair-new",
            "Files of a repair that was interrupted. The next repair removes them."
        ),
    ]

    var text: String {
        var page = Roff()
        page.request("TH", "PAGECACHE", "1", "", "pagecache \(version)", "")
        page.section("NAME")
        page.line("pagecache \\- \(Roff.escaped(lowercasedFirst(tool.abstract ?? "")))", isEscaped: true)
        page.section("SYNOPSIS")
        page.line("\\fBpagecache\\fR \\fIcommand\\fR [\\fIoptions\\fR]", isEscaped: true)
        let sections = tool.sections
        if sections.contains(where: { $0.heading == nil && $0.lines.contains { !$0.isEmpty } }) {
            page.section("DESCRIPTION")
            page.paragraphs(sections.filter { $0.heading == nil }.flatMap(\.lines))
        }
        page.section("COMMANDS")
        for command in tool.shownCommands { write(command, to: &page) }
        page.section("OPTIONS OF EVERY COMMAND")
        for option in common { write(option, to: &page) }
        page.item("\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "Show help for a command.")
        page.item("\\fB\\-\\-version\\fR", "Show the version.")
        for section in sections {
            guard let heading = section.heading, heading != "EXAMPLES" else { continue }
            page.section(heading == "EXIT CODES" ? "EXIT STATUS" : heading)
            page.verbatim(section.lines)
        }
        page.section("ENVIRONMENT")
        for (name, meaning) in ManualPage.environment { page.item("\\fB\(name)\\fR", meaning) }
        page.section("FILES")
        for (name, meaning) in ManualPage.files { page.item("\\fI\(Roff.escaped(name))\\fR", meaning) }
        for section in sections where section.heading == "EXAMPLES" {
            page.section("EXAMPLES")
            page.verbatim(section.lines)
        }
        return page.text
    }

    /// The options of all commands with results, described once.
    private var common: [CommandDescription.Option] {
        tool.shownCommands.first { $0.commandName == "list" }?.shownArguments ?? []
    }

    private func write(_ command: CommandDescription, to page: inout Roff) {
        let shared = Set(common.map { key($0) })
        let isShared = { (option: CommandDescription.Option) in shared.contains(key(option)) }
        let own = command.commandName == "list" ? [] : command.shownArguments.filter { !isShared($0) }
        let positional = own.filter { $0.kind == "positional" }.map { argument in
            let name = "\\fI\(Roff.escaped(argument.valueName ?? ""))\\fR\(argument.isRepeating ? "..." : "")"
            return argument.isOptional ? "[\(name)]" : name
        }
        let options = own.contains { $0.kind != "positional" } ? ["[\\fIoptions\\fR]"] : []
        page.subsection(
            (["pagecache \(Roff.escaped(command.commandName))"] + positional + options).joined(separator: " "))
        page.line(command.abstract ?? "")
        if let aliases = command.aliases, !aliases.isEmpty { page.line("Also: \(aliases.joined(separator: ", ")).") }
        for section in command.sections where section.heading == nil { page.paragraphs(section.lines) }
        for option in own { write(option, to: &page) }
        for section in command.sections where section.heading != nil {
            page.paragraph()
            if section.heading != "EXAMPLES" { page.line(section.heading ?? "") }
            page.verbatim(section.lines)
        }
    }

    private func write(_ option: CommandDescription.Option, to page: inout Roff) {
        var head: String
        if option.kind == "positional" {
            head = "\\fI\(Roff.escaped(option.valueName ?? ""))\\fR"
        } else {
            // Short names first, as in `--help`.
            let names = (option.names ?? []).sorted { ($0.kind == "long" ? 1 : 0) < ($1.kind == "long" ? 1 : 0) }
            head = names.map { "\\fB\(Roff.escaped($0.text))\\fR" }.joined(separator: ", ")
            if option.kind == "option" { head += " \\fI\(Roff.escaped(option.valueName ?? "value"))\\fR" }
        }
        let standard = option.defaultValue.map { $0.isEmpty ? "" : " Default: \($0)." } ?? ""
        let text = [option.abstract, option.discussion].compactMap { $0 }.joined(separator: " ")
        let values =
            (option.allValues ?? []).isEmpty ? "" : " Values: \((option.allValues ?? []).joined(separator: ", "))."
        page.item(head, text + (option.kind == "option" ? values + standard : ""))
    }

    private func key(_ option: CommandDescription.Option) -> String {
        option.kind + (option.names ?? []).map(\.text).joined(separator: ",") + (option.abstract ?? "")
    }

    private func lowercasedFirst(_ text: String) -> String {
        let sentence = text.hasSuffix(".") ? String(text.dropLast()) : text
        return sentence.prefix(1).lowercased() + sentence.dropFirst()
    }
}

/// Text in the language of troff (man(7)).
struct Roff {
    private(set) var text = ""

    mutating func request(_ name: String, _ arguments: String...) {
        text += ".\(name)" + arguments.map { " \"\(Roff.escaped($0).replacing("\"", with: "\\(dq"))\"" }.joined() + "\n"
    }

    mutating func section(_ title: String) { request("SH", title) }
    /// - Parameter title: may contain troff escapes.
    mutating func subsection(_ title: String) { text += ".SS \(title)\n" }
    mutating func paragraph() { text += ".PP\n" }

    mutating func line(_ line: String, isEscaped: Bool = false) {
        guard !line.isEmpty else { return }
        text += Roff.protected(isEscaped ? line : Roff.escaped(line)) + "\n"
    }

    /// A term and its meaning.
    /// - Parameter term: may contain troff escapes.
    mutating func item(_ term: String, _ meaning: String) {
        text += ".TP\n\(term)\n"
        line(meaning.isEmpty ? "\\&" : Roff.escaped(meaning), isEscaped: true)
    }

    /// Filled text. Empty lines separate paragraphs.
    mutating func paragraphs(_ lines: [String]) {
        var isOpen = false
        for line in lines {
            if line.isEmpty {
                isOpen = false
                continue
            }
            if !isOpen { paragraph() }
            isOpen = true
            self.line(line)
        }
    }

    /// Lines without filling.
    mutating func verbatim(_ lines: [String]) {
        let shown = lines.drop { $0.isEmpty }.reversed().drop { $0.isEmpty }.reversed()
        guard !shown.isEmpty else { return }
        text += ".PP\n.nf\n"
        for line in shown { text += line.isEmpty ? "\n" : Roff.protected(Roff.escaped(line)) + "\n" }
        text += ".fi\n"
    }

    /// Escapes backslashes, and hyphens that must stay hyphens (groff_char(7)). Other characters stay in UTF-8.
    static func escaped(_ text: String) -> String {
        text.map { $0 == "\\" ? "\\e" : $0 == "-" ? "\\-" : String($0) }.joined()
    }

    /// Protects a full stop or a quote at the start of a line, which troff would read as a request.
    private static func protected(_ line: String) -> String {
        line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }
}
#endif
