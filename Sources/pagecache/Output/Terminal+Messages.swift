#if Tool
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// Messages on standard error: all output that is not a result.
extension Terminal {
    /// Prints a note, unless `--quiet` is given.
    func note(_ line: String) {
        guard !state.withLock({ $0.isQuiet }) else { return }
        printMessage(line, .note)
    }

    /// Prints a detail, only with `--verbose`.
    func detail(_ line: String) {
        guard isVerbose else { return }
        printMessage("pagecache: \(line)", .detail)
    }

    func warn(_ line: String) {
        printMessage("pagecache: warning: \(line)", .warning, state: ("warning", Colour.stale))
    }

    /// Prints a line that `--quiet` does not suppress: the reason for an exit status without an error code of its own,
    /// or a line that an option requests. A state at the beginning of the line, as in `incomplete: …`, has a colour.
    func complain(_ line: String) {
        let state = line.prefixMatch(of: /(?:[0-9a-z]{8}: )?(incomplete|unproven|offline|interrupted|purged):/)?.output
            .1
        printMessage("pagecache: \(line)", .reason, state: state.map { (String($0), Colour.stale) })
    }

    /// Prints a line about a wait for the store, for the process that started this one. `nil` reports the end of the
    /// wait.
    func reportWait(_ words: String?) { put(Array("\(StoreWait.line(words))\n".utf8), to: STDERR_FILENO) }

    func fail(_ failure: ToolFailure) {
        if state.withLock({ $0.isJSON }) {
            let error = JSONOutput.object([
                ("code", .string(failure.code)), ("message", .string(hinted(failure.message))),
                ("hint", failure.hint.map { .string(hinted($0)) } ?? .null),
            ])
            writeLine(JSONOutput.object([("error", error)]).text, wrapping: false)
        } else {
            writeLine(
                "pagecache: \(failure.message)\(failure.hint.map { " (\($0))" } ?? "")",
                state: ("pagecache:", Colour.failing))
        }
    }

    /// The level of a message that is not an error. The raw values appear with `--json`.
    private enum Level: String {
        case note, detail, warning
        /// The reason for an exit status or a decision. `--quiet` does not suppress it.
        case reason
    }

    /// Prints a message that is not an error. With `--json` the message becomes a JSON object, as an error does.
    private func printMessage(_ line: String, _ level: Level, state mark: (text: String, colour: Int)? = nil) {
        guard state.withLock({ $0.isJSON }) else { return writeLine(line, state: mark) }
        let message = String(line.trimmingPrefix("pagecache: ").trimmingPrefix("warning: "))
        let notice = JSONOutput.object([("level", .string(level.rawValue)), ("message", .string(hinted(message)))])
        writeLine(JSONOutput.object([("notice", notice)]).text, wrapping: false)
    }

    /// - Parameters:
    ///   - wrapping: whether a terminal breaks the line between words.
    ///   - state: a part of the first line, and its colour.
    private func writeLine(_ line: String, wrapping: Bool = true, state mark: (text: String, colour: Int)? = nil) {
        if state.withLock({ $0.progressColumns != nil }) { progress("") }
        let width = wrapping && errorIsTerminal ? errorWidth : .max
        let line = wrapping ? hinted(line) : line
        var lines = TableLayout.wrapped(Printable.text(line), width: width, breakingWords: false)
        if let mark, state.withLock({ $0.hasErrorColour }), let range = lines[0].firstRange(of: mark.text) {
            lines[0].replaceSubrange(range, with: "\u{1b}[\(mark.colour)m\(mark.text)\u{1b}[0m")
        }
        put(Array((lines.joined(separator: "\n") + "\n").utf8), to: STDERR_FILENO)
    }
}
#endif
