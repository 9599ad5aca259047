import Measuring

/// Durations of one piece of work, in microseconds.
struct Samples {
    private var values: [Double] = []

    init() {}

    mutating func add(_ duration: Duration) { values.append(duration.microseconds) }

    mutating func time(_ body: () async throws -> Void) async rethrows {
        let start = ContinuousClock.now
        try await body()
        add(ContinuousClock.now - start)
    }

    /// For what does not wait, and takes less time than looking at the clock: so many calls, of which one counts.
    mutating func timeAtOnce(calls: Int = 1, _ body: () throws -> Void) rethrows {
        let start = ContinuousClock.now
        for _ in 0..<calls { try body() }
        values.append((ContinuousClock.now - start).microseconds / Double(calls))
    }

    var median: Double { values.median }

    func percentile(_ share: Double) -> Double { values.percentile(share) }
}
