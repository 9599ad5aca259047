extension PagingProfile {
    /// The decisions in one line for people.
    var summary: String {
        var parts: [String]
        switch style {
        case .offset:
            let size = limitParameter.map { ", size parameter \($0)" } ?? ""
            parts = ["\(style.rawValue), parameter \(offsetParameter ?? "offset")\(size)"]
        case .page: parts = ["\(style.rawValue), parameter \(pageParameter ?? "page"), \(gridSize ?? 0) items a page"]
        case .cursor:
            let parameter = cursorParameter.map { " into \($0)" } ?? ""
            parts = ["\(style.rawValue) (\(next?.description ?? "?")\(parameter))"]
        case .keyset:
            parts = ["\(style.rawValue) (\(key.map(PagingProfile.named) ?? "?") into \(cursorParameter ?? "?"))"]
        case .link, .nextURL: parts = ["\(style.rawValue) (\(next?.description ?? "?"))"]
        case .none: parts = [style.rawValue]
        }
        parts.append("· items \(items.tokens.isEmpty ? "at the top" : items.description)")
        parts.append("· id \(id.map(PagingProfile.named) ?? "none")")
        parts.append("· total \(total?.description ?? "none")\(isTotalByHead == true ? " (HEAD)" : "")")
        return parts.joined(separator: " ")
    }

    /// A place below an item, for people.
    static func named(_ pointer: JSONPointer) -> String {
        pointer.tokens.isEmpty ? "the item itself" : pointer.description
    }
}
