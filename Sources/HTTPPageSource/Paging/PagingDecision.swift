/// One decision about an origin, with its reason. `pagecache sync URL --explain` prints each decision.
public struct PagingDecision: Codable, Hashable, Sendable, CustomStringConvertible {
    /// The reason for a decision. The raw value is stored, and does not change.
    public enum Reason: String, Codable, CaseIterable, Sendable {
        /// The configuration or the URL states the decision.
        case said = "said by the caller"
        /// The first answer shows the decision.
        case seen = "evidence in page one"
        /// A probe was sent, and its answer proves the decision.
        case proved = "proved by a request"
        /// The common case, used without evidence.
        case assumed = "assumed"
        /// No answer proves the attempt, or an answer contradicts the evidence.
        case failed = "tried, and not so"

        /// The printed reason.
        package var text: String { self == .proved ? "proven by a request" : rawValue }
    }

    /// The subject of the decision: `paging`, `items`, `id`, `total`, `next`, `more`, `size`, `offset`, `page`,
    /// `cursor`, `key` or `link`.
    public var field: String
    /// The decision, or the attempt: a pointer, a header, the name of a parameter. Never a secret or a token of the
    /// origin.
    public var value: String
    /// The reason for the decision.
    public var reason: Reason
    /// The result in a few words. `nil` when the reason says everything.
    public var detail: String?

    // The names in stored profiles, which do not change.
    private enum CodingKeys: String, CodingKey {
        case field, value
        case reason = "ground"
        case detail
    }

    /// Creates the record of a decision.
    public init(_ field: String, _ value: String, _ reason: Reason, detail: String? = nil) {
        self.field = field
        self.value = value
        self.reason = reason
        self.detail = detail
    }

    /// The decision in one line for people. The line holds text from the origin, so the caller has to escape its
    /// control characters (R46).
    public var description: String {
        "\(field): \(value) (\(reason.text)\(detail.map { ": \($0)" } ?? ""))"
    }
}
