import PageModel

/// Whether an origin may be asked (R32): after so many transport failures in a row it is left alone, but for one
/// question now and then.
///
/// ```
/// closed ──failures──▶ open ──time──▶ probing ──answer──▶ closed
///                        ▲               │
///                        └───failure─────┘
/// ```
struct Circuit: Equatable {
    enum Verdict: Equatable {
        case go
        /// One may go, to see whether the origin is back; the others wait for what it finds.
        case probe
        case wait(until: Timestamp)
    }

    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: Timestamp)
        /// Somebody is asking; believed to be at it until then.
        case probing(until: Timestamp)
    }

    private var state: State
    private let threshold: Int
    private let pause: Duration

    /// - Parameters:
    ///   - threshold: transport failures in a row after which the origin counts as away. 1…
    ///   - pause: how long it is left alone then, before one question.
    ///   - failures: how many there have been in a row, as the ledger tells after a restart.
    ///   - lastFailureAt: when the last of them was.
    init(threshold: Int, pause: Duration, failures: Int = 0, lastFailureAt: Timestamp? = nil) {
        self.threshold = max(1, threshold)
        self.pause = pause
        state = .closed(failures: failures)
        if failures >= self.threshold, let lastFailureAt { state = .open(until: lastFailureAt + pause) }
    }

    var isClosed: Bool { if case .closed = state { true } else { false } }

    mutating func ask(now: Timestamp) -> Verdict {
        switch state {
        case .closed:
            return .go
        case .open(let until), .probing(let until):
            // R29: a clock that was set back does not lock anybody out for longer than the pause.
            guard now >= until || until - now > pause else { return .wait(until: until) }
            state = .probing(until: now + pause)
            return .probe
        }
    }

    /// The origin was heard, whatever it said. True when it had been away.
    mutating func heard() -> Bool {
        let wasAway = !isClosed
        state = .closed(failures: 0)
        return wasAway
    }

    mutating func notHeard(now: Timestamp) {
        switch state {
        case .closed(let failures) where failures + 1 < threshold:
            state = .closed(failures: failures + 1)
        case .closed, .open, .probing:
            state = .open(until: now + pause)
        }
    }
}
