#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// All decisions about an origin: how to request pages, and the layout of its answers. Stored with the query as JSON.
/// Holds no secrets.
struct PagingProfile: Codable, Hashable, Sendable {
    enum Style: String, Codable, Sendable {
        case offset, page, cursor, keyset, link
        case nextURL = "next-url"
        case none
    }

    /// The last search in which all candidates failed: what page one looked like, and the number of searches so far.
    struct Searched: Codable, Hashable, Sendable {
        var items: Int
        var total: Int?
        /// The largest number of items that page one had so far.
        var most: Int?
        /// The number of searches, `mostCounted` at most. `nil` counts as 1.
        var runs: Int?
        /// Whether nothing suggests that the list has more items than page one.
        var isWhole: Bool?
        /// Whether the last search was disturbed, so that another one may have another result. The origin failed,
        /// refused a probe with a status that may be a fault, changed page one, or returned other items that prove
        /// nothing.
        var isDoubtful: Bool?
        /// A hash of the ids of page one and of the ways to continue that were tried. `nil` means that the next run
        /// searches again, unless the list is whole.
        var look: String?
        /// The time of the search, in milliseconds since 1970-01-01.
        var at: Int64?
        /// The warning that page one is not the whole list. It contains no secret.
        var warning: String?

        /// The number of searches after which a disturbance is no longer a reason for another search.
        static let mostRuns = 3
        var isSettled: Bool { isDoubtful != true || runs ?? 1 >= Searched.mostRuns }

        /// The largest number of searches that is counted. With this number, the pause is a week.
        static let mostCounted = 11

        /// The time until an unproven list that looks the same is searched again: a day, doubled by each search up to a
        /// week. If the total counts more items than page one has, an hour comes first. After three disturbed searches
        /// the pause begins with an hour, and each further search doubles it, up to a week.
        var pause: Duration {
            let runs = min(max(runs ?? 1, 1), Searched.mostCounted)
            if isDoubtful == true { return .seconds(3_600 * min(1 << max(runs - Searched.mostRuns, 0), 168)) }
            let searches = runs - (total ?? 0 > items ? 1 : 0)
            return searches == 0 ? .seconds(3_600) : .seconds(86_400 * min(1 << (searches - 1), 7))
        }
    }

    var style: Style
    /// The URL of page one, without secrets.
    var url: String
    /// The method of requests. `nil` stands for GET.
    var method: HTTPSourceConfiguration.Method?
    /// The body of POST requests. `nil` with GET, and where it holds a secret.
    var body: String?
    /// The body without secrets, position and size, if `body` was not stored because it contains a secret.
    var bodyText: String?
    /// The encoding of the list, where the header leaves it open.
    var encoding: BodyCharset.Shown?
    var items: JSONPointer
    /// Whether an object holds the items by their keys, instead of an array.
    var isKeyed: Bool?
    var id: JSONPointer?
    var total: HTTPSourceConfiguration.Place?
    /// The place of a number that counts the list or the page: it equals the length of page one, and more items seem to
    /// follow. On an answer without items, it counts the list.
    var unclearTotal: HTTPSourceConfiguration.Place?
    /// Whether the total is in the answer to HEAD, and not in the answer to GET (R16).
    var isTotalByHead: Bool?
    /// The number of HEAD requests for the total that failed with a temporary fault.
    var unansweredHeads: Int?
    /// The member that states whether the total is an estimate.
    var estimateMark: JSONPointer?
    /// Whether the name of the total marks it as an estimate.
    var isEstimate: Bool?
    var next: HTTPSourceConfiguration.Place?
    /// Whether the token at `next` may be there on the last page as well. An empty page is the end then.
    var isTokenWeak: Bool?
    /// Whether the token at `next` is percent-encoded, and goes into the URL as it is.
    var isTokenEscaped: Bool?
    /// The place of the number of items after this page. The number counts only next to a weak token.
    var remaining: JSONPointer?
    var hasMore: JSONPointer?
    /// A boolean that is true on the last page.
    var isLast: JSONPointer?
    /// A boolean that calls the answers a part of the list; see `MoreStatement`.
    var part: JSONPointer?
    /// The place of the number of pages (R24).
    var pageCount: HTTPSourceConfiguration.Place?
    var limitParameter: String?
    /// Whether the origin ignored the requested page size. The parameter is still sent, but not relied on.
    var ignoresSize: Bool?
    /// The largest page size that the origin states.
    var largestSize: Int?
    var offsetParameter: String?
    /// The value that requests the first item of page one, where it is not 0.
    var firstOffset: Int?
    var pageParameter: String?
    var firstPage: Int?
    /// The number of items in a page, if pages are numbered, or if offsets must be multiples of that number.
    var gridSize: Int?
    /// The parameter for the token or the key.
    var cursorParameter: String?
    /// The place of a keyset's key below each item.
    var key: JSONPointer?
    /// Parameters of page one that the next link leaves out, and that requests put back.
    var carried: [String]?
    /// The check of the caller's credential: see `CredentialCheck`.
    var credential: String?
    /// The caller's settings at the time of detection: see `HTTPSourceConfiguration.saying`.
    var said: String?
    /// Whether page one did not show how the list pages. The next page one is examined again.
    var isProvisional: Bool?
    var searched: Searched?
    /// Each decision with its reason.
    var reasons: [PagingDecision]?

    init(style: Style, url: String, items: JSONPointer) {
        self.style = style
        self.url = url
        self.items = items
    }

    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only strings, numbers and booleans are encoded, so encoding cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    init?(json: String) {
        guard var known = try? JSONDecoder().decode(PagingProfile.self, from: Data(json.utf8)) else { return nil }
        // A hostile store must not make page numbers or counts overflow (R46).
        known.firstPage = known.firstPage.map { min(max($0, 0), 1) }
        known.firstOffset = known.firstOffset.map { min(max($0, 0), 1) }
        known.gridSize = known.gridSize.map { max($0, 1) }
        known.largestSize = known.largestSize.map { max($0, 1) }
        let runs = known.searched?.runs
        known.searched?.runs = runs.map { min(max($0, 1), Searched.mostCounted) }
        known.unansweredHeads = known.unansweredHeads.map { min(max($0, 0), PagingProfile.mostUnansweredHeads) }
        self = known
    }

    /// The number of unanswered HEAD requests after which HEAD is no longer sent: each one may cost the time of a whole
    /// request.
    private static let mostUnansweredHeads = 5

    /// Whether page one needs another HEAD.
    var awaitsHead: Bool { (1..<PagingProfile.mostUnansweredHeads).contains(unansweredHeads ?? 0) }

    /// Whether the stored profile fits the caller's settings. A caller without settings accepts every profile.
    func fits(_ saying: String?) -> Bool { saying == nil || saying == said }

    /// Whether each page holds the way to the next one.
    var isChain: Bool {
        switch style {
        case .cursor, .keyset, .link, .nextURL: true
        case .offset, .page, .none: false
        }
    }
}

extension JSONPointer: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let pointer = JSONPointer(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not a JSON Pointer"))
        }
        self = pointer
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension HTTPSourceConfiguration.Place: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let place = Self(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "not a place"))
        }
        self = place
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
