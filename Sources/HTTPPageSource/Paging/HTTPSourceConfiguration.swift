/// What the caller says about an origin. Everything but the URL is optional: what is left out is detected
/// (Documentation/Detection.md).
public struct HTTPSourceConfiguration: Sendable {
    /// How pages follow one another. The raw value is what `--paging` takes.
    public enum Paging: String, CaseIterable, Sendable, Codable {
        /// Look at the first answer, and decide.
        case auto
        /// `offset` and `limit` parameters: pages in any order, and in parallel.
        case offset
        /// A page number, from 0 or from 1: pages in any order, and in parallel.
        case page
        /// A token from the body or a header, put into a parameter; or an object of the body, whose members all become
        /// parameters.
        case cursor
        /// The last item's id or sort value, put into a parameter.
        case keyset
        /// A URL in a header: `Link` with `rel="next"` (RFC 8288), or one of the origin's own.
        case link
        /// A URL in the body.
        case nextURL = "next-url"
        /// There is one page.
        case none
    }

    /// Where a value stands in an answer.
    public enum Place: Hashable, Sendable, CustomStringConvertible {
        /// In the body, at this pointer.
        case body(JSONPointer)
        /// In a header of this name, however it is written.
        case header(String)

        /// `/a/pointer`, or `header:Name`. Where a pointer to an array of links ends in `[rel=next]`, it names the URL
        /// of the link with that relation, wherever it stands: `/links[rel=next]`.
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
    /// Default: `auto`.
    public var paging: Paging = .auto
    /// Where the array of items is. Default: detected.
    public var items: JSONPointer?
    /// Below each item.
    public var id: JSONPointer?
    /// Where the length of the list is. Default: detected.
    public var total: Place?
    /// Where the next URL, the token or the object for the next page is.
    public var next: Place?
    /// A boolean that is true while there is more (R24).
    public var hasMore: JSONPointer?
    /// The parameter that takes how many items a page shall have. Default: detected.
    public var limitParameter: String?
    /// The parameter that takes the 0-based position of a page's first item. Default: detected.
    public var offsetParameter: String?
    /// The parameter that takes the number of a page. Default: detected.
    public var pageParameter: String?
    /// The number of page one, 0 or 1.
    public var firstPage: Int?
    /// The parameter that takes the token, or the key of the last item.
    public var cursorParameter: String?
    /// Below each item: what a keyset goes on behind. Default: the item's id.
    public var key: JSONPointer?
    /// Sent with every request to this origin, and to no other; never stored.
    public var headers: [HTTPField] = []
    /// Names of `headers` that are credentials, whatever they are called: they count for whose list it is, and are
    /// looked for in what the origin sends (R45). Those called `Authorization`, `Cookie`, `X-Api-Key` and the like are
    /// known. Default: none.
    public var secretHeaders: Set<String> = []
    /// Hosts besides the URL's own that redirects and next links may lead to (R45): `files.example.com`, or with a port
    /// that is not the usual one of its scheme, `files.example.com:8443`. They are asked like by a stranger: without
    /// `headers`, without user and password, without secret parameters; and never by http where the URL is https.
    /// Default: none.
    public var allowedHosts: Set<String> = []
    /// What the origin may not exceed (R43). Default: the defaults. A transport has limits of its own: give it the
    /// same.
    public var limits = HTTPLimits()

    /// An origin of which nothing but the URL of page one is said.
    public init(url: String) {
        self.url = url
    }

    /// Paging parameters by name: which page it is, is no part of what a list is (R45).
    var pagingParameters: [String] {
        [limitParameter, offsetParameter, pageParameter, cursorParameter].compactMap(\.self)
    }

    /// Everything that was said and that a stored description might contradict, in one text; nil when that is nothing.
    var saying: String? {
        var parts: [String] = []
        if paging != .auto { parts.append("paging=\(paging.rawValue)") }
        let places: [(String, (any CustomStringConvertible)?)] = [
            ("items", items), ("id", id), ("total", total), ("next", next), ("more", hasMore),
            ("limit", limitParameter),
            ("offset", offsetParameter), ("page", pageParameter), ("first", firstPage), ("cursor", cursorParameter),
            ("key", key),
        ]
        for (name, place) in places {
            if let place { parts.append("\(name)=\(place)") }
        }
        return parts.isEmpty ? nil : parts.joined(separator: "&")
    }
}
