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

    // Guarded by the mutex: what stands on the terminal and must be taken away again, and what the options said.
    private struct State {
        var hasProgressLine = false
        var hasView = false
        var isAsking = false
        var buffer: [UInt8] = []
        var isQuiet = false
        var isVerbose = false
        var isJSON = false
        var allowsColour = true
        var mayAsk = true
    }

    private let state = Mutex(State())
    // How many calls began that may wait for a reader or a person, and how many came back.
    private let callsBegun = Atomic<Int>(0)
    private let callsEnded = Atomic<Int>(0)

    /// Said once, by the options of the command.
    func configure(quiet: Bool, json: Bool, colour: Bool, verbose: Bool = false, mayAsk: Bool = true) {
        state.withLock {
            $0.isQuiet = quiet
            $0.isJSON = json
            $0.allowsColour = colour
            $0.isVerbose = verbose && !quiet
            $0.mayAsk = mayAsk
        }
    }

    /// Whether `detail` says anything.
    var isVerbose: Bool { state.withLock { $0.isVerbose } }
    /// Whether there is somebody who can be asked, and wants to be.
    var canAsk: Bool { inputIsTerminal && errorIsTerminal && state.withLock { $0.mayAsk } }

    /// Whether lines can be taken back: a terminal that knows the usual escapes, and somebody who wants to see them.
    var showsProgress: Bool { errorIsTerminal && !Terminal.isDumb && !state.withLock { $0.isQuiet } }

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

    /// Text of our own, as it is.
    func write(text: String) { write(Array(text.utf8)) }

    /// A large piece of results that is written at once, exactly as it is: for pipes and files.
    func write(piece: UnsafeRawBufferPointer) {
        flush()
        put(piece, to: STDOUT_FILENO)
    }

    /// Fills the screen with these lines; whatever in them came from outside must be `Printable` already. The screen comes
    /// back as it was with `finish` or `restore`.
    func draw(_ lines: [String]) {
        let isFirst = state.withLock { state in
            defer { state.hasView = true }
            return !state.hasView
        }
        // The other screen and no cursor; then line by line over what stood there, so that nothing flickers.
        let opening = isFirst ? "\u{1b}[?1049h\u{1b}[?25l" : ""
        let text = lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n")
        put(Array("\(opening)\u{1b}[H\(text)\u{1b}[J".utf8), to: STDOUT_FILENO)
    }

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

    /// Replaces the progress line; an empty one takes it away. Nothing where nobody can see it.
    func progress(_ line: String) {
        guard showsProgress else { return }
        state.withLock { $0.hasProgressLine = !line.isEmpty }
        put(Array("\r\u{1b}[K\(Printable.text(String(line.prefix(errorWidth - 1))))".utf8), to: STDERR_FILENO)
    }

    /// Asks for a yes; anything else is a no.
    func confirm(_ question: String) -> Bool {
        put(Array("\(Printable.text(question)) [y/N] ".utf8), to: STDERR_FILENO)
        state.withLock { $0.isAsking = true }
        let answer = waiting { readLine() }?.lowercased() ?? ""
        state.withLock { $0.isAsking = false }
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

    // MARK: The end

    /// Writes what is left, and leaves the terminal as it was.
    func finish() {
        restore()
        flush()
    }

    /// Leaves the terminal as it was, and writes nothing else: for ends that cannot wait.
    func restore() {
        let was = state.withLock { state in
            defer { (state.hasProgressLine, state.hasView, state.isAsking) = (false, false, false) }
            return state
        }
        if was.hasProgressLine { put(Array("\r\u{1b}[K".utf8), to: STDERR_FILENO) }
        if was.hasView { put(Array("\u{1b}[?25h\u{1b}[?1049l".utf8), to: STDOUT_FILENO) }
        if was.isAsking { put([UInt8(ascii: "\n")], to: STDERR_FILENO) }
    }

    /// Names the call that waits for a reader or a person right now; nil when there is none. The same name twice means that
    /// it is still waiting.
    var pendingCall: Int? {
        let ended = callsEnded.load(ordering: .sequentiallyConsistent)
        return callsBegun.load(ordering: .sequentiallyConsistent) > ended ? ended : nil
    }

    /// Writes what is held back, for readers who wait for each line.
    func flush() {
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
        bytes.withUnsafeBytes { put($0, to: descriptor) }
    }

    private func put(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = waiting { pagecacheWrite(descriptor, rest.baseAddress, rest.count) }
            if count >= 0 {
                written += count
                continue
            }
            if errno == EINTR { continue }
            if errno == EAGAIN {
                // Somebody made it non-blocking: wait until there is room.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = waiting { poll(&ready, 1, 1_000) }
                continue
            }
            let isGone = errno == EPIPE
            restore()
            // The reader has gone (`| head`): there is nobody left to write to, and nothing wrong.
            exit(isGone ? ExitStatus.done.rawValue : ExitStatus.inputOutput.rawValue)
        }
    }

    private func waiting<Value>(_ call: () -> Value) -> Value {
        callsBegun.add(1, ordering: .sequentiallyConsistent)
        defer { callsEnded.add(1, ordering: .sequentiallyConsistent) }
        return call()
    }
}

private let pagecacheWrite = write as @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int
#endif
