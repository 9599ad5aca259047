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
        let (a, b) = (Samples.percentile(ours, 0.5), Samples.percentile(limit, 0.5))
        let goal = target.map { " ≤ \($0)" } ?? ""
        Swift.print(
            pad(name, 44), pad(number(a), 10), pad(number(Samples.percentile(ours, 0.95)), 10),
            pad(limit.isEmpty ? "–" : number(b), 10), pad(limit.isEmpty ? "–" : number(a / b), 7), goal)
    }

    static func header() {
        Swift.print(pad("", 44), pad("p50 µs", 10), pad("p95 µs", 10), pad("C p50", 10), pad("ratio", 7), " target")
    }

    private static func microseconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        let parts = (ContinuousClock.now - start).components
        return Double(parts.seconds) * 1e6 + Double(parts.attoseconds) / 1e12
    }

    private static func percentile(_ values: [Double], _ share: Double) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}

private func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

private func number(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
}
