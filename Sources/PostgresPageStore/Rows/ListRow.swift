#if PostgreSQL
import PageModel

/// A row of the table `query`: the record of a list with its version, its holdings, the size of its journal, and the
/// number of its next body.
struct ListRow: Sendable {
    var record: QueryRecord
    /// The holdings. `nil` means that they are not known.
    var holdings: ListHoldings?
    /// The sum of the costs of the journal's entries.
    var journalBytes: Int
    var nextBody: Int64

    static let columns = """
        id, scope, key, name_hash, generation, revision, total_kind, total, list_end, created_at, validated_at, \
        invalidated_at, fresh_for, allows_duplicates, paging, source, sweep_position, sweep_cursor, sweep_started_at, \
        pinned, origin_window, last_audit_at, unproven, counter, stamp, journal_bytes, holdings, next_body, seal
        """

    /// The row of a newly registered list.
    init(_ record: QueryRecord) {
        self.record = record
        holdings = ListHoldings()
        journalBytes = 0
        nextBody = 1
    }

    /// A row as it was read.
    struct Read {
        var row: ListRow
        /// Whether the row is unchanged since it was written, and all its numbers are in bounds.
        var isWhole: Bool
        /// Whether at least id, scope and key are unchanged.
        var hasItsName: Bool
    }

    static func read(_ row: Row) -> Read {
        let total: ListTotal =
            switch row.word(6) {
            case "exact": .exact(row.int(7))
            case "estimate": .estimate(row.int(7))
            default: .unknown
            }
        let sweep = row.optionalTime(18).map {
            SweepProgress(
                position: row.optionalInt(16) ?? 0, cursor: row.text(17).map { PageCursor($0) }, startedAt: $0)
        }
        let record = QueryRecord(
            id: QueryID(rawValue: row.int64(0)), key: QueryKey(row.text(2) ?? "", scope: row.text(1) ?? ""),
            version: ListVersion(generation: row.int(4), revision: row.int(5)), total: total, end: row.optionalInt(8),
            validatedAt: row.optionalTime(10), createdAt: row.time(9), allowsDuplicates: row.bool(13),
            paging: row.text(14) ?? "", source: row.text(15) ?? "", sweep: sweep, isPinned: row.bool(19),
            invalidatedAt: row.optionalTime(11), freshFor: row.optionalInt(12).map { .milliseconds($0) },
            resultWindow: row.optionalInt(20), lastAuditAt: row.optionalTime(21), isUnproven: row.bool(22),
            contentVersion: ContentVersion(counter: row.int(23), stamp: row.hash(24)))
        var read = ListRow(record)
        read.holdings = row.rows.withBytes(row.index, 26) { $0.flatMap { HoldingsCodec.decode($0) } }
        read.journalBytes = row.int(25)
        read.nextBody = row.int64(27)
        let checked = ChecksummedQuery(
            record, nameHash: row.hash(3), seal: 0, sealHolds: read.seal == row.hash(28),
            isInBounds: (1...ListTotal.largest).contains(record.contentVersion.counter)
                && StoredBounds.sizes.contains(read.journalBytes) && read.nextBody > 0 && read.nextBody < .max >> 1)
        return Read(row: read, isWhole: checked.isWhole, hasItsName: checked.hasItsName)
    }

    private var heldBytes: [UInt8]? { holdings?.kept.map { HoldingsCodec.encode($0) } }

    var seal: UInt64 {
        var seal = RowChecksum(RowChecksum.query)
        seal.mix(ChecksummedQuery(record).seal)
        seal.mix(record.contentVersion.counter)
        seal.mix(record.contentVersion.stamp)
        seal.mix(journalBytes)
        if let heldBytes { heldBytes.withUnsafeBytes { seal.mix($0) } } else { seal.mixNull() }
        seal.mix(nextBody)
        return seal.value
    }

    // MARK: Statements

    static let byID = SQL("SELECT \(columns) FROM @query WHERE id = $1")
    static let byIDLocked = SQL("SELECT \(columns) FROM @query WHERE id = $1 FOR UPDATE")
    static let byKey = SQL(
        """
        SELECT \(columns) FROM @query
        WHERE sha256(int4send(octet_length(scope)) || scope || key) = sha256(int4send(octet_length($1::bytea)) || $1 || $2)
        """)
    static let all = SQL("SELECT \(columns) FROM @query ORDER BY id")
    private static let insert = SQL(
        """
        INSERT INTO @query (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
            $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29) ON CONFLICT DO NOTHING
        """)
    private static let update = SQL(
        """
        UPDATE @query SET (scope, key, name_hash, generation, revision, total_kind, total, list_end, created_at,
            validated_at, invalidated_at, fresh_for, allows_duplicates, paging, source, sweep_position, sweep_cursor,
            sweep_started_at, pinned, origin_window, last_audit_at, unproven, counter, stamp, journal_bytes, holdings,
            next_body, seal)
            = ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
            $25, $26, $27, $28, $29) WHERE id = $1
        """)
    /// Writes the columns that are no part of the record, and the version. A commit that changes nothing else does not
    /// write the long texts of the record again.
    private static let updateVersion = SQL(
        "UPDATE @query SET counter = $2, stamp = $3, journal_bytes = $4, holdings = $5, next_body = $6, seal = $7 WHERE id = $1"
    )

    private var values: [Value] {
        let sealed = ChecksummedQuery(record)
        return [
            .integer(record.id.rawValue), .string(record.key.scope), .string(record.key.text), .hash(sealed.nameHash),
            .int(record.version.generation), .int(record.version.revision), .text(sealed.totalKind),
            .int(record.total.count), .int(record.end), .time(record.createdAt), .time(record.validatedAt),
            .time(record.invalidatedAt), .int(sealed.freshFor), .bool(record.allowsDuplicates),
            .string(record.paging), .string(record.source), .int(record.sweep?.position),
            .string(record.sweep?.cursor?.text), .time(record.sweep?.startedAt), .bool(record.isPinned),
            .int(record.resultWindow), .time(record.lastAuditAt), .bool(record.isUnproven),
            .int(record.contentVersion.counter),
            .hash(record.contentVersion.stamp), .int(journalBytes), heldBytes.map { .bytes($0) } ?? .null,
            .integer(nextBody), .hash(seal),
        ]
    }

    var insertion: (SQL, [Value]) { (ListRow.insert, values) }

    /// The statement that writes every column.
    var rewriting: (SQL, [Value]) { (ListRow.update, values) }

    /// Returns the statement that updates the row.
    /// - Parameter before: the record that the row holds now.
    func saving(over before: QueryRecord) -> (SQL, [Value]) {
        var same = before
        same.contentVersion = record.contentVersion
        guard same == record else { return (ListRow.update, values) }
        return (
            ListRow.updateVersion,
            [
                .integer(record.id.rawValue), .int(record.contentVersion.counter),
                .hash(record.contentVersion.stamp), .int(journalBytes), heldBytes.map { .bytes($0) } ?? .null,
                .integer(nextBody), .hash(seal),
            ]
        )
    }
}
#endif
