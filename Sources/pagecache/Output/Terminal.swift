#if Tool
import PageStore
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Writes results to standard output, and all other text to standard error. No other code of the tool writes to these
/// streams, except for the argument parser.
final class Terminal: Sendable {
    static let standard = Terminal()

    // State behind the mutex: the temporary output on the terminal (`Terminal+Screen`), and the settings of the
    // options.
    struct State {
        /// The columns of the progress line. `nil` when no progress line is shown.
        var progressColumns: Int?
        /// Whether the progress line comes from `showWait`.
        var isWaitShown = false
        var hasView = false
        /// The question that waits for an answer.
        var question: String?
        /// Whether other programs use the screen, between Ctrl-Z and the continuation.
        var isSuspended = false
        /// The settings of the terminal before a view began to read keys.
        var settings: termios?
        /// The action that redraws the view.
        var redraw: (@Sendable () -> Void)?
        var buffer: [UInt8] = []
        /// Writes into a pipe while a transaction is open. `nil` at other times.
        var spool: PipeSpool?
        var isQuiet = false
        var isVerbose = false
        var isJSON = false
        var hasColour = false
        /// Whether messages on standard error have colours.
        var hasErrorColour = false
        var mayAsk = true
        /// The option that commands in messages need to find the store of this command. `nil` when they need none.
        var storeOption: String?
        /// Whether the command continues after the reader of its output has ended.
        var worksWithoutReader = false
    }

    let state = Mutex(State())
    // Held while the view or the progress line is drawn or removed, so that neither is drawn after the screen was given
    // back. Exits that cannot wait do not acquire this lock.
    let screen = Mutex(())
    // The numbers of begun and of ended calls that may wait for a reader or a person.
    private let callsBegun = Atomic<Int>(0)
    private let callsEnded = Atomic<Int>(0)

    /// Applies the options of the command.
    /// - Parameters:
    ///   - colour: whether results have colours.
    ///   - errorColour: whether messages have colours.
    ///   - storeOption: the option that commands in messages need to find the store of this command. Defaults to none.
    func configure(
        quiet: Bool, json: Bool, colour: Bool, errorColour: Bool = false, verbose: Bool = false, mayAsk: Bool = true,
        storeOption: String? = nil
    ) {
        state.withLock {
            $0.isQuiet = quiet
            $0.isJSON = json
            $0.hasColour = colour
            $0.hasErrorColour = errorColour
            $0.isVerbose = verbose && !quiet
            $0.mayAsk = mayAsk
            $0.storeOption = storeOption
        }
    }

    /// Lets the command continue without output after the reader of its output has ended. Without this call, the
    /// command ends with its reader. For commands whose work is more than their output.
    func workWithoutReader() { state.withLock { $0.worksWithoutReader = true } }

    /// Returns the text, with `--store` added to each command in it that needs the option to find the store of this
    /// command.
    func hinted(_ text: String) -> String { StoreHint.adding(state.withLock { $0.storeOption }, to: text) }

    /// Whether `detail` prints its lines.
    var isVerbose: Bool { state.withLock { $0.isVerbose } }
    /// Whether a question can be asked: on a terminal, and without `--no-input`.
    var canAsk: Bool { inputIsTerminal && errorIsTerminal && state.withLock { $0.mayAsk } }

    /// Whether a progress line can be shown and removed again: on a terminal that supports escape sequences, without
    /// `--quiet`.
    var showsProgress: Bool { errorIsTerminal && !Terminal.isDumb && !state.withLock { $0.isQuiet } }

    // MARK: Results

    /// Prints a sentence, on a terminal with line breaks between words.
    /// - Parameters:
    ///   - state: a part of the sentence, and its colour (`Colour`). Its first occurrence is coloured.
    ///   - breakingWords: whether a word that is longer than a line is broken. Defaults to false: it exceeds its line.
    func print(sentence: String, state: (text: String, colour: Int)? = nil, breakingWords: Bool = false) {
        let width = outputIsTerminal ? width : .max
        var state = state
        for line in TableLayout.wrapped(Printable.text(hinted(sentence)), width: width, breakingWords: breakingWords) {
            guard let (text, code) = state, let range = line.firstRange(of: text) else {
                print(line)
                continue
            }
            state = nil
            print(styled: line[..<range.lowerBound] + colour(code, text) + line[range.upperBound...])
        }
    }

