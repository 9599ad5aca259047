import Measuring

/// Durations of one piece of work, done by us and by the limit; here and there also by a limit that takes no checksums.
final class Pair {
    private let part: String
    private let name: String
    private let target: Double?
    private var ours = Samples()
    private var limit = Samples()
    private var unchecked = Samples()

    /// - Parameters:
    ///   - part: the table of the line.
    ///   - target: the largest allowed ratio of the medians. Defaults to nil: no target.
    init(_ part: String, _ name: String, target: Double? = nil) {
        self.part = part
        self.name = name
        self.target = target
    }

    /// Takes the limit's times of another, whose work was the same.
    func compare(with other: Pair) { (limit, unchecked) = (other.limit, other.unchecked) }

    func ours(_ body: () async throws -> Void) async rethrows { try await ours.time(body) }

    func limit<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        var value: Value?
        try await limit.time { value = try await body() }
        return value!
    }

    /// As `limit`, by one that takes no checksums.
    func unchecked(_ body: () throws -> Void) rethrows { try unchecked.timeAtOnce { try body() } }

    /// Both, one after the other.
    func both(_ work: (ours: () throws -> Void, limit: () -> Void)) async throws {
        try await ours { try work.ours() }
        await limit { work.limit() }
    }

    /// One line of the table: medians, the 95th and 99th percentile of ours, the ratio, and what it should be.
    func print() {
        guard !Row.areAsked else {
            Row(part: part, what: name, who: "pagecache", ours).print()
            if !limit.values.isEmpty { Row(part: part, what: name, who: "C", limit).print() }
            if !unchecked.values.isEmpty { Row(part: part, what: name, who: "C without checksum", unchecked).print() }
            return
        }
        let (a, b) = (ours.median, limit.median)
        let goal = target.map { " ≤ \($0)" } ?? ""
        Swift.print(
            name.left(52), a.shown().left(10), ours.percentile(0.95).shown().left(10),
            ours.percentile(0.99).shown().left(10),
            b.shown().left(10), (a / b).shown().left(7), goal.left(7),
            unchecked.values.isEmpty ? "" : unchecked.median.shown())
    }

    /// One more line, of the mean: what work of this kind takes as a whole, with the few that wait for the disk.
    func printMean() {
        guard !Row.areAsked else {
            Row(part: part, meanOf: name, who: "pagecache", ours).print()
            Row(part: part, meanOf: name, who: "C", limit).print()
            return
        }
        Swift.print(
            "\(name), the mean".left(52), ours.mean.shown().left(10), "".left(10), "".left(10),
            limit.mean.shown().left(10),
            (ours.mean / limit.mean).shown())
    }

    static func header(_ title: String) {
        guard !Row.areAsked else { return }
        let columns = [("", 52), ("p50 µs", 10), ("p95 µs", 10), ("p99 µs", 10), ("C p50", 10), ("ratio", 7)]
        Swift.print(
            "\n\(title)\n" + columns.map { $0.0.left($0.1) }.joined(separator: " "), " target  C without checksum")
    }
}
