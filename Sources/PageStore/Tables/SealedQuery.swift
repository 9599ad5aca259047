import PageModel

/// The record of a query, with its stored checksums.
struct SealedQuery {
    var record: QueryRecord
    var nameHash: UInt64
    var seal: UInt64
    private var sealHolds = true
    /// Whether the columns that the record cannot represent exactly were within their bounds.
    private var isInBounds = true

    /// Whether the record is unchanged, and all its numbers are possible.
    var isWhole: Bool {
        sealHolds && hasItsName && isInBounds
            && [record.total.count, record.end, record.sweep?.position, record.window].allSatisfy {
                StoredBounds.positions.contains($0 ?? 0)
            }
            && [record.version.generation, record.version.revision].allSatisfy { StoredBounds.counters.contains($0) }
            && [record.createdAt, record.validatedAt, record.invalidatedAt, record.sweep?.startedAt].allSatisfy {
                StoredBounds.contains($0)
            }
            && record.freshFor == record.freshFor?.keptFreshness
    }

    /// Whether at least id, scope and key are unchanged.
    var hasItsName: Bool { nameHash == QueryNames.hash(of: record.key, record.id) }

    init(_ record: QueryRecord) {
        self.record = record
        nameHash = QueryNames.hash(of: record.key, record.id)
        seal = 0
        seal = computedSeal
    }

    init(_ row: borrowing Row) {
        // One flipped bit turns a text into a blob with the same bytes. The seal does not detect that, but the index of
        // names treats them as different. The types are read first, because reading a column as text makes SQLite
        // convert it (https://www.sqlite.org/c3ref/column_blob.html).
        let hasBlob = [1, 2, 6, 12, 13, 15].contains { row.isBlob($0) }
        let total: Total =
            switch row.text(6) {
            case "exact": .exact(row.int(7))
            case "estimate": .estimate(row.int(7))
            default: .unknown
            }
        let sweep = row.optionalTime(16).map {
            SweepProgress(
                position: row.optionalInt(14) ?? 0, cursor: row.optionalText(15).map { PageCursor($0) }, startedAt: $0)
        }
        record = QueryRecord(
            id: QueryID(rawValue: row.int64(0)), key: QueryKey(row.text(2), scope: row.text(1)),
            version: ListVersion(generation: row.int(4), revision: row.int(5)), total: total, end: row.optionalInt(8),
            validatedAt: row.optionalTime(10), createdAt: row.time(9), allowsDuplicates: row.bool(11),
            paging: row.text(12), source: row.text(13), sweep: sweep, isPinned: row.bool(17),
            invalidatedAt: row.optionalTime(18), freshFor: row.optionalInt(19).map { .milliseconds($0) },
            window: row.optionalInt(20),
            contentVersion: ContentVersion(counter: min(max(row.int(22), 0), Total.largest), stamp: row.hash(23)))
        nameHash = row.hash(3)
        seal = row.hash(21)
        isInBounds =
            [11, 17].allSatisfy { StoredBounds.flags.contains(row.int($0)) }
            && (sweep != nil || row.optionalInt(14) == nil && row.optionalText(15) == nil)
            && record.total.count == row.optionalInt(7)
            && !hasBlob
        var found = Seal(Seal.query)
        row.mix(21, into: &found)
        sealHolds = found.value == seal
    }

    /// The duration in milliseconds, as it is stored.
    var freshFor: Int? { record.freshFor.map { Int($0.wholeMilliseconds) } }

    var totalKind: String {
        switch record.total {
        case .exact: "exact"
        case .estimate: "estimate"
        case .unknown: "unknown"
        }
    }

    private var computedSeal: UInt64 {
        var seal = Seal(Seal.query)
        seal.mix(record.id.rawValue)
        seal.mix(record.key.scope)
        seal.mix(record.key.text)
        seal.mix(nameHash)
        seal.mix(record.version.generation)
        seal.mix(record.version.revision)
        seal.mix(totalKind)
        seal.mix(record.total.count)
        seal.mix(record.end)
        seal.mix(record.createdAt.milliseconds)
        seal.mix(record.validatedAt)
        seal.mix(record.allowsDuplicates ? 1 : 0)
        seal.mix(record.paging)
        seal.mix(record.source)
        seal.mix(record.sweep?.position)
        seal.mix(record.sweep?.cursor?.text)
        seal.mix(record.sweep?.startedAt)
        seal.mix(record.isPinned ? 1 : 0)
        seal.mix(record.invalidatedAt)
        seal.mix(freshFor)
        seal.mix(record.window)
        return seal.value
    }
}
