import PageModel

// The queries of a store as a table shows them. The cost of a list depends little on the number of its pages.
extension StoreReading {
    /// Returns every query with an intact record, with its size, its held positions and its failures. In these outlines
    /// one page stands for each stretch of held pages. Each has the earliest validation time of the list's pages. Pages
    /// of older generations and ledger entries that do not fail are left out.
    ///
    /// The held positions are those of the newest journal row, if the page records add up to the same numbers.
    /// Otherwise the records of all pages are read. This method does not notice other damage in a page record; `verify`
    /// does, and so does every read of its items.
    func listed() throws(StorageError) -> [QuerySummary] {
        var listed: [QuerySummary] = []
        for record in try QueryTable.all(in: connection) {
            if let summary = try joined(record) {
                listed.append(summary)
            } else {
                listed.append(
                    QuerySummary(
                        outline: try outline(record), bytes: try PageTable.bytes(of: record.id, in: connection)))
            }
        }
        return listed
    }

    /// Returns nil when the pages of the list have to be read.
    private func joined(_ record: QueryRecord) throws(StorageError) -> QuerySummary? {
        guard let holdings = try JournalTable.holdings(of: record, in: connection),
            let failures = try LedgerTable.failures(
                of: record.id, most: ListState.mostFailures, in: connection, at: moment),
            let sums = try PageTable.sums(of: record, in: connection),
            sums.pages == holdings.pages, sums.items == holdings.held.count
        else { return nil }
        var pages: [PageSummary] = []
        if let checkedAt = sums.checkedAt {
            // For a list whose pages are all empty, one empty page stands for all of them.
            let stretches = holdings.held.segments.isEmpty ? [0..<0] : holdings.held.segments
            pages = stretches.map { range in
                PageSummary(
                    offset: range.lowerBound, count: range.count, generation: record.version.generation, revision: 0,
                    evidence: .verified, evidenceAt: checkedAt, fetchedAt: checkedAt, validatedAt: checkedAt,
                    fingerprint: 0, cursorIn: nil, cursorOut: nil, validator: nil)
            }
        }
        return QuerySummary(
            outline: ListOutline(record: record, pages: pages, ledger: failures, readAt: moment.now), bytes: sums.bytes)
    }
}

/// Numbers over the pages of a list, from their records. No checksum covers them.
struct PageSums {
    /// The number of pages of the list's current generation.
    var pages: Int
    /// The items of these pages.
    var items: Int
    /// The earliest time at which one of these pages was last validated. `nil` when there is no page.
    var checkedAt: Timestamp?
    /// The bytes of all pages, including those of other generations.
    var bytes: Int
}

extension PageTable {
    // A forged size must not make a sum overflow, as in `total`.
    private static let sumsOfList = SQL(
        """
        SELECT coalesce(sum(generation = ?2), 0),
            coalesce(sum(CASE WHEN generation = ?2 THEN max(0, min(count, \(StoredBounds.pageSizes.upperBound))) END), 0),
            min(CASE WHEN generation = ?2 THEN validated_at END),
            coalesce(sum(max(0, min(bytes, \(StoredBounds.pageSizes.upperBound)))), 0)
        FROM page WHERE query = ?1
        """)

    /// Returns nil when a record cannot be read, or has an impossible time.
    static func sums(of record: QueryRecord, in connection: Connection) throws(StorageError) -> PageSums? {
        do throws(StorageError) {
            let found = try connection.first(sumsOfList, record.id.rawValue, Int64(record.version.generation)) {
                row throws(StorageError) in
                PageSums(pages: row.int(0), items: row.int(1), checkedAt: row.optionalTime(2), bytes: row.int(3))
            }
            return found.flatMap { StoredBounds.contains($0.checkedAt) ? $0 : nil }
        } catch {
            guard error.isUnreadableRow else { throw error }
            return nil
        }
    }
}
