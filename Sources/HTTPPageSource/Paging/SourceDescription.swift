import Foundation

/// Everything that was decided about an origin: how to ask it, and where things stand in its answers. Stored with the
/// query as JSON; holds no secrets.
struct SourceDescription: Codable, Hashable, Sendable {
    enum Style: String, Codable, Sendable {
        case offset, page, link
        case nextURL = "next-url"
        case none
    }

    var style: Style
    /// Page one, without secrets.
    var url: String
    var items: JSONPointer
    var id: JSONPointer?
    var total: HTTPSourceConfiguration.Place?
    var next: HTTPSourceConfiguration.Place?
    var hasMore: JSONPointer?
    var limitParameter: String?
    var offsetParameter: String?
    var pageParameter: String?
    var firstPage: Int?
    /// Items per page, where pages are numbered.
    var gridSize: Int?
    /// Who asked: see `CredentialCheck`.
    var credential: String?
    /// Too little was seen to go by it; the next first answer is looked at again.
    var isProvisional: Bool?

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
        self = known
    }

    /// Nil for what is not to be gone by.
    init?(usable json: String) {
        self.init(json: json)
        if isProvisional == true { return nil }
    }

    init(style: Style, url: String, items: JSONPointer) {
        self.style = style
        self.url = url
        self.items = items
    }

    /// One line for people: what was decided.
    var summary: String {
        var parts = [style.rawValue]
        switch style {
        case .offset: parts.append("(\(offsetParameter ?? "offset")\(limitParameter.map { ", \($0)" } ?? ""))")
        case .page: parts.append("(\(pageParameter ?? "page"), \(gridSize ?? 0) a page)")
        case .link, .nextURL: parts.append("(\(next?.description ?? "?"))")
        case .none: break
        }
        parts.append("· items \(items.tokens.isEmpty ? "at the top" : items.description)")
        parts.append("· id \(id.map { $0.tokens.isEmpty ? "the item itself" : $0.description } ?? "none")")
        parts.append("· total \(total?.description ?? "none")")
        return parts.joined(separator: " ")
    }
}

extension JSONPointer: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let pointer = JSONPointer(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "not a JSON Pointer"))
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
