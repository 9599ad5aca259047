/// What the caller says about an origin. Everything but the URL is optional: what is left out is detected.
public struct HTTPSourceConfiguration: Sendable {
    /// How pages follow one another.
    public enum Paging: String, CaseIterable, Sendable, Codable {
        /// Look at the first answer, and decide.
        case auto
        /// `offset` and `limit` parameters.
        case offset
        /// A page number.
        case page
        /// A `Link` header with `rel="next"` (RFC 8288).
        case link
        /// A URL in the body.
        case nextURL = "next-url"
        /// There is one page.
        case none
    }

    /// Where a value stands in an answer.
    public enum Place: Hashable, Sendable, CustomStringConvertible {
        case body(JSONPointer)
        case header(String)

        /// `/a/pointer`, or `header:Name`.
        public init?(_ text: String) {
            if text.hasPrefix("header:") {
                let name = text.dropFirst("header:".count)
                guard !name.isEmpty else { return nil }
                self = .header(String(name))
            } else {
                guard let pointer = JSONPointer(text) else { return nil }
                self = .body(pointer)
            }
        }

        public var description: String {
            switch self {
            case .body(let pointer): pointer.description
            case .header(let name): "header:\(name)"
            }
        }
    }

    /// The URL of page one; secrets in it are used, and not stored.
    public var url: String
    public var paging: Paging = .auto
    public var items: JSONPointer?
    /// Below each item.
    public var id: JSONPointer?
    public var total: Place?
    public var next: Place?
    public var hasMore: JSONPointer?
    public var limitParameter: String?
    public var offsetParameter: String?
    public var pageParameter: String?
    /// The number of page one, 0 or 1.
    public var firstPage: Int?
    /// Sent with every request to this origin, and to no other; never stored.
    public var headers: [HTTPField] = []
    public var limits = HTTPLimits()

    public init(url: String) {
        self.url = url
    }

    /// Whether anything was said that a stored description might contradict.
    var saysSomething: Bool {
        paging != .auto || items != nil || id != nil || total != nil || next != nil || hasMore != nil
            || limitParameter != nil || offsetParameter != nil || pageParameter != nil || firstPage != nil
    }
}
