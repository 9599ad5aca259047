#if PostgreSQL
import PageModel

/// Reads an excerpt of a list, the pages and fetch records of a range, with the last statements of a transaction.
final class ExcerptReading {
    private let range: Range<Int>
    private let query: QueryID
    private var pages: Rows?
    private var ledger: Rows?

    init(_ range: Range<Int>, of query: QueryID, _ work: WriteBatch) {
        self.range = range
        self.query = query
        let requests = ExcerptReading.requests(range, of: query)
        work.add(requests[0]) { self.pages = $0 }
        work.add(requests[1]) { self.ledger = $0 }
    }

    static func requests(_ range: Range<Int>, of query: QueryID) -> [WriteBatch.Request] {
        let id = Value.integer(query.rawValue)
        let end = max(range.upperBound, range.lowerBound == .max ? .max : range.lowerBound + 1)
        return [
            (PageRow.meeting, [id, .int(range.lowerBound), .int(end)]),
            (LedgerRow.within, [id, .int(range.lowerBound), .int(range.upperBound)]),
        ]
    }

    func outline(_ record: QueryRecord, at moment: StorageMoment) -> ListOutline? {
        guard let pages, let ledger else { return nil }
        return ExcerptReading.outline(record, range, pages, ledger, at: moment)
    }

    static func outline(
        _ record: QueryRecord, _ range: Range<Int>, _ pages: Rows, _ ledger: Rows, at moment: StorageMoment
    ) -> ListOutline {
        var rows = PageRows(pages.all, of: record.id)
        rows.restrict(to: range)
        return ListOutline(
            record: record, pages: rows.rows.map(\.summary),
            ledger: ledger.all.compactMap { LedgerRow.entry($0, at: moment) }, damaged: rows.damaged,
            readAt: moment.now)
    }
}
#endif
