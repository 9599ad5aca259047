#if Tool
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// Everything that is no result: lines on standard error.
extension Terminal {
    /// Something people should know; not said with `--quiet`.
    /// - Parameter fitting: whether it is cut to the width of a terminal, because more of it would only be in the way.
    func note(_ line: String, fitting: Bool = false) {
        guard !state.withLock({ $0.isQuiet }) else { return }
        say(fitting && errorIsTerminal ? TextWidth.cut(Printable.text(line), to: errorWidth) : line)
    }

    /// What only those want to know who look closer: said with `--verbose`.
    func detail(_ line: String) {
        guard isVerbose else { return }
        say("pagecache: \(line)")
    }

    func warn(_ line: String) { say("pagecache: warning: \(line)") }

    /// Why the tool does not end with 0, where that is no error with a code of its own.
    func complain(_ line: String) { say("pagecache: \(line)") }

    func fail(_ failure: ToolFailure) {
        if state.withLock({ $0.isJSON }) {
            let error = JSONOutput.object([
                ("code", .string(failure.code)), ("message", .string(failure.message)),
                ("hint", failure.hint.map { .string($0) } ?? .null),
            ])
            say(JSONOutput.object([("error", error)]).text)
        } else {
            say("pagecache: \(failure.message)\(failure.hint.map { " (\($0))" } ?? "")")
        }
    }

    private func say(_ line: String) {
        if state.withLock({ $0.hasProgressLine }) { progress("") }
        put(Array((Printable.text(line) + "\n").utf8), to: STDERR_FILENO)
    }
}
#endif
