/// Durations of one piece of work, in microseconds.
public struct Samples: Sendable {
    public private(set) var values: [Double] = []

    public init() {}

    public mutating func add(_ duration: Duration) { values.append(duration.microseconds) }

    @inlinable
    public mutating func time(_ body: () async throws -> Void) async rethrows {
        let start = ContinuousClock.now
        try await body()
        add(ContinuousClock.now - start)
    }

    /// For what does not wait, and may take less time than looking at the clock: so many calls, of which one counts.
    @inlinable
    public mutating func timeAtOnce(calls: Int = 1, _ body: () throws -> Void) rethrows {
        let start = ContinuousClock.now
        for _ in 0..<calls { try body() }
        add((ContinuousClock.now - start) / calls)
    }

    public var median: Double { values.median }

    /// The mean, which includes the few samples that waited for the disk.
    public var mean: Double { values.reduce(0, +) / Double(values.count) }

    public func percentile(_ share: Double) -> Double { values.percentile(share) }
}
