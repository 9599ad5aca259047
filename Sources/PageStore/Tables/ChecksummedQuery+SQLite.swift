import PageModel

extension ChecksummedQuery {
    init(_ row: borrowing Row) {
        // One flipped bit turns a text into a blob with the same bytes. The seal does not detect that, but the index of
        // names treats them as different. The types are read first, because reading a column as text makes SQLite
        // convert it (https://www.sqlite.org/c3ref/column_blob.html).
        let hasBlob = [1, 2, 6, 12, 13, 15].contains { row.isBlob($0) }
        let total: ListTotal =
            switch row.text(6) {
            case "exact": .exact(row.int(7))
            case "estimate": .estimate(row.int(7))
            default: .unknown
            }
        let sweep = row.optionalTime(16).map {
            SweepProgress(
                position: row.optionalInt(14) ?? 0, cursor: row.optionalText(15).map { PageCursor($0) }, startedAt: $0)
        }
        let record = QueryRecord(
            id: QueryID(rawValue: row.int64(0)), key: QueryKey(row.text(2), scope: row.text(1)),
            version: ListVersion(generation: row.int(4), revision: row.int(5)), total: total, end: row.optionalInt(8),
            validatedAt: row.optionalTime(10), createdAt: row.time(9), allowsDuplicates: row.bool(11),
            paging: row.text(12), source: row.text(13), sweep: sweep, isPinned: row.bool(17),
            invalidatedAt: row.optionalTime(18), freshFor: row.optionalInt(19).map { .milliseconds($0) },
            resultWindow: row.optionalInt(20), lastAuditAt: row.optionalTime(21), isUnproven: row.bool(22),
            contentVersion: ContentVersion(counter: min(max(row.int(24), 0), ListTotal.largest), stamp: row.hash(25)))
        let isInBounds =
            [11, 17, 22].allSatisfy { StoredBounds.flags.contains(row.int($0)) }
            && (sweep != nil || row.optionalInt(14) == nil && row.optionalText(15) == nil)
            && record.total.count == row.optionalInt(7)
            && !hasBlob
        var found = RowChecksum(RowChecksum.query)
        row.mix(23, into: &found)
        self.init(
            record, nameHash: row.hash(3), seal: row.hash(23), sealHolds: found.value == row.hash(23),
            isInBounds: isInBounds)
    }
}
