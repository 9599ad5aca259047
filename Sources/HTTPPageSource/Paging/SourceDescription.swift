#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Everything that was decided about an origin: how to ask it, and where things stand in its answers. Stored with the
/// query as JSON; holds no secrets.
struct SourceDescription: Codable, Hashable, Sendable {
    enum Style: String, Codable, Sendable {
        case offset, page, cursor, keyset, link
        case nextURL = "next-url"
        case none
    }

    /// What page one looked like when everything was tried, and nothing led on.
    struct Searched: Codable, Hashable, Sendable {
        var items: Int
        var total: Int?
    }

    var style: Style
    /// Page one, without secrets.
    var url: String
    var items: JSONPointer
    var id: JSONPointer?
    var total: HTTPSourceConfiguration.Place?
    /// The total stands on the answer to HEAD, and not on that to GET (R16).
    var isTotalByHead: Bool?
    /// How often HEAD was asked whether it tells the total, and nobody was well enough to say.
    var unansweredHeads: Int?
    /// What says whether the total is an estimate.
    var estimateMark: JSONPointer?
    /// Its name says that the total is one.
    var isEstimate: Bool?
    var next: HTTPSourceConfiguration.Place?
    var hasMore: JSONPointer?
    /// A boolean that is true on the last page.
    var isLast: JSONPointer?
    /// How many pages there are (R24).
    var pageCount: HTTPSourceConfiguration.Place?
    var limitParameter: String?
    /// The origin was asked for a size, and did not keep to it: the parameter is sent on, and not relied on.
    var ignoresSize: Bool?
    /// The largest page that the origin says it gives.
    var largestSize: Int?
    var offsetParameter: String?
    /// What is asked for page one's first item, where that is not 0.
    var firstOffset: Int?
    var pageParameter: String?
    var firstPage: Int?
    /// Items per page, where pages are numbered.
    var gridSize: Int?
    /// What takes the token or the key.
    var cursorParameter: String?
    /// Below each item: the key that a keyset goes on behind.
    var key: JSONPointer?
    /// Parameters of page one that the next link leaves out, and that have to be put back.
    var carried: [String]?
    /// Who asked: see `CredentialCheck`.
    var credential: String?
    /// What the caller said when this was found out: see `HTTPSourceConfiguration.saying`.
    var said: String?
    /// Too little was seen to go by it; the next first answer is looked at again.
    var isProvisional: Bool?
    var searched: Searched?
    /// Each decision, and why.
    var reasons: [Explained]?

    init(style: Style, url: String, items: JSONPointer) {
        self.style = style
        self.url = url
        self.items = items
    }

    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and numbers only: encoding cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    init?(json: String) {
        guard var known = try? JSONDecoder().decode(SourceDescription.self, from: Data(json.utf8)) else { return nil }
        // A hostile store must not make page numbers overflow (R46).
        known.firstPage = known.firstPage.map { min(max($0, 0), 1) }
        known.firstOffset = known.firstOffset.map { min(max($0, 0), 1) }
        known.gridSize = known.gridSize.map { max($0, 1) }
        known.largestSize = known.largestSize.map { max($0, 1) }
        self = known
    }

    /// Nil for what is not to be gone by: too little was seen, or something else was said then than now.
    init?(usable json: String, saying: String?) {
        self.init(json: json)
        if isProvisional == true || !fits(saying) { return nil }
    }

    /// Whether HEAD is to be asked with page one again. An origin that never answers it is left alone after some runs:
    /// each may cost the time of a whole request.
    var awaitsHead: Bool { (1..<5).contains(unansweredHeads ?? 0) }

    /// Who says nothing goes by what was said before.
    func fits(_ saying: String?) -> Bool { saying == nil || saying == said }

    /// Whether pages lead on by what the page before handed over.
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
