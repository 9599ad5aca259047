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
    /// - Parameter fitting: whether the line is cut to the width of the terminal.
    func note(_ line: String, fitting: Bool = false) {
        guard !state.withLock({ $0.isQuiet }) else { return }
        say(fitting && errorIsTerminal ? TextWidth.cut(Printable.text(line), to: errorWidth) : line)
    }

    /// Prints a detail, only with `--verbose`.
    func detail(_ line: String) {
        guard isVerbose else { return }
        say("pagecache: \(line)")
    }

    func warn(_ line: String) { say("pagecache: warning: \(line)") }

    /// Prints the reason for an exit status other than 0 that has no error code of its own.
    func complain(_ line: String) { say("pagecache: \(line)") }

    func fail(_ failure: ToolFailure) {
        if state.withLock({ $0.isJSON }) {
            let error = JSONOutput.object([
                ("code", .string(failure.code)), ("message", .string(failure.message)),
                ("hint", failure.hint.map { .string($0) } ?? .null),
            ])
            say(JSONOutput.object([("error", error)]).text, wrapping: false)
        } else {
            say("pagecache: \(failure.message)\(failure.hint.map { " (\($0))" } ?? "")")
        }
    }

    /// - Parameter wrapping: whether a terminal breaks the line between words.
    private func say(_ line: String, wrapping: Bool = true) {
        if state.withLock({ $0.hasProgressLine }) { progress("") }
        let width = wrapping && errorIsTerminal ? errorWidth : .max
        let lines = TableLayout.wrapped(Printable.text(line), width: width, breakingWords: false)
        put(Array((lines.joined(separator: "\n") + "\n").utf8), to: STDERR_FILENO)
    }
}
#endif
