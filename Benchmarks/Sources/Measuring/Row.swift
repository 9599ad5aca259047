/// One figure of a table: the time of one contender for one operation. It is printed as a line with tabs between the
/// fields `row`, part, operation, contender, unit, median, 95th and 99th percentile (empty if unknown).
///
/// With `--rows` every benchmark, and every peer in another language, prints such lines. Without it they print tables
/// for people.
public struct Row {
    /// Whether this process prints rows.
    public static let areAsked = CommandLine.arguments.contains("--rows")

    private let line: String

    /// - Parameters:
    ///   - part: the table of the row.
    ///   - what: the operation, by the name that every program uses.
    ///   - who: the contender, for example `C` or `pagecache`.
    public init(
        part: String, what: String, who: String, unit: String = "µs", _ median: Double, p95: Double? = nil,
        p99: Double? = nil
    ) {
        let figures = [median, p95 ?? .nan, p99 ?? .nan].map { $0.isFinite ? "\($0)" : "" }
        line = (["row", part, what, who, unit] + figures).joined(separator: "\t")
    }

    public init(part: String, what: String, who: String, _ samples: Samples) {
        self.init(
            part: part, what: what, who: who, samples.median, p95: samples.percentile(0.95),
            p99: samples.percentile(0.99))
    }

    /// The mean of the same, as a work of its own.
    public init(part: String, meanOf what: String, who: String, _ samples: Samples) {
        self.init(part: part, what: "\(what), the mean", who: who, samples.mean)
    }

    public func print() { Swift.print(line) }
}
