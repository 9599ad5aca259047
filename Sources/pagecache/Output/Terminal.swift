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

    // Guarded by the mutex: what stands on the terminal and must be taken away again (`Terminal+Screen`), and what the
    // options said.
    struct State {
        var hasProgressLine = false
        var hasView = false
        /// The question that waits for an answer.
        var question: String?
        /// Between Ctrl-Z and its end the screen is somebody else's.
        var isSuspended = false
        /// What draws the view anew.
        var redraw: (@Sendable () -> Void)?
        var buffer: [UInt8] = []
        var isQuiet = false
        var isVerbose = false
        var isJSON = false
        var allowsColour = true
        var mayAsk = true
    }

    let state = Mutex(State())
    // Held while the view or the progress line is drawn or taken away, so that nothing is drawn on a screen that was
    // just given back. Ends that cannot wait do not take it.
    let screen = Mutex(())
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

    /// Names the call that waits for a reader or a person right now; nil when there is none. The same name twice means
    /// that it is still waiting.
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

    func put(_ bytes: [UInt8], to descriptor: Int32) {
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

    func waiting<Value>(_ call: () -> Value) -> Value {
        callsBegun.add(1, ordering: .sequentiallyConsistent)
        defer { callsEnded.add(1, ordering: .sequentiallyConsistent) }
        return call()
    }
}

private let pagecacheWrite = write as @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int
#endif
