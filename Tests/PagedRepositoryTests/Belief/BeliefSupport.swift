import PageModel

@testable import PagedRepository

private let noon = Timestamp(milliseconds: 1_000_000)

/// A list that holds pages of ten items at these positions. Each page has a cursor unless it is the last of a chain.
func held(
    _ ranges: [Range<Int>], total: ListTotal = .unknown, end: Int? = nil, window: Int? = nil, cursors: Bool = false,
    ledger: [LedgerEntry] = []
) -> ListOutline {
    var record = QueryRecord(
        id: QueryID(rawValue: 1), key: "list", version: ListVersion(generation: 1, revision: 0), total: total, end: end,
        validatedAt: noon, createdAt: noon, allowsDuplicates: false, paging: "", source: "")
    record.resultWindow = window
    let pages = ranges.flatMap { range in
        stride(from: range.lowerBound, to: range.upperBound, by: 10).map { start in
            PageSummary(
                offset: start, count: min(10, range.upperBound - start), generation: 1, revision: 0,
                evidence: .verified,
                evidenceAt: noon, fetchedAt: noon, validatedAt: noon, fingerprint: UInt64(start), cursorIn: nil,
                cursorOut: cursors ? PageCursor("c\(start + 10)") : nil, validator: nil)
        }
    }
    return ListOutline(record: record, pages: pages, ledger: ledger, readAt: noon)
}

/// An answer whose items have the names `i…` of these positions, or those of `names`.
func answer(
    _ range: Range<Int>, total: ListTotal = .unknown, next: String? = nil, hasMore: Bool? = nil
) -> FetchedPage {
    FetchedPage(content: named(range), total: total, next: next.map { PageCursor($0) }, hasMore: hasMore)
}

/// The places of held items with the names `i…`, each at the position of its number.
func places(_ range: Range<Int>) -> [UInt64: ItemPlace] {
    Dictionary(
        uniqueKeysWithValues: zip(range, named(range).identities).map { position, identity in
            (identity.key, ItemPlace(position: position, content: identity.content))
        })
}
