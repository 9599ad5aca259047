// The settings of the caller as one text. The paging profile stores it, so that a later caller without settings keeps
// them (R47).
extension HTTPSourceConfiguration {
    /// All settings that can contradict a stored paging profile, in one text. `nil` when there are none.
    var saying: String? {
        var parts: [String] = []
        if paging != .auto { parts.append("paging=\(paging.rawValue)") }
        let places: [(String, (any CustomStringConvertible)?)] = [
            ("items", items), ("id", id), ("total", total), ("next", next), ("more", hasMore),
            ("limit", limitParameter),
            ("offset", offsetParameter), ("page", pageParameter), ("first", firstPage), ("cursor", cursorParameter),
            ("key", key), ("in", cursorIn), ("overlap", overlap),
        ]
        for (name, place) in places {
            if let place { parts.append("\(name)=\(HTTPSourceConfiguration.escaped(place.description))") }
        }
        return parts.isEmpty ? nil : parts.joined(separator: "&")
    }

    /// Adds the settings of an earlier caller where this caller names none. Another style replaces the earlier style
    /// with all its parameters. A setting that says how to request a later page replaces the earlier style only.
    /// - Parameter text: the `saying` of the earlier caller. Parts that cannot be read are left out.
    mutating func keep(saying text: String) {
        var said: [String: String] = [:]
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if pair.count == 2 { said[pair[0]] = HTTPSourceConfiguration.unescaped(pair[1]) }
        }
        let style = said["paging"].flatMap { Paging(rawValue: $0) } ?? .auto
        if paging == .auto || paging == style {
            if !namesPosition { paging = style }
            next = next ?? said["next"].flatMap { Place($0) }
            offsetParameter = offsetParameter ?? said["offset"]
            pageParameter = pageParameter ?? said["page"]
            // A hostile store must not make page numbers overflow (R46).
            firstPage = firstPage ?? said["first"].flatMap { Int($0) }.map { min(max($0, 0), 1) }
            cursorParameter = cursorParameter ?? said["cursor"]
            key = key ?? said["key"].flatMap { JSONPointer($0) }
            cursorIn = cursorIn ?? said["in"].flatMap { JSONPointer($0) }
        }
        items = items ?? said["items"].flatMap { JSONPointer($0) }
        id = id ?? said["id"].flatMap { JSONPointer($0) }
        total = total ?? said["total"].flatMap { Place($0) }
        hasMore = hasMore ?? said["more"].flatMap { JSONPointer($0) }
        limitParameter = limitParameter ?? said["limit"]
        overlap = overlap ?? said["overlap"].flatMap { Int($0) }
    }

    /// Whether a setting says how to request a page after page one.
    private var namesPosition: Bool {
        next != nil || offsetParameter != nil || pageParameter != nil || firstPage != nil || cursorParameter != nil
            || key != nil || cursorIn != nil
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("%", with: "%25").replacing("&", with: "%26")
    }

    private static func unescaped(_ text: String) -> String {
        text.replacing("%26", with: "&").replacing("%25", with: "%")
    }
}