    /// Prints a line of results. Control characters are made visible (R46).
    func print(_ line: String) {
        write(Array(Printable.text(line).utf8) + [UInt8(ascii: "\n")])
    }

    /// Writes the exact bytes into a pipe or file. On a terminal, control characters are made visible.
    func write(raw bytes: ArraySlice<UInt8>) {
        guard outputIsTerminal else { return write(Array(bytes)) }
        write(Array(Printable.text(String(decoding: bytes, as: UTF8.self)).utf8))
    }

    func newline() { write([UInt8(ascii: "\n")]) }

    /// Writes text of the tool itself unchanged.
    func write(text: String) { write(Array(text.utf8)) }

    /// Writes a large piece of results at once, unchanged. For pipes and files.
    func write(piece: UnsafeRawBufferPointer) {
        flush()
        put(piece, to: STDOUT_FILENO)
    }

    private func write(_ bytes: [UInt8]) {
        // A terminal gets each line at once, and a pipe gets large pieces.
        let isWatched = outputIsTerminal
        // Results are written after the work, so no wait for a lock is left to show.
        if isWatched { LockWaits.end() }
        if isWatched, state.withLock({ $0.progressColumns != nil }) { progress("") }
        let full = state.withLock { state -> [UInt8] in
            state.buffer += bytes
            guard isWatched || state.buffer.count >= 1 << 16 else { return [] }
            defer { state.buffer = [] }
            return state.buffer
        }
        put(full, to: STDOUT_FILENO)
    }

    /// Returns the text in colour if colours are enabled. Reverse video is always applied, because it marks the
    /// selected line of a view.
    func colour(_ code: Int, _ text: String) -> String {
        guard !text.isEmpty, code == Colour.reverse || state.withLock({ $0.hasColour }) else { return text }
        return "\u{1b}[\(code)m\(text)\u{1b}[0m"
    }

    /// Prints a line of results with the tool's own colour codes. Text from an origin or a store must have passed
    /// `Printable.text` before.
    func print(styled line: String) {
        write(Array(line.utf8) + [UInt8(ascii: "\n")])
    }

    // MARK: The end

    /// Writes the remaining output, and restores the terminal.
    func finish() {
        restore()
        flush()
    }

    /// A number for the call that waits for a reader or a person now. `nil` when no call waits. An unchanged number
    /// means that the same call is still waiting.
    var pendingCall: Int? {
        let ended = callsEnded.load(ordering: .sequentiallyConsistent)
        return callsBegun.load(ordering: .sequentiallyConsistent) > ended ? ended : nil
    }

    /// Writes the buffered output, for readers that wait for each line.
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
        let spool = descriptor == STDOUT_FILENO ? state.withLock { $0.spool } : nil
        guard let spool else { return send(bytes, to: descriptor) }
        spool.write(bytes) { send($0, to: descriptor) }
    }

    /// Writes bytes, and waits while the reader accepts none.
    func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) {
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
                // The descriptor is non-blocking: wait until it accepts bytes.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = waiting { poll(&ready, 1, 1_000) }
                continue
            }
            let (isGone, reason) = (errno == EPIPE, String(cString: strerror(errno)))
            // A message on standard error that cannot be written changes neither the work nor the exit code.
            guard descriptor == STDOUT_FILENO else { return }
            if isGone, state.withLock({ $0.worksWithoutReader }) { return }
            restore()
            if !isGone { fail(ToolFailure(.inputOutput, "io_error", "cannot write the output: \(reason)")) }
            // The reader has ended (`| head`), which is not an error.
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
