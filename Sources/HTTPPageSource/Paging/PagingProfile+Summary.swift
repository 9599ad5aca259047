extension PagingProfile {
    /// The decisions in one line for people.
    var summary: String {
        var parts = [style.rawValue]
        switch style {
        case .offset: parts.append("(\(offsetParameter ?? "offset")\(limitParameter.map { ", \($0)" } ?? ""))")
        case .page: parts.append("(\(pageParameter ?? "page"), \(gridSize ?? 0) a page)")
        case .cursor: parts.append("(\(next?.description ?? "?")\(cursorParameter.map { " into \($0)" } ?? ""))")
        case .keyset: parts.append("(\(key.map(PagingProfile.named) ?? "?") into \(cursorParameter ?? "?"))")
        case .link, .nextURL: parts.append("(\(next?.description ?? "?"))")
        case .none: break
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
