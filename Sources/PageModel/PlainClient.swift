// The comparison of a store with a client that has no store and requests every page of a list each time.

extension ListOutline {
    /// The number of pages in which a client without a store requests the held items.
    ///
    /// Where positions can be requested, the pages of a store overlap (R21), and changes split and join them. The pages
    /// of that client are as long as page one, and do not overlap. The pages of a chain are those of the origin.
    package var plainPages: Int {
        let pages = heldPages.filter { $0.count > 0 }
        guard ["offset", "page"].contains(record.paging), let first = pages.first, first.offset == 0 else {
            return pages.count
        }
        return (coverage.count + first.count - 1) / first.count
    }
}

extension StoreStatistics.Query {
    /// The number of requests that the counted runs avoided, compared with a client without a store. That client
    /// requests every page in every run; the sent requests are subtracted. Never below 0. The tally counts pages of the
    /// store. They are converted to pages of that client by the ratio that the present list has.
    package var requestsSaved: Int {
        let (plain, held) = (summary.outline.plainPages, summary.outline.heldPages.count { $0.count > 0 })
        guard plain != held, held > 0 else { return tally.requestsSaved }
        // A product of large numbers would not be representable as an integer.
        let pages = Double(tally.pages) * Double(plain) / Double(held)
        return max(0, Int(min(pages.rounded(), Double(StoredBounds.sizes.upperBound))) - tally.requests)
    }
}
