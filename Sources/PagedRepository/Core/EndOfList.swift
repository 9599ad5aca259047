import PageModel

/// Whether the list goes on behind an answer, by the order of evidence in R24.
enum EndOfList: Equatable {
    /// The list ends at this position.
    case end(at: Int)
    case more

    /// - Parameters:
    ///   - offset: the position of the answer's first item.
    ///   - full: how many items a full page of this origin has; nil for page one itself, whose shortness tells nothing:
    ///     a size that was asked for may be clamped or ignored.
    static func decide(_ page: FetchedPage, at offset: Int, full: Int?, access: PagingAccess) -> EndOfList {
        let position = offset + page.content.count
        // The origin's own word, and a live next, win over any total.
        if page.hasMore == false { return .end(at: position) }
        if page.hasMore == true || page.next != nil { return .more }
        switch access {
        case .chain:
            return .end(at: position)
        case .single:
            return page.total.exactCount.map { $0 > position } ?? false ? .more : .end(at: position)
        case .offsets, .grid:
            // A total that the answer itself contradicts says nothing (R20).
            if let total = page.total.exactCount, position <= total {
                return position >= total || page.content.isEmpty ? .end(at: position) : .more
            }
            if page.content.isEmpty { return .end(at: position) }
            // A short page is the end only where nothing else speaks.
            if let full, page.content.count < full { return .end(at: position) }
            return .more
        }
    }
}

extension EndOfList {
    /// R24: a page of a chain that says that the list goes on, and hands over no way on. Taken for the end, it would
    /// close up a hole; believed, it leaves nothing to ask for. So it fails, and the same page is what a retry asks
    /// for.
    static func contradiction(in page: FetchedPage, access: PagingAccess) -> FetchFailure? {
        guard access == .chain, page.hasMore == true, page.next == nil else { return nil }
        return FetchFailure(
            .undecodable, "the page says that more follows, and not how to ask for it", isRetryable: false)
    }
}

extension FetchedPage {
    /// Whether the origin says that more follows: `hasMore`, or where it says nothing a live `next`.
    var saysMore: Bool { hasMore ?? (next != nil) }
}

extension Total {
    /// Whether both are exact, and differ: nothing else is a check digit.
    func contradicts(_ other: Total) -> Bool {
        guard let one = exactCount, let two = other.exactCount else { return false }
        return one != two
    }

    /// What is left of a claim when so many items were seen: items beyond it make it an estimate (R20).
    func believed(reached: Int) -> Total {
        if case .exact(let count) = self, count < reached { .estimate(reached) } else { self }
    }
}
