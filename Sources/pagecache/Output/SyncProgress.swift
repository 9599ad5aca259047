#if Tool
import PageModel
import PagedRepository
import Synchronization

/// What a synchronisation is doing: one line that redraws on a terminal, a plain line every few seconds elsewhere. A
/// sync of something small shows nothing.
final class SyncProgress: Sendable {
    // Guarded by the mutex.
    fileprivate struct State {
        var held = 0
        var length: Int?
        var pages = 0
        var failing: Set<Int> = []
        var waitingUntil: Timestamp?
        var lastShown: Timestamp
    }

    private static let quietTime = Duration.milliseconds(300)
    private static let redraw = Duration.milliseconds(100)
    private static let plainLine = Duration.seconds(10)

    private let terminal: Terminal
    private let clock = SystemClock()
    private let startedAt: Timestamp
    private let state: Mutex<State>

    init(terminal: Terminal) {
        self.terminal = terminal
        startedAt = clock.now()
        state = Mutex(State(lastShown: startedAt))
    }

    func show(_ event: SyncEvent) {
        let now = clock.now()
        let line = state.withLock { state -> String? in
            state.note(event)
            let pause = terminal.errorIsTerminal ? SyncProgress.redraw : SyncProgress.plainLine
            // A pause that begins is worth a redraw, and not worth a line.
            let isPause = if case .waiting = event { terminal.errorIsTerminal } else { false }
            guard now - startedAt > SyncProgress.quietTime, isPause || now - state.lastShown >= pause else { return nil }
            state.lastShown = now
            return text(state, now)
        }
        guard let line else { return }
        if terminal.errorIsTerminal { terminal.progress(line) } else { terminal.note("pagecache: \(line)") }
    }

    func finish() { terminal.progress("") }

    private func text(_ state: State, _ now: Timestamp) -> String {
        var parts: [String] = []
        if let length = state.length, length > 0 {
            let share = min(1, Double(state.held) / Double(length))
            let filled = Int(share * 20)
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 20 - filled)
            parts.append("\(bar) \(SizeText.count(state.held)) of \(SizeText.count(length)) items")
        } else {
            parts.append("\(SizeText.count(state.held)) items")
        }
        let seconds = Double((now - startedAt).wholeMilliseconds) / 1_000
        parts.append("\(SizeText.count(state.pages)) pages in \(Int(seconds)) s")
        if !state.failing.isEmpty { parts.append("\(state.failing.count) failing") }
        if let until = state.waitingUntil, until > now { parts.append("next attempt in \(TimeText.age(until - now))") }
        return parts.joined(separator: " · ")
    }
}

extension SyncProgress.State {
    fileprivate mutating func note(_ event: SyncEvent) {
        switch event {
        case .opened(let held, let length):
            self.held = held
            self.length = length
        case .stored(let range, let held, let length):
            self.held = held
            self.length = length
            pages += 1
            failing.remove(range.lowerBound)
            waitingUntil = nil
        case .failed(let offset, _, _): failing.insert(offset)
        case .waiting(let moment): waitingUntil = moment
        case .reconciled, .notStored, .warning: break
        }
    }
}
#endif
