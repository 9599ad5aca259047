import PageModel

/// A request that a run plans to send.
enum FetchTarget: Hashable, Sendable {
    /// Page one.
    case firstPage
    /// The items at these positions, plus the `overlap` positions before them. The positions of the overlap should be
    /// held already (R21).
    case range(Range<Int>, overlap: Int)
    /// The page at `offset`, requested with the cursor that the previous page named.
    case cursor(PageCursor, offset: Int)
    /// The items at these positions, to find out what changed (R18). They are not stored as a page, so no lease is
    /// needed.
    case probe(Range<Int>)
    /// The items at these positions, as part of a sweep (R23).
    case sweep(Range<Int>)

    /// Whether the answer is stored as a page.
    var isPage: Bool {
        switch self {
        case .firstPage, .range, .cursor: true
        case .probe, .sweep: false
        }
    }

    /// Whether the answer belongs to a position in the list as it was when the request was sent (R4).
    var hasPlace: Bool {
        switch self {
        case .range, .cursor: true
        case .firstPage, .probe, .sweep: false
        }
    }

    /// The first position, without the overlap. The ledger entry of a page has the same position.
    var offset: Int {
        switch self {
        case .firstPage: 0
        case .range(let range, _), .probe(let range), .sweep(let range): range.lowerBound
        case .cursor(_, let offset): offset
        }
    }
}
