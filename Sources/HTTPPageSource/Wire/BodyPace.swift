/// Whether a body comes fast enough (R43): an origin that drips a byte at a time is as good as silent, and costs more.
///
/// Windows follow one another from the moment of the header on; each is judged by itself when it is over. Times are
/// counted from the beginning of the request.
struct BodyPace {
    enum Verdict: Equatable {
        /// Nothing to say before then.
        case lookAgain(at: Duration)
        case tooSlow
        /// There is nothing to look at.
        case never
    }

    private let leastPerSecond: Int
    private let window: Duration
    /// When the window began; nil before the header has come.
    private var began: Duration?
    private var bytes = 0

    init(_ limits: HTTPLimits) {
        leastPerSecond = limits.minimumThroughput
        window = limits.throughputWindow
    }

    mutating func begin(at now: Duration) {
        began = now
        bytes = 0
    }

    mutating func receive(_ count: Int) { bytes += count }

    mutating func look(at now: Duration) -> Verdict {
        guard leastPerSecond > 0, window > .zero else { return .never }
        guard let began else { return .lookAgain(at: now + window) }
        guard now - began >= window else { return .lookAgain(at: began + window) }
        // Whoever looks late has seen more time go by, and expects more. In floating point: limits are anybody's
        // numbers.
        guard Double(bytes) >= Double(leastPerSecond) * ((now - began) / .seconds(1)) else { return .tooSlow }
        begin(at: now)
        return .lookAgain(at: now + window)
    }
}
