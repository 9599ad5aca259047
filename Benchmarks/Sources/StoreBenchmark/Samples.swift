import Measuring

/// Durations of one piece of work, done by us and by the limit.
final class Samples {
    private let name: String
    private let target: Double?
    private var ours: [Double] = []
    private var limit: [Double] = []

    init(_ name: String, target: Double? = nil) {
        self.name = name
        self.target = target
    }

    /// Takes the limit's times of another, whose work was the same.
    func compare(with other: Samples) { limit = other.limit }

    func ours(_ body: () async throws -> Void) async rethrows { ours.append(try await Samples.microseconds(body)) }

    func limit<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        var value: Value?
        limit.append(try await Samples.microseconds { value = try await body() })
        return value!
    }

    /// One line of the table: medians, the 95th percentile of ours, the ratio, and what it should be.
    func print() {
        let (a, b) = (ours.median, limit.median)
        let goal = target.map { " ≤ \($0)" } ?? ""
        Swift.print(
            name.left(44), a.shown().left(10), ours.percentile(0.95).shown().left(10), b.shown().left(10),
            (a / b).shown().left(7), goal)
    }

    static func header() {
        Swift.print("".left(44), "p50 µs".left(10), "p95 µs".left(10), "C p50".left(10), "ratio".left(7), " target")
    }

    private static func microseconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start).microseconds
    }
}
