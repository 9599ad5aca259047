#if Tool
import Foundation
import ProgramSupport
import Testing
import ToolSupport
@testable import pagecache

/// The checked-in manual page next to the help of each command. The page must have all of that text.
@Suite("The manual page and the help")
struct ManualTests {
    /// The page without the escapes of troff, in lines.
    private let lines: [String]

    init() throws {
        let page = try String(contentsOfFile: Repository.path("Documentation/pagecache.1"), encoding: .utf8)
        lines = page.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(line).replacing(/\\f[BIR]/, with: "").replacing("\\&", with: "").replacing("\\-", with: "-")
                .replacing("\\(dq", with: "\"").replacing("\\e", with: "\\")
        }
    }

    /// Returns the lines of a section, without its heading. Returns nil when the page has no such section.
    private func section(_ isHeading: (String) -> Bool) -> [String]? {
        guard let start = lines.firstIndex(where: isHeading) else { return nil }
        return Array(lines[(start + 1)...].prefix { !$0.hasPrefix(".SS ") && !$0.hasPrefix(".SH ") })
    }

    /// Returns the section of a command.
    private func part(of command: String) throws -> [String] {
        let heading = ".SS pagecache \(command)"
        return try #require(section { $0 == heading || $0.hasPrefix(heading + " ") }, "\(command)")
    }

    /// Returns the meaning of each term of a section.
    private func items(_ section: [String]) -> [String: String] {
        var items: [String: String] = [:]
        for (index, line) in section.enumerated() where line == ".TP" && index + 1 < section.count {
            items[section[index + 1]] = section[(index + 2)...].prefix { !$0.hasPrefix(".") }.joined(separator: " ")
        }
        return items
    }

    /// Returns the words, one space apart, because the help and the page break their lines at different places.
    private func words(_ text: some StringProtocol) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The term of an argument or option: `QUERY`, or `-o, --output file`.
    private func term(_ option: CommandDescription.Option) -> String {
        let names = option.names ?? []
        let sorted = names.filter { $0.kind != "long" } + names.filter { $0.kind == "long" }
        let value = option.kind == "flag" ? nil : option.valueName
        return [sorted.map(\.text).joined(separator: ", "), value ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    }

    @Test("The page has every argument and option of every command, with all of the text of the help")
    func options() async throws {
        let common = items(try #require(section { $0 == ".SH \"OPTIONS OF EVERY COMMAND\"" }))
        #expect(common["-h, --help"] != nil && common["--version"] != nil)
        var count = 0
        for command in try CommandDescription.tool().shownCommands {
            let name = command.commandName
            let own = items(try part(of: name))
            // Names and texts are those that a user of the help reads.
            let help = words(try await Tool.run([name, "--help"], environment: ["COLUMNS": "500"]).output)
            for option in command.shownArguments {
                count += 1
                let term = term(option)
                let text = try #require(own[term] ?? common[term], "\(name): \(term) is not in the page")
                let states = [option.abstract, option.discussion].compactMap { $0 }.map { words($0) }
                for state in states where !state.isEmpty {
                    #expect(help.contains(state), "\(name) \(term): the help lacks '\(state)'")
                    #expect(words(text).contains(state), "\(name) \(term): '\(text)' lacks '\(state)'")
                }
                guard option.kind == "option" else { continue }
                for value in option.allValues ?? [] { #expect(text.contains(value), "\(name) \(term): \(value)") }
                if let value = option.defaultValue, !value.isEmpty {
                    #expect(text.contains("Default: \(value)."), "\(name) \(term)")
                }
            }
        }
        #expect(count > 100)
    }

    @Test("The manual page has the abstract, the discussion and the examples of every command")
    func texts() throws {
        for command in try CommandDescription.tool().shownCommands {
            let name = command.commandName
            let text = words(try part(of: name).joined(separator: " "))
            #expect(text.contains(words(command.abstract ?? "")), "\(name)")
            for alias in command.aliases ?? [] { #expect(text.contains("Also: \(alias)"), "\(name)") }
            for line in (command.discussion ?? "").split(separator: "\n") where words(line) != "EXAMPLES" {
                #expect(text.contains(words(line)), "\(name): \(line)")
            }
        }
    }
}
#endif
