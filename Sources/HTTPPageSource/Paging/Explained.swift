/// One thing that was decided about an origin, and on what grounds: what `sync --explain` prints.
public struct Explained: Codable, Hashable, Sendable, CustomStringConvertible {
    /// What a decision stands on. The raw value is what is stored and printed.
    public enum Ground: String, Codable, CaseIterable, Sendable {
        /// By the configuration, or in the URL itself.
        case said = "said by the caller"
        /// In the answer that was looked at.
        case seen = "evidence in page one"
        /// A request was made for it, and its answer bears it out.
        case proved = "proved by a request"
        /// The usual, for want of anything better.
        case assumed = "assumed"
        /// A request was made for it, and its answer does not bear it out.
        case failed = "tried, and not so"
    }

    /// What it is about: `paging`, `items`, `id`, `total`, `next`, `more`, `size`, `offset`, `page`, `cursor`, `key` or
    /// `link`.
    public var field: String
    /// What was decided, or tried: a pointer, a header, the name of a parameter. Never a secret, nor a token of the
    /// origin.
    public var value: String
    /// What it stands on.
    public var ground: Ground
    /// What the answer was, in a few words; nil where the ground says it all.
    public var detail: String?

    /// A decision; each parameter is the property of its name.
    public init(_ field: String, _ value: String, _ ground: Ground, detail: String? = nil) {
        self.field = field
        self.value = value
        self.ground = ground
        self.detail = detail
    }

    /// One line for people. It holds text of the origin's: R46 is for whoever prints it.
    public var description: String {
        "\(field): \(value) (\(ground.rawValue)\(detail.map { ": \($0)" } ?? ""))"
    }
}
