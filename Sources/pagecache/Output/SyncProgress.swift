#if Tool
import PageModel
import PagedRepository
import Synchronization

/// Shows what a synchronisation is doing: one line that redraws on a terminal, a plain line every few seconds
/// elsewhere. A sync of something small shows nothing.
///
/// State, guarded by the mutex: the line, and whether it is over; the line is drawn under it, so that none comes after
/// the last. The task that draws dies with `finish`, or with the value.
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

    /// - Parameter requests: how many were sent so far; nil where nobody counts.
    init(terminal: Terminal, requests: @escaping @Sendable () -> Int? = { nil }) {
        self.terminal = terminal
        self.requests = requests
        state = Mutex(State(line: ProgressLine(startedAt: clock.now())))
        let pause = terminal.showsProgress ? SyncProgress.redraw : SyncProgress.plainLine
        // Redrawn by the clock and not by events: an origin that does not answer is when people want to see something.
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

    /// Takes the line away; nothing is shown afterwards.
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
