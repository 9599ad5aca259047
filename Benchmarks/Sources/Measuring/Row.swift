/// One figure, for whoever makes tables of many programs' figures: who took how long for what. Written as one line, its
/// fields with a tab between: `row`, part, what, who, unit, median, 95th and 99th percentile (empty where there is
/// none).
///
/// Every program here, and every peer in another language, prints such lines when it is given `--rows`; tables for
/// people otherwise.
public struct Row {
    /// Whether this process prints rows.
    public static let areAsked = CommandLine.arguments.contains("--rows")

    private let line: String

    /// - Parameters:
    ///   - part: which part of the comparison; rows of one part are shown together.
    ///   - what: the work, in the words in which every program names it.
    ///   - who: who did it; `C` and `pagecache` in what compares the two.
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
