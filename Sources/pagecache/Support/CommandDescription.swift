#if Tool
import ArgumentParser

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A command as the argument parser dumps it (`--experimental-dump-help`), with the texts of `--help`.
struct CommandDescription: Decodable {
    struct Option: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String

            var text: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }

        var kind: String
        var shouldDisplay: Bool
        var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var abstract: String?
        var discussion: String?
        var allValues: [String]?
    }

    var commandName: String
    var shouldDisplay: Bool?
    var aliases: [String]?
    var abstract: String?
    var discussion: String?
    var subcommands: [CommandDescription]?
    var arguments: [Option]?

    /// The whole tool.
    static func tool() throws -> CommandDescription {
        struct Dump: Decodable {
            var command: CommandDescription
        }
        return try JSONDecoder().decode(Dump.self, from: Data(Pagecache._dumpHelp().utf8)).command
    }

    /// The visible commands, without the parser's own `help`.
    var shownCommands: [CommandDescription] {
        (subcommands ?? []).filter { $0.shouldDisplay ?? true && $0.commandName != "help" }
    }

    /// The visible arguments, without `--help` and `--version`, which every command takes.
    var shownArguments: [Option] {
        (arguments ?? []).filter { option in
            option.shouldDisplay && !(option.names ?? []).contains { $0.name == "help" || $0.name == "version" }
        }
    }

    /// The parts of the discussion: text, and blocks under a heading in capitals.
    var sections: [(heading: String?, lines: [String])] {
        var sections: [(heading: String?, lines: [String])] = [(nil, [])]
        for line in (discussion ?? "").split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            let isHeading = !line.isEmpty && line.allSatisfy { $0.isUppercase || $0 == " " } && line.first != " "
            if isHeading { sections.append((line, [])) } else { sections[sections.count - 1].lines.append(line) }
        }
        return sections
    }
}
#endif
