import Foundation
import Measuring
import Synchronization

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
        guard !Row.areAsked else { return printRows() }
        Swift.print(
            "  " + name.left(58), Figure.right(value), Figure.right(tail), Figure.right(limit), Figure.right(ratio),
            Figure.right(other.map { value / $0 }), verdict)
    }

    static func header() {
        guard !Row.areAsked else { return }
        let columns = ["p50", "p95", "limit", "ratio", "÷ other"].map { $0.right(11) }
        Swift.print("  " + "".left(58), columns.joined(separator: " "), " target")
    }

    static func title(_ text: String) {
        part.withLock { $0 = text }
        if !Row.areAsked { Swift.print("\n\(text)") }
    }

    /// The last title, which is the part of the following rows.
    private static let part = Mutex("")

    /// A name may end with its unit, after a comma.
    private func printRows() {
        let words = name.trimmingCharacters(in: .whitespaces)
        let last = words.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
        let unit = ["µs", "ms", "MB", "KB"].contains(last) ? last : "µs"
        let what = last == unit ? String(words.dropLast(last.count + 2)) : words
        // Rows have one reference.
        let part = Figure.part.withLock { $0.components(separatedBy: "; other")[0] }
        Row(part: part, what: what, who: "pagecache", unit: unit, value, p95: tail).print()
        if let limit, limit != value { Row(part: part, what: what, who: "limit", unit: unit, limit).print() }
    }

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
