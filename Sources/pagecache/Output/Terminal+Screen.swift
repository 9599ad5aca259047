#if Tool
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// What stands on a terminal and is taken away again: a view, a progress line, a question.
extension Terminal {
    /// Fills the screen with these lines; whatever in them came from outside must be `Printable` already. The screen
    /// comes back as it was with `finish` or `restore`.
    func draw(_ lines: [String]) {
        screen.withLock { _ in
            let (isFirst, isSuspended) = state.withLock { state in
                defer { state.hasView = state.hasView || !state.isSuspended }
                return (!state.hasView, state.isSuspended)
            }
            guard !isSuspended else { return }
            // The other screen and no cursor, which others may have shown; then line by line over what stood there, so
            // that nothing flickers.
            let opening = isFirst ? "\u{1b}[?1049h" : ""
            let text = lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n")
            put(Array("\(opening)\u{1b}[?25l\u{1b}[H\(text)\u{1b}[J".utf8), to: STDOUT_FILENO)
        }
    }

    /// Whom to call when the view has to be drawn anew: the terminal has another size, or was somebody else's
    /// meanwhile.
    func onRedraw(_ action: (@Sendable () -> Void)?) { state.withLock { $0.redraw = action } }

    /// Replaces the progress line; an empty one takes it away. Nothing where nobody can see it.
    func progress(_ line: String) {
        guard showsProgress else { return }
        screen.withLock { _ in
            let isSuspended = state.withLock { state in
                if !state.isSuspended { state.hasProgressLine = !line.isEmpty }
                return state.isSuspended
            }
            guard !isSuspended else { return }
            put(
                Array("\r\u{1b}[K\(TextWidth.prefix(Printable.text(line), columns: errorWidth - 1))".utf8),
                to: STDERR_FILENO)
        }
    }

    /// Asks for a yes; anything else is a no.
    func confirm(_ question: String) -> Bool {
        let question = "\(Printable.text(question)) [y/N] "
        put(Array(question.utf8), to: STDERR_FILENO)
        state.withLock { $0.question = question }
        let answer = waiting { readLine() }?.lowercased() ?? ""
        state.withLock { $0.question = nil }
        return answer == "y" || answer == "yes"
    }

    // MARK: The end

    /// Leaves the terminal as it was, and writes nothing else: for ends that cannot wait.
    func restore() {
        let was = state.withLock { state in
            defer { (state.hasProgressLine, state.hasView, state.question) = (false, false, nil) }
            return state
        }
        clear(was)
    }

    private func clear(_ was: State) {
        if was.hasProgressLine { put(Array("\r\u{1b}[K".utf8), to: STDERR_FILENO) }
        if was.hasView { put(Array("\u{1b}[?25h\u{1b}[?1049l".utf8), to: STDOUT_FILENO) }
        if was.question != nil { put([UInt8(ascii: "\n")], to: STDERR_FILENO) }
    }

    // MARK: Stopped, and going on

    /// Gives the terminal back for a while: as it was, and nothing is drawn until `resume`.
    func suspend() {
        screen.withLock { _ in
            let was = state.withLock { state in
                defer { (state.hasProgressLine, state.hasView, state.isSuspended) = (false, false, true) }
                return state
            }
            clear(was)
        }
    }

    /// Takes the terminal again: asks again what was asked, and has the view drawn anew.
    func resume() {
        let question = state.withLock { state in
            state.isSuspended = false
            return state.question
        }
        if let question { put(Array(question.utf8), to: STDERR_FILENO) }
        redraw()
    }

    /// Has the view drawn anew, if there is one.
    func redraw() {
        let action = state.withLock { $0.redraw }
        action?()
    }
}
#endif
