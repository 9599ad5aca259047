/// The caller's settings for an origin. Only the URL is required. Detection finds the paging settings that
/// are not given (Documentation/Detection.md).
public struct HTTPSourceConfiguration: Sendable {
    /// The ways in which pages follow one another. The raw value is the argument of `--paging`.
    public enum Paging: String, CaseIterable, Sendable, Codable {
        /// Detect it from the first answer.
        case auto
        /// `offset` and `limit` parameters: pages in any order, and in parallel.
        case offset
        /// A page number, from 0 or from 1: pages in any order, and in parallel.
        case page
        /// A token from the body or a header, sent back in a parameter. The token may also be an object in the body:
        /// all its members then become parameters.
        case cursor
        /// The last item's id or sort value, sent back in a parameter.
        case keyset
        /// A URL in a header: `Link` with `rel="next"` (RFC 8288), or another header of the origin.
        case link
        /// A URL in the body.
        case nextURL = "next-url"
        /// The list has one page.
        case none
    }

    /// The method of requests. The raw value is the argument of `--method`.
    public enum Method: String, CaseIterable, Sendable, Codable {
        /// The usual method.
        case get = "GET"
        /// A search whose parameters are in a JSON body. Failed requests are retried, as with GET.
        case post = "POST"
    }

    /// The place of a value in an answer.
    public enum Place: Hashable, Sendable, CustomStringConvertible {
        /// In the body, at this pointer.
        case body(JSONPointer)
        /// In the header with this name, compared without regard to case.
        case header(String)

        /// Parses `/a/pointer` or `header:Name`. Returns nil for any other text.
        ///
        /// A pointer to an array of links may end in `[rel=next]`, such as `/links[rel=next]`. Such a pointer names the
        /// URL of the link with that relation, at any index.
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

    /// The URL of page one. Secrets in the URL are sent to the origin and never stored.
    public var url: String
    /// How the origin pages. Defaults to `auto`.
    public var paging: Paging = .auto
    /// The place of the array of items. `nil` means that detection finds it. Defaults to `nil`.
    public var items: JSONPointer?
    /// The place of the id below each item. `nil` means that detection finds it. Defaults to `nil`.
    public var id: JSONPointer?
    /// The place of the total. `nil` means that detection finds it. Defaults to `nil`.
    public var total: Place?
    /// The place of the next URL, or of the token or object for the next page. `nil` means that detection finds it.
    /// Defaults to `nil`.
    public var next: Place?
    /// The place of a boolean that is true while more items follow (R24). `nil` means that detection finds it. Defaults
    /// to `nil`.
    public var hasMore: JSONPointer?
    /// The parameter for the number of items in a page. `nil` means that detection finds it. Defaults to `nil`.
    public var limitParameter: String?
    /// The parameter for the 0-based position of a page's first item. `nil` means that detection finds it. Defaults to
    /// `nil`.
    public var offsetParameter: String?
    /// The parameter for the page number. `nil` means that detection finds it. Defaults to `nil`.
    public var pageParameter: String?
    /// The number of page one, 0 or 1. `nil` means that detection finds it. Defaults to `nil`.
    public var firstPage: Int?
    /// The parameter for the token, or for the key of the last item. `nil` means that detection finds it. Defaults to
    /// `nil`.
    public var cursorParameter: String?
    /// The place of a keyset's key below each item. `nil` means a sort value or a cursor that every item has, else a
    /// member that the URL sorts by, else the item's id. Defaults to `nil`.
    public var key: JSONPointer?
    /// The number of known items that a page by position repeats. With 0, detection also accepts an origin that pages
    /// only from multiples of the page size. `nil` leaves the decision to `SyncOptions.overlap`. Defaults to `nil`.
    public var overlap: Int?
    /// Whether a stored paging profile is ignored, and the origin is examined again. Defaults to false.
    public var detectsAnew = false
    /// Whether a stored list of another URL, method or body is bound to this request. Page one is aligned with the
    /// list, and decides which items stay (R19, R47). Run a sweep then: page one does not show whether later pages
    /// differ. A list whose check of the credential was lost in a repair is bound, too (R45). Defaults to false: such
    /// lists are refused.
    public var rebinds = false
    /// The method of requests. Defaults to `get`.
    public var method: Method = .get
    /// Whether `method` is the caller's choice, so that a stored method does not replace it. Defaults to false.
    package var hasOwnMethod = false
    /// The JSON object that POST requests send. `nil` means an empty object. Defaults to `nil`.
    public var body: [UInt8]?
    /// The place in `body` for the position of a page: a cursor, the key of the last item, an offset or a page number,
    /// depending on `paging`. Used only with the method `post`. `nil` means that detection finds it. Defaults to `nil`.
    public var cursorIn: JSONPointer?
    /// Headers that are sent with every request to this origin, and to no other. Never stored. Defaults to none.
    public var headers: [HTTPField] = []
    /// Names of `headers` that are credentials. A list belongs to the credentials that it was fetched with. Where an
    /// origin echoes a credential of eight bytes or more, the source removes it from next links, validators and
    /// messages (R45); items keep their bytes. `Authorization`, `Cookie`, `X-Api-Key` and similar names are always
    /// credentials. Defaults to none.
    public var secretHeaders: Set<String> = []
    /// Further hosts that redirects and next links may lead to (R45). An entry is `files.example.com`, or
    /// `files.example.com:8443` for a port that is not the default of its scheme. Requests to these hosts carry no
    /// `headers`, no user and password, and no secret parameters. A request whose `body` has a secret member never goes
    /// to them. An https URL never leads to an http one. Defaults to none.
    public var allowedHosts: Set<String> = []
    /// The limits for the origin's answers (R43). Defaults to `HTTPLimits()`. A transport has limits of its own, and
    /// should be given the same ones.
    public var limits = HTTPLimits()

    /// Makes a configuration with the URL of page one only.
    public init(url: String) {
        self.url = url
    }

    /// The configured names of paging parameters. The position of a page is not part of the identity of a list (R45).
    var pagingParameters: [String] {
        [limitParameter, offsetParameter, pageParameter, cursorParameter].compactMap(\.self)
    }
}
