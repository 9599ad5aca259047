#if Tool
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The only place that writes to standard output and standard error: results on the one, everything else on the other.
final class Terminal: Sendable {
    static let standard = Terminal()

    // Guarded by the mutex: whether a progress line stands on the terminal, and what the options said.
    private struct State {
        var hasProgressLine = false
        var buffer: [UInt8] = []
        var isQuiet = false
        var isJSON = false
        var allowsColour = true
    }

    private let state = Mutex(State())

    /// Said once, by the options of the command.
    func configure(quiet: Bool, json: Bool, colour: Bool) {
        state.withLock {
            $0.isQuiet = quiet
            $0.isJSON = json
            $0.allowsColour = colour
        }
    }

    var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Columns of the terminal; 80 where there is none.
    var width: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    // MARK: Results

    /// A line of results. Control characters are made visible (R46).
    func print(_ line: String) {
        write(Array(Printable.text(line).utf8) + [UInt8(ascii: "\n")])
    }

    /// Bytes exactly as they are, into a pipe or file; made visible on a terminal.
    func write(raw bytes: ArraySlice<UInt8>) {
        guard outputIsTerminal else { return write(Array(bytes)) }
        write(Array(Printable.text(String(decoding: bytes, as: UTF8.self)).utf8))
    }

    func newline() { write([UInt8(ascii: "\n")]) }

    private func write(_ bytes: [UInt8]) {
        // Somebody who watches sees each line as it comes; a pipe is fed in large pieces.
        let isWatched = outputIsTerminal
        let full = state.withLock { state -> [UInt8] in
            state.buffer += bytes
            guard isWatched || state.buffer.count >= 1 << 16 else { return [] }
            defer { state.buffer = [] }
            return state.buffer
        }
        put(full, to: STDOUT_FILENO)
    }

    // MARK: Everything else

    /// Something people should know; not said with `--quiet`.
    func note(_ line: String) {
        guard !state.withLock({ $0.isQuiet }) else { return }
        say(line)
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

    /// Replaces the progress line; an empty one takes it away. Nothing where standard error is no terminal.
    func progress(_ line: String) {
        guard errorIsTerminal, !state.withLock({ $0.isQuiet }) else { return }
        state.withLock { $0.hasProgressLine = !line.isEmpty }
        put(Array("\r\u{1b}[K\(Printable.text(String(line.prefix(width - 1))))".utf8), to: STDERR_FILENO)
    }

    /// Asks for a yes; anything else is a no.
    func confirm(_ question: String) -> Bool {
        put(Array("\(Printable.text(question)) [y/N] ".utf8), to: STDERR_FILENO)
        let answer = readLine()?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }

    /// The text in colour, where colours are wanted.
    func colour(_ code: Int, _ text: String) -> String {
        guard outputIsTerminal, state.withLock({ $0.allowsColour }) else { return text }
        return "\u{1b}[\(code)m\(text)\u{1b}[0m"
    }

    /// A line of results with colour codes of our own in it; whatever came from outside must be `Printable` already.
    func print(styled line: String) {
        write(Array(line.utf8) + [UInt8(ascii: "\n")])
    }

    /// Writes what is left, and leaves the terminal as it was.
    func finish() {
        if state.withLock({ $0.hasProgressLine }) { progress("") }
        let rest = state.withLock { state in
            defer { state.buffer = [] }
            return state.buffer
        }
        put(rest, to: STDOUT_FILENO)
    }

    private func say(_ line: String) {
        if state.withLock({ $0.hasProgressLine }) { progress("") }
        put(Array((Printable.text(line) + "\n").utf8), to: STDERR_FILENO)
    }

    private func put(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { pagecacheWrite(descriptor, $0.baseAddress, $0.count) }
            if written < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                // The reader has gone (`| head`): there is nobody left to write to, and nothing wrong.
                if errno == EPIPE { exit(ExitStatus.done.rawValue) }
                exit(ExitStatus.inputOutput.rawValue)
            }
            rest = rest.dropFirst(written)
        }
    }
}

private let pagecacheWrite = write as @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int

/// Text from an origin or a store, fit for a terminal (R46).
enum Printable {
    /// Control characters, and the marks that turn the direction of text around, become visible escapes.
    static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isDangerous) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isDangerous(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true
        // Bidirectional controls (Unicode Standard Annex 9).
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
#endif
