#if Tool
import PageModel
import PageStore
import PagedRepository
import Synchronization

/// Shows the progress of a synchronisation. On a terminal it redraws one line; elsewhere it prints a plain line every
/// few seconds if the text has changed. A short run shows no line.
///
/// State, behind the mutex: the line, and whether the run is over. The line is drawn while the mutex is held, so that
/// no line follows the end. The drawing task ends with `finish`, or when this object is released.
final class SyncProgress: Sendable {
    private static let redraw = Duration.milliseconds(100)
    private static let plainLine = Duration.seconds(5)

    private struct State {
        var line: ProgressLine
        /// The last plain line. It is not printed twice in a row.
        var plainText = ""
        var isFinished = false
        var task: Task<Void, Never>?
    }

    private let terminal: Terminal
    private let requests: @Sendable () -> Int?
    private let storeWait: @Sendable () -> Duration?
    private let clock = SystemClock()
    private let state: Mutex<State>

    /// - Parameters:
    ///   - name: the id of the list. `nil` when the command has only one.
    ///   - verifies: whether the run verifies every page.
    ///   - verifiedBefore: the position at which the run continues a sweep.
    ///   - storeWait: returns the time that a write to the store has lasted, or nil when no write is under way.
    ///   - requests: returns the number of requests sent so far, or nil when requests are not counted.
    init(
        terminal: Terminal, name: String? = nil, verifies: Bool = false, verifiedBefore: Int = 0,
        storeWait: @escaping @Sendable () -> Duration? = { nil },
        requests: @escaping @Sendable () -> Int? = { nil }
    ) {
        self.terminal = terminal
        self.requests = requests
        self.storeWait = storeWait
        let line = ProgressLine(
            startedAt: clock.now(), name: name, verifies: verifies, verifiedBefore: verifiedBefore)
        state = Mutex(State(line: line))
        let pause = terminal.showsProgress ? SyncProgress.redraw : SyncProgress.plainLine
        // The clock triggers the drawing, not the events. People want to see progress most while an origin does not
        // answer.
        let task = Task { [weak self] in
            while !Task.isCancelled {
                do { try await Task.sleep(for: pause) } catch { return }
                guard let self else { return }
                self.draw()
            }
        }
        state.withLock { $0.task = task }
    }

    deinit { state.withLock { $0.task?.cancel() } }

    func show(_ event: SyncEvent) {
        let now = clock.now()
        state.withLock { $0.line.note(event, at: now) }
    }

    /// Removes the line. No line is shown afterwards.
    func finish() {
        state.withLock { state in
            guard !state.isFinished else { return }
            state.isFinished = true
            state.task?.cancel()
            terminal.progress("")
        }
    }

    private func draw() {
        let (now, sent) = (clock.now(), requests())
        let wait = [storeWait(), LockWaits.current].compactMap(\.self).max()
        state.withLock { state in
            guard !state.isFinished, state.line.isWorthShowing(at: now) else { return }
            if terminal.showsProgress {
                terminal.progress(
                    state.line.text(width: terminal.errorWidth - 1, requests: sent, storeWait: wait, now: now))
            } else {
                // A bar belongs on a terminal. In a mail of cron, it is a row of strange characters.
                let text = state.line.text(width: 100, requests: sent, storeWait: wait, hasBar: false, now: now)
                guard text != state.plainText else { return }
                state.plainText = text
                terminal.note("pagecache: \(text)")
            }
        }
    }
}
#endif
