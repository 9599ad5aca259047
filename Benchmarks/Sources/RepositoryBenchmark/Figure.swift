import Measuring

/// One line of the table: what we take, what it takes without us, and what the ratio should be.
struct Figure {
    enum Target {
        case atMost(Double)
        case ratio(Double)
    }

    var name: String
    var value: Double
    /// The 95th percentile.
    var tail: Double?
    var limit: Double?
    /// Another thing to compare with; see the part's title.
    var other: Double?
    var target: Target?

    init(_ name: String, _ value: Double, limit: Double? = nil, target: Target? = nil) {
        self.name = name
        self.value = value
        self.limit = limit
        self.target = target
    }

    init(_ name: String, _ samples: Samples, limit: Samples? = nil, other: Samples? = nil, target: Target? = nil) {
        self.init(name, samples.median, limit: limit?.median, target: target)
        tail = samples.percentile(0.95)
        self.other = other?.median
    }

    func print() {
        Swift.print(
            "  " + name.left(58), Figure.right(value), Figure.right(tail), Figure.right(limit), Figure.right(ratio),
            Figure.right(other.map { value / $0 }), verdict)
    }

    static func header() {
        let columns = ["p50", "p95", "limit", "ratio", "÷ other"].map { $0.right(11) }
        Swift.print("  " + "".left(58), columns.joined(separator: " "), " target")
    }

    static func title(_ text: String) { Swift.print("\n\(text)") }

    private var ratio: Double? { limit.flatMap { $0 > 0 ? value / $0 : nil } }

    private var verdict: String {
        switch target {
        case nil: ""
        case .atMost(let most): " ≤ \(most.shown()): \(value <= most ? "met" : "missed")"
        case .ratio(let most): " ratio ≤ \(most.shown()): \((ratio ?? .infinity) <= most ? "met" : "missed")"
        }
    }

    private static func right(_ value: Double?) -> String { (value ?? .nan).shown().right(11) }
}
