import PageModel

/// Whether the list goes on behind an answer, by the order of evidence in R24.
enum EndOfList: Equatable {
    /// The list ends at this position.
    case end(at: Int)
    case more

    /// - Parameters:
    ///   - offset: the position of the answer's first item.
    ///   - requested: how many items were asked for; nil when that was left to the origin.
    static func decide(_ page: FetchedPage, at offset: Int, requested: Int?, access: PagingAccess) -> EndOfList {
        let position = offset + page.content.count
        // The origin's own word, and a live next, win over any total.
        if page.hasMore == false { return .end(at: position) }
        if page.hasMore == true || page.next != nil { return .more }
        switch access {
        case .chain, .single:
            return .end(at: position)
        case .offsets, .grid:
            if let total = page.total.exactCount {
                return position >= total || page.content.isEmpty ? .end(at: position) : .more
            }
            if page.content.isEmpty { return .end(at: position) }
            // A short page is the end only where nothing else speaks.
            if let requested, page.content.count < requested { return .end(at: position) }
            return .more
        }
    }
}
