import PageModel

/// Decides whether an origin may be contacted (R32). After a number of failures in a row no work is started for the
/// origin, except for an occasional probe. A run counts as one failure if the origin did not answer, or stopped
/// answering.
///
/// ```
/// closed ──failures──▶ open ──time──▶ probing ──answer──▶ closed
///                        ▲               │
///                        └───failure─────┘
/// ```
struct CircuitBreaker: Equatable {
    enum Permission: Equatable {
        case go
        /// One run may start as a probe, to find out whether the origin is available again. All other runs wait for its
        /// result.
        case probe
        case wait(until: Timestamp)
    }

    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: Timestamp)
        /// A probe is under way. It counts as lost after this time.
        case probing(until: Timestamp)
    }

    private var state: State
    private let threshold: Int
    private let pause: Duration

    /// - Parameters:
    ///   - threshold: the number of failures in a row after which the origin counts as unavailable. A value below 1
    ///     counts as 1.
    ///   - pause: the time from the last failure to the next probe.
    ///   - failures: the number of failures in a row so far, as restored from the ledger after a restart. Defaults to
    ///     0.
    ///   - lastFailureAt: the time of the last of these failures. Defaults to nil.
    init(threshold: Int, pause: Duration, failures: Int = 0, lastFailureAt: Timestamp? = nil) {
        self.threshold = max(1, threshold)
        self.pause = pause
        state = .closed(failures: failures)
        if failures >= self.threshold, let lastFailureAt { state = .open(until: lastFailureAt + pause) }
    }

    var isClosed: Bool { if case .closed = state { true } else { false } }

    mutating func permission(now: Timestamp) -> Permission {
        switch state {
        case .closed:
            return .go
        case .open(let until), .probing(let until):
            // A clock that was set back does not extend the pause (R29).
            guard now >= until || until - now > pause else { return .wait(until: until) }
            state = .probing(until: now + pause)
            return .probe
        }
    }

    /// Records that the origin answered, even with an error status. Returns true when it had been unavailable.
    mutating func recordSuccess() -> Bool {
        let wasUnavailable = !isClosed
        state = .closed(failures: 0)
        return wasUnavailable
    }

    mutating func recordFailure(now: Timestamp) {
        switch state {
        case .closed(let failures) where failures + 1 < threshold:
            state = .closed(failures: failures + 1)
        case .closed, .open, .probing:
            state = .open(until: now + pause)
        }
    }
}
