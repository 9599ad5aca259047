#if Tool
import PageModel
import PagedRepository
import Synchronization

/// Shows the progress of a synchronisation. On a terminal it redraws one line; elsewhere it prints a plain line every
/// few seconds. A short run shows no line.
///
/// State, behind the mutex: the line, and whether the run is over. The line is drawn while the mutex is held, so that
/// none follows the end. The drawing task ends with `finish`, or when this object is released.
final class SyncProgress: Sendable {
    private static let redraw = Duration.milliseconds(100)
    private static let plainLine = Duration.seconds(5)

    private struct State {
        var line: ProgressLine
        var isFinished = false
        var task: Task<Void, Never>?
    }

    private let terminal: Terminal
    private let requests: @Sendable () -> Int?
    private let clock = SystemClock()
    private let state: Mutex<State>

    /// - Parameters:
    ///   - verifies: whether the run verifies every page.
    ///   - requests: returns the number of requests sent so far, or nil when it is not counted.
    init(terminal: Terminal, verifies: Bool = false, requests: @escaping @Sendable () -> Int? = { nil }) {
        self.terminal = terminal
        self.requests = requests
        state = Mutex(State(line: ProgressLine(startedAt: clock.now(), verifies: verifies)))
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
        state.withLock { state in
            guard !state.isFinished, state.line.isWorthShowing(at: now) else { return }
            if terminal.showsProgress {
                terminal.progress(state.line.text(width: terminal.errorWidth - 1, requests: sent, now: now))
            } else {
                terminal.note("pagecache: \(state.line.text(width: 100, requests: sent, now: now))")
            }
        }
    }
}
#endif
