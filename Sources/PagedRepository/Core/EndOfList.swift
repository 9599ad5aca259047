import PageModel

/// Whether the list continues after an answer, by the order of evidence in R24.
enum EndOfList: Equatable {
    /// The list ends at this position.
    case end(at: Int)
    case more

    /// - Parameters:
    ///   - page: the answer.
    ///   - offset: the position of the answer's first item.
    ///   - full: the number of items of a full page. `nil` if it is unknown, and for page one itself. The origin may
    ///     clamp or ignore a requested size, so a short page one proves nothing.
    ///   - access: how the origin's pages can be requested.
    static func decide(_ page: FetchedPage, at offset: Int, full: Int?, access: PagingAccess) -> EndOfList {
        let position = offset + page.content.count
        // The origin's explicit `hasMore`, or a next cursor, takes precedence over any total.
        if page.hasMore == false { return .end(at: position) }
        if page.hasMore == true || page.next != nil { return .more }
        switch access {
        case .chain:
            return .end(at: position)
        case .single:
            // An estimate counts, too: no other answer can show where the list ends.
            return page.total.count.map { $0 > position } ?? false ? .more : .end(at: position)
        case .offsets, .grid:
            // A total that the answer itself contradicts proves nothing (R20).
            if let total = page.total.exactCount, position <= total {
                return position >= total || page.content.isEmpty ? .end(at: position) : .more
            }
            if page.content.isEmpty { return .end(at: position) }
            // A short page is the end only if there is no other evidence.
            if let full, page.content.count < full { return .end(at: position) }
            return .more
        }
    }
}

extension EndOfList {
    /// Returns a failure for a page of a chain that reports more items but has no cursor (R24). Returns nil for any
    /// other page.
    ///
    /// If this page counted as the end, the missing items would go unnoticed. If it counted as a page in the middle, no
    /// request could follow it. So the page fails, and a later attempt requests it again.
    static func contradiction(in page: FetchedPage, access: PagingAccess) -> FetchFailure? {
        guard access == .chain, page.hasMore == true, page.next == nil else { return nil }
        return FetchFailure(
            .undecodable, "the page announces more items and names no next page", isRetryable: false)
    }
}

extension EndOfList {
    /// Whether a result window seems to cut off a list that is requested by position (R24). No item then follows a full
    /// page or a multiple of the page size, and the exact total counts at least one full page more. Otherwise the total
    /// counts as wrong.
    /// - Parameters:
    ///   - end: the position at which no item was returned.
    ///   - total: the exact total.
    ///   - size: the number of items of a full page.
    ///   - lastPage: the number of items of the page before `end`.
    static func isCutOff(at end: Int, total: Int, size: Int, lastPage: Int) -> Bool {
        let size = max(size, 1)
        return end > 0 && total - end >= size && (lastPage >= size || end.isMultiple(of: size))
    }
}

extension FetchFailure {
    /// Returns the failure for the refusal of a position that an exact total counts (R24).
    static func refused(by answer: PageAnswer) -> FetchFailure {
        let status = answer == .notFound ? 404 : nil
        let code = status.map { " (\($0))" } ?? ""
        let why = "the origin refuses this position\(code), which its total counts"
        return FetchFailure(.rejected, why, isRetryable: true, httpStatus: status)
    }
}

extension PageAnswer {
    /// Whether the origin refuses the position.
    var refusesPosition: Bool {
        switch self {
        case .pastEnd, .notFound: true
        case .page, .notModified: false
        }
    }
}

extension FetchedPage {
    /// Whether the origin reports more items: `hasMore`, or without it the presence of a `next` cursor.
    var saysMore: Bool { hasMore ?? (next != nil) }
}

extension ListTotal {
    /// Whether both totals are exact and differ. Only exact totals can serve as a check.
    func contradicts(_ other: ListTotal) -> Bool {
        guard let one = exactCount, let two = other.exactCount else { return false }
        return one != two
    }

    /// Returns the total after `reached` items were seen. An exact total below that count becomes an estimate (R20).
    func believed(reached: Int) -> ListTotal {
        if case .exact(let count) = self, count < reached { .estimate(reached) } else { self }
    }

    /// Returns the total. An estimate below `count` is raised to `count`.
    func raised(to count: Int) -> ListTotal {
        if case .estimate(let estimate) = self, estimate < count { .estimate(count) } else { self }
    }
}
