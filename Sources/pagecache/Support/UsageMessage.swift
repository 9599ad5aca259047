#if Tool
/// An error about arguments, as one line: the option, the value, and the valid values. Pure. The parser's messages
/// leave some of that out, or spread it over several lines.
struct UsageMessage: Equatable {
    var message: String
    /// `nil` means that the help of the command is the best hint.
    var hint: String?
    /// The option whose value is missing. `nil` for another error.
    var lacking: String?

    /// - Parameters:
    ///   - text: the parser's message, which may have several lines.
    ///   - words: the arguments, without the name of the tool.
    ///   - commands: the names of each command, aliases included.
    init(_ text: String, words: [String], commands: [[String]]) {
        if let word = words.first, !word.hasPrefix("-"), word != "help", !commands.joined().contains(word) {
            let close = Spelling.suggestions(for: word, among: commands, limit: 1).first.map { commands[$0][0] }
            message = "unknown command '\(word)'"
            hint = close.map { "did you mean '\($0)'?" } ?? "'pagecache --help' lists the commands"
            return
        }
        let lines = text.split(separator: "\n").map { $0.drop { $0 == " " } }
        let line = lines.joined(separator: " ")
        if let match = line.wholeMatch(of: /The value '(.*)' is invalid for '([^' ]+)(?: <(.*?)>)?'(.*)/) {
            let value = String(match.output.1)
            // An argument without a name is written like its placeholder, in capitals.
            let option = match.output.2.hasPrefix("-") ? String(match.output.2) : UsageMessage.name(match.output.2)
            message = "'\(value)' is not valid for \(option)"
            let listed = match.output.4.firstMatch(of: /Please provide one of(?: the following:)? (.*?)\.?$/)
            hint =
                listed.map { "use \(UsageMessage.list(String($0.output.1)))" }
                ?? UsageMessage.form(of: String(match.output.3 ?? ""), for: value)
                ?? UsageMessage.number(of: option, for: value)
        } else if let match = line.wholeMatch(of: /Missing value for '([^' ]+)(?: <(.*?)>)?'.*/) {
            let option = String(match.output.1)
            let next = words.firstIndex(of: option).flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
            // The parser takes a negative number, duration, size or rate for an option.
            if let next, next.wholeMatch(of: /-\.?[0-9].*/) != nil {
                // The hint for a number states the smallest valid number.
                message =
                    UsageMessage.numbers[option] != nil && UsageMessage.forms[String(match.output.2 ?? "")] == nil
                    ? "\(option) is \(next)" : "\(option) must not be negative, and is \(next)"
            } else {
                message = "\(option) needs a value"
                lacking = option
            }
            hint = UsageMessage.forms[String(match.output.2 ?? "")] ?? UsageMessage.numbers[option]
        } else if let match = line.wholeMatch(of: /Unknown option '([^']+)'(?:\. Did you mean '([^']+)'\?)?.*/) {
            message = "unknown option '\(match.output.1)'"
            // Without a command, the parser suggests no option.
            let names = match.output.2.map { [String($0)] } ?? (words.count == 1 ? ["--help", "--version"] : [])
            let close = names.first { Spelling.distance(ofOption: String(match.output.1), $0) != nil }
            hint = close.map { "did you mean '\($0)'?" }
            if words.first == String(match.output.1), words.count > 1 {
                hint = "options follow the command: pagecache COMMAND \(match.output.1) …"
            }
        } else if let match = line.wholeMatch(of: /Missing expected argument '<(.*)>'.*/) {
            message = "the argument \(UsageMessage.name(match.output.1)) is missing"
        } else if let match = line.wholeMatch(of: /The option '([^']+)' does not take any value, but '(.*)' was.*/) {
            message = "\(match.output.1) takes no value, and got '\(match.output.2)'"
            hint = "write \(match.output.1) alone"
        } else if let match = line.wholeMatch(of: /Unexpected argument '(.*)'/) {
            message = "unexpected argument '\(match.output.1)'"
        } else {
            message = line.isEmpty ? "wrong arguments" : line
            // A message of the tool itself: `--limit is -3`, or `--timeout must be at least 1ms, and is 0ms`.
            if let match = line.firstMatch(of: /(--[a-z-]+) (?:must .*, and )?is -?\d/) {
                hint = UsageMessage.numbers[String(match.output.1)]
            }
        }
    }

    /// The valid forms, by the placeholder of the value.
    private static let forms = [
        "duration": "durations are written 30s, 5m, 2h, 7d, 1w or 1h30m",
        "size": "sizes are written 500M, 2G or 512MiB",
        "rate": "rates are written 5/s, 30/m or 100/h",
        "pointer": "a JSON Pointer begins with '/', as in /data/items",
        "pointer|header:NAME": "give a JSON Pointer, as in /meta/total, or a header, as in header:X-Total-Count",
        "since": "give last, a duration as in 1h, a time as in 2026-01-31T12:00:00Z, or a version as in @17-3f…",
    ]

    /// Returns the valid form of a value with this placeholder. For a value in this form, returns the limit that it
    /// exceeds.
    private static func form(of placeholder: String, for value: String) -> String? {
        switch placeholder {
        case "duration" where DurationArgument.seconds(value) != nil,
            "since" where DurationArgument.seconds(value) != nil:
            "the longest duration is 300y"
        case "size" where SizeArgument.size(value) != nil: "the largest size is 999P"
        case "rate" where RateArgument.rate(value) != nil: "rates are from 0.001/s to 1000/s"
        case "pointer" where value.hasPrefix("/"), "pointer|header:NAME" where value.hasPrefix("/"):
            "a '~' in a name is written ~0, and a '/' is written ~1"
        default: forms[placeholder]
        }
    }

    private static func number(of option: String, for value: String) -> String? {
        guard let numbers = numbers[option] else { return nil }
        // A whole number that the parser does not accept is too large. Some options have a smaller limit of their own.
        let isTooLarge =
            value.wholeMatch(of: /\d{19,}/) != nil && !numbers.contains(" to ")
            && numbers.contains("whole number")
        return isTooLarge ? "the largest number is \(Int.max)" : numbers
    }

    /// The name of an argument in the usage of a command: `QUERY` for `<query>`.
    private static func name(_ placeholder: Substring) -> String {
        placeholder.filter { $0 != "<" && $0 != ">" }.uppercased()
    }

    /// Returns the meaning of the option that lacks its value, as the help of the command states it. Pure.
    static func meaning(of option: CommandDescription.Option) -> String? {
        guard let name = option.names?.last(where: { $0.kind == "long" }) ?? option.names?.first else { return nil }
        let values = option.allValues ?? []
        if values.count > 1 { return "use \(values.dropLast().joined(separator: ", ")) or \(values[values.count - 1])" }
        let text = option.abstract ?? ""
        return "\(name.text) <\(option.valueName ?? "value")>: \(text.hasSuffix(".") ? text.dropLast() : text[...])"
    }

    /// The valid numbers, by option.
    private static let numbers = [
        "--offset": "positions are whole numbers from 0 on", "--limit": "give a whole number, 0 or more",
        "--max-pages": "give a whole number, 1 or more", "--concurrency": "give a whole number from 1 to 64",
        "--retries": "give a whole number, 1 or more", "--overlap": "give a whole number, 0 or more",
        "--page-size": "give a whole number from 1 to 100000", "--first-page": "give 0 or 1",
        "--timeout": "durations are written 30s, 5m, 2h, 7d, 1w or 1h30m",
    ]

    /// `a, b or c` from the parser's `'a', 'b' or 'c'`, or from its list of lines `- a - b`.
    private static func list(_ text: String) -> String {
        let names = text.matches(of: /'([^']+)'/).map { String($0.output.1) }
        let all = names.isEmpty ? text.split(separator: "- ").map { $0.filter { $0 != " " } } : names
        guard let last = all.last, all.count > 1 else { return all.first ?? text }
        return "\(all.dropLast().joined(separator: ", ")) or \(last)"
    }
}
#endif
