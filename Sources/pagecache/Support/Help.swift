#if Tool
import ArgumentParser

/// Requests for help about a word that is not a command. The argument parser would answer them with the help of the
/// whole tool.
enum Help {
    /// The topics of `pagecache help TOPIC` besides the commands: each with the heading of its section in the help of
    /// the tool.
    private static let topics = [(name: "exit-codes", heading: "EXIT CODES")]

    /// The words that `pagecache help` takes besides the commands.
    static var topicNames: [String] { topics.map(\.name) }

    /// Returns the text of a topic. Returns nil when the arguments request no help, or the help of a command.
    /// - Parameter words: the arguments, without the name of the tool.
    /// - Throws: `ToolFailure` with status 64 when a request for help names neither a command nor a topic.
    static func topic(of words: [String]) throws -> String? {
        guard let name = subject(of: words) else { return nil }
        if words.first == "help", let topic = topics.first(where: { $0.name == name }) {
            return try section(topic.heading)
        }
        let commands = Pagecache.commandNames + [["help"]]
        guard !commands.joined().contains(name) else { return nil }
        if Pagecache.asksForJSON(words) { Terminal.standard.configure(quiet: false, json: true, colour: false) }
        let candidates = words.first == "help" ? commands + topics.map { [$0.name] } : commands
        let usage = UsageMessage("", words: [name], commands: candidates)
        throw ToolFailure(.usage, "usage", usage.message, hint: usage.hint)
    }

    /// The word for which the arguments request help: `x` in `help x` and in `x --help`.
    private static func subject(of words: [String]) -> String? {
        guard let first = words.first, !first.hasPrefix("-") else { return nil }
        if first == "help" { return words.dropFirst().first { !$0.hasPrefix("-") } }
        return words.contains { $0 == "--help" || $0 == "-h" || $0 == "--version" } ? first : nil
    }

    private static func section(_ heading: String) throws -> String {
        let lines = try CommandDescription.tool().sections.first { $0.heading == heading }?.lines ?? []
        return ([heading] + lines).joined(separator: "\n")
    }
}
#endif
