/// Measures whether a body arrives fast enough (R43). A body that arrives a byte at a time is of no use, and occupies a
/// connection until the deadline.
///
/// Windows follow one another, starting with the header. Each window is checked on its own when it is over. Times are
/// measured from the start of the request.
struct BodyPace {
    enum Check: Equatable {
        /// The present window is not over before this time.
        case lookAgain(at: Duration)
        case tooSlow
        /// The limits set no minimum throughput.
        case never
    }

    private let leastPerSecond: Int
    private let window: Duration
    /// The start of the window. `nil` before the header has arrived.
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

    mutating func look(at now: Duration) -> Check {
        guard leastPerSecond > 0, window > .zero else { return .never }
        guard let began else { return .lookAgain(at: now + window) }
        guard now - began >= window else { return .lookAgain(at: began + window) }
        // The required bytes grow with the time since `began`. Floating point avoids an overflow with extreme limits.
        guard Double(bytes) >= Double(leastPerSecond) * ((now - began) / .seconds(1)) else { return .tooSlow }
        begin(at: now)
        return .lookAgain(at: now + window)
    }
}
