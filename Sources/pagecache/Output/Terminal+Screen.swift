#if Tool
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// Temporary output on the terminal: a view, a progress line, a question.
extension Terminal {
    /// Fills the screen with these lines, unless another program has the terminal. Text from an origin or a store must
    /// have passed `Printable.text` before. `finish`, `restore` and `suspend` bring back the former screen.
    func draw(_ lines: [String]) {
        guard isInForeground else { return }
        screen.withLock { _ in
            let (isFirst, isSuspended) = state.withLock { state in
                defer { state.hasView = state.hasView || !state.isSuspended }
                return (!state.hasView, state.isSuspended)
            }
            guard !isSuspended else { return }
            // The first drawing selects the alternate screen. Each drawing hides the cursor, which other programs may
            // have shown. The lines then overwrite the old lines without flicker.
            let opening = isFirst ? "\u{1b}[?1049h" : ""
            let text = lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n")
            put(Array("\(opening)\u{1b}[?25l\u{1b}[H\(text)\u{1b}[J".utf8), to: STDOUT_FILENO)
        }
    }

    /// Sets the action that redraws the view after a change of the terminal's size, or after another program used the
    /// terminal.
    func onRedraw(_ action: (@Sendable () -> Void)?) { state.withLock { $0.redraw = action } }

    /// Shows a line about a wait, while no other progress line, view or question is shown.
    /// - Parameter words: returns the line, or nil when there is no wait. No result is written between the call of
    ///   `words` and the drawing, so a wait that has ended is not shown after the results.
    func showWait(_ words: () -> String?) {
        draw { state in
            let isFree = state.progressColumns == nil || state.isWaitShown
            guard isFree, !state.hasView, state.question == nil else { return nil }
            if let line = words() { return (line, true) }
            return state.isWaitShown ? ("", false) : nil
        }
    }

    /// Replaces the progress line, or removes it when `line` is empty. Does nothing where `showsProgress` is false.
    func progress(_ line: String) { draw { _ in (line, false) } }

    /// - Parameter choose: returns the new progress line, or nil when the present one stays. `isWait` says whether the
    ///   line comes from `showWait`. Every other progress line replaces such a line.
    private func draw(_ choose: (State) -> (line: String, isWait: Bool)?) {
        guard showsProgress, isInForeground else { return }
        screen.withLock { _ in
            let width = errorWidth
            let drawn = state.withLock { state -> (text: String, before: Int)? in
                guard let (line, isWait) = choose(state), !state.isSuspended else { return nil }
                let text = TextWidth.cut(Printable.text(line), to: width - 1)
                let before = state.progressColumns ?? 0
                state.progressColumns = text.isEmpty ? nil : TextWidth.columns(text)
                state.isWaitShown = isWait
                return (text, before)
            }
            guard let drawn else { return }
            put(Array((Terminal.erasing(drawn.before, width: width) + drawn.text).utf8), to: STDERR_FILENO)
        }
    }

    /// The bytes that erase the progress line, and put the cursor at its beginning. A terminal that became narrower has
    /// broken the line into rows, and the cursor is in the last of them.
    /// - Parameters:
    ///   - columns: the columns of the line.
    ///   - width: the present columns of the terminal.
    static func erasing(_ columns: Int, width: Int, breaksLines: Bool = Terminal.breaksLines) -> String {
        let rows = breaksLines ? max(0, columns - 1) / max(1, width) : 0
        return rows == 0 ? "\r\u{1b}[K" : "\u{1b}[\(rows)A\r\u{1b}[J"
    }

    /// Asks a question. Only `y` or `yes` returns true.
    func confirm(_ question: String) -> Bool {
        let lines = TableLayout.wrapped(
            "\(Printable.text(question)) [y/N]", width: errorWidth - 1, breakingWords: false)
        let question = lines.joined(separator: "\n") + " "
        put(Array(question.utf8), to: STDERR_FILENO)
        state.withLock { $0.question = question }
        let line = waiting { readLine() }
        state.withLock { $0.question = nil }
        // The end of the input (Ctrl-D) has no line break.
        if line == nil { put([UInt8(ascii: "\n")], to: STDERR_FILENO) }
        let answer = line?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }

    // MARK: The end

    /// Restores the terminal, and writes nothing else. For exits that cannot wait.
    func restore() {
        let was = state.withLock { state in
            defer {
                (state.progressColumns, state.hasView, state.question, state.settings) = (nil, false, nil, nil)
            }
            return state
        }
        clear(was)
    }

    private func clear(_ was: State) {
        if let columns = was.progressColumns {
            put(Array(Terminal.erasing(columns, width: errorWidth).utf8), to: STDERR_FILENO)
        }
        if was.hasView { put(Array("\u{1b}[?25h\u{1b}[?1049l".utf8), to: STDOUT_FILENO) }
        giveKeysBack(was.settings)
        if was.question != nil { put([UInt8(ascii: "\n")], to: STDERR_FILENO) }
    }

    // MARK: Suspension

    /// Restores the terminal for other programs. Drawing stops until `resume`.
    func suspend() {
        screen.withLock { _ in
            let was = state.withLock { state in
                defer { (state.progressColumns, state.hasView, state.isSuspended) = (nil, false, true) }
                return state
            }
            clear(was)
        }
    }

    /// Takes the terminal back: repeats an open question, and redraws the view.
    func resume() {
        let (question, readsKeys) = state.withLock { state in
            state.isSuspended = false
            return (state.question, state.settings != nil)
        }
        if readsKeys { takeKeys() }
        if let question { put(Array(question.utf8), to: STDERR_FILENO) }
        redraw()
    }

    /// Takes the keys again after `fg`, and redraws the view.
    func takeBack() {
        keepKeys()
        redraw()
    }

    /// Redraws the view, if there is one.
    func redraw() {
        let action = state.withLock { $0.redraw }
        action?()
    }
}
#endif
