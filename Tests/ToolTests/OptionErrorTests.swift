#if Tool
import ArgumentParser
import Testing
@testable import pagecache

/// Every option of every command is tried, so that a new option needs a hint, too.
@Suite("Usage errors of every option")
struct OptionErrorTests {
    /// Invalid values, by the placeholder of the value: of another form, and beyond the limit.
    private static let invalid = [
        "duration": ["soon", "9999999999d"], "size": ["much", "9999999999999G"], "rate": ["fast", "5000/s"],
        "n": ["x", "1.5", "99999999999999999999"], "offset": ["x", "99999999999999999999"], "0|1": ["x"],
        "pointer": ["x", "/a~"], "pointer|header:NAME": ["x", "/a~"], "since": ["x", "9999999999d"],
    ]
    /// Placeholders of values that may be any text.
    private static let texts: Set<String> = [
        "name", "file", "VAR", "id", "pointers", "scope", "store", "Name: value", "Name=VAR",
    ]

    /// Returns the error about these arguments, and nil when they are valid.
    private func error(_ words: [String]) -> ToolFailure? {
        do {
            _ = try Pagecache.parseAsRoot(words)
            return nil
        } catch let thrown {
            return Pagecache.usageFailure(thrown, words: words)
        }
    }

    /// Calls `body` with each option that has a value, and the words before it.
    private func eachOption(_ body: ([String], String, CommandDescription.Option) throws -> Void) throws {
        for command in try CommandDescription.tool().shownCommands {
            let required = command.shownArguments.filter { $0.kind == "positional" && !$0.isOptional }
            let words = [command.commandName] + required.map { _ in "http://h/" }
            for option in command.shownArguments where option.kind == "option" {
                let name = try #require(option.names?.first { $0.kind == "long" }).text
                try body(words, name, option)
            }
        }
    }

    @Test("An invalid value: the error names the option and the value, and says which values are valid")
    func values() throws {
        var count = 0
        try eachOption { words, name, option in
            let placeholder = option.valueName ?? ""
            let isListed = !(option.allValues ?? []).isEmpty
            let values = isListed ? ["nope"] : OptionErrorTests.invalid[placeholder] ?? []
            #expect(
                !values.isEmpty || OptionErrorTests.texts.contains(placeholder),
                "\(words[0]) \(name): this test does not know <\(placeholder)>")
            for value in values {
                count += 1
                let failure = try #require(error(words + [name, value]), "\(words[0]) \(name) accepts \(value)")
                #expect(failure.message == "'\(value)' is not valid for \(name)")
                #expect(failure.hint?.hasPrefix("see ") == false, "\(words[0]) \(name) \(value): \(failure.hint ?? "")")
                for listed in option.allValues ?? [] { #expect(failure.hint?.contains(listed) == true) }
            }
        }
        #expect(count > 60)
    }

    @Test("A missing value: the error names the option, and says which values are valid, or what the option does")
    func missing() throws {
        try eachOption { words, name, _ in
            let failure = try #require(error(words + [name]), "\(words[0]) \(name)")
            #expect(failure.message == "\(name) needs a value")
            #expect(failure.hint?.hasPrefix("see ") == false, "\(words[0]) \(name): \(failure.hint ?? "")")
        }
    }

    @Test(
        "An empty text, as from a variable that is not set, is an error that names the option",
        arguments: [
            ["show", "x", "--fields", ""], ["show", "x", "--fields", "/id,"], ["export", "x", "--fields", ""],
            ["export", "x", "--output", ""], ["stats", "--html", ""], ["list", "--store", ""],
            ["sync", "http://h/", "--key", ""], ["sync", "http://h/", "--limit-param", ""],
            ["sync", "http://h/", "--offset-param", ""], ["sync", "http://h/", "--page-param", ""],
            ["probe", "http://h/", "--cursor-param", ""], ["sync", "http://h/", "--header", ""],
            ["sync", "http://h/", "--header-env", ""], ["gc", "--max-bytes", ""], ["sync", "http://h/", "--rate", ""],
        ])
    func empty(words: [String]) throws {
        let failure = try #require(error(words))
        #expect(failure.message.contains(words[words.count - 2]), "\(failure.message)")
    }

    @Test(
        "A value beyond its limit: the error says the limit",
        arguments: [
            (["show", "x", "--limit", "99999999999999999999"], "the largest number is 9223372036854775807"),
            (["sync", "http://h/", "--page-size", "99999999999999999999"], "give a whole number from 1 to 100000"),
            (["gc", "--max-bytes", "9999999999999G"], "the largest size is 999P"),
            (["gc", "--max-age", "9999999999d"], "the longest duration is 300y"),
            (["diff", "x", "--since", "9999999999d"], "the longest duration is 300y"),
            (["sync", "http://h/", "--rate", "5000/s"], "rates are from 0.001/s to 1000/s"),
            (["sync", "http://h/", "--items", "/a~"], "a '~' in a name is written ~0, and a '/' is written ~1"),
        ])
    func limits(words: [String], hint: String) {
        #expect(error(words)?.hint == hint)
    }

    @Test("The limits that the errors name are valid values")
    func valid() {
        #expect(SizeArgument(argument: "999P") != nil)
        #expect(DurationArgument(argument: "300y") != nil)
        #expect(RateArgument(argument: "1000/s") != nil && RateArgument(argument: "0.001/s") != nil)
        #expect(Int("9223372036854775807") == .max)
    }
}
#endif
