import PageModel

/// A row of `page`, with the body it points to.
struct PageRow {
    var summary: PageSummary
    var body: Int64
}

/// Rows of `page`, and the `body` and `identity` rows that belong to them.
enum PageTable {
    private static let columns = """
        offset, count, body, generation, revision, evidence, evidence_at, seams, fetched_at, validated_at, \
        fingerprint, cursor_in, cursor_out, request, entity_tag, last_modified, covers_total
        """

    static func summaries(of query: QueryID, in connection: Connection) throws(StorageError) -> [PageSummary] {
        var pages: [PageSummary] = []
        try connection.each(
            "SELECT \(columns) FROM page WHERE query = ? ORDER BY offset", .int(query.rawValue)
        ) { row throws(StorageError) in
            pages.append(try pageRow(row).summary)
        }
        return pages
    }

    static func bytes(of query: QueryID, in connection: Connection) throws(StorageError) -> Int {
        try connection.first("SELECT total(bytes) FROM page WHERE query = ?", .int(query.rawValue)) {
            row throws(StorageError) in row.int(0)
        } ?? 0
    }

    /// The pages that hold positions in `range`, ascending. An empty page is found at its own offset.
    static func rows(
        meeting range: Range<Int>, of query: QueryID, in connection: Connection
    ) throws(StorageError) -> [PageRow] {
        var rows: [PageRow] = []
        // Pages do not overlap (R5), so at most one that starts before the range reaches into it.
        try connection.each(
            """
            SELECT \(columns) FROM page
            WHERE query = ?1 AND offset < ?3
              AND offset >= coalesce((SELECT max(offset) FROM page WHERE query = ?1 AND offset <= ?2), 0)
            ORDER BY offset
            """, .int(query.rawValue), .int(range.lowerBound), .int(max(range.upperBound, range.lowerBound + 1))
        ) { row throws(StorageError) in
            let found = try pageRow(row)
            let isEmptyHere = found.summary.count == 0 && found.summary.offset >= range.lowerBound
            if isEmptyHere || found.summary.range.overlaps(range) { rows.append(found) }
        }
        return rows
    }

    /// The page that starts at `offset`.
    static func row(at offset: Int, of query: QueryID, in connection: Connection) throws(StorageError) -> PageRow? {
        try connection.first(
            "SELECT \(columns) FROM page WHERE query = ? AND offset = ?", .int(query.rawValue), .int(offset)
        ) { row throws(StorageError) in try pageRow(row) }
    }

    /// Writes a page with its items; returns its body. The summary's fingerprint must be the content's.
    @discardableResult
    static func insert(
        _ summary: PageSummary, _ content: PageContent, identities: [ItemIdentity], query: QueryID,
        in connection: Connection
    ) throws(StorageError) -> Int64 {
        let layout = BodyCodec.layout(of: content)
        let checksum = BodyCodec.checksum(layout: layout, payload: content.bytes, query: query)
        try connection.run(
            "INSERT INTO body (layout, payload, checksum) VALUES (?, ?, ?)", .blob(layout), .blob(content.bytes),
            .hash(checksum))
        let body = connection.lastInsertedRow
        try connection.run(
            "INSERT INTO identity (query, body, hashes) VALUES (?, ?, ?)", .int(query.rawValue), .int(body),
            .blob(BodyCodec.hashes(of: identities)))
        try connection.run(
            """
            INSERT INTO page (query, bytes, \(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            .int(query.rawValue), .int(layout.count + content.bytes.count), .int(summary.offset), .int(summary.count),
            .int(body), .int(summary.generation), .int(summary.revision), .text(summary.evidence.rawValue),
            .time(summary.evidenceAt), encoded(summary.innerInferredSeams), .time(summary.fetchedAt),
            .time(summary.validatedAt), .hash(summary.fingerprint), .optional(summary.cursorIn?.text),
            .optional(summary.cursorOut?.text), .optional(summary.validator?.request),
            .optional(summary.validator?.entityTag), .optional(summary.validator?.lastModified),
            .bool(summary.validator?.coversTotal ?? false))
        return body
    }

    /// The items of a page; nil when their bytes are not what was stored.
    static func content(
        of row: PageRow, query: QueryID, in connection: Connection
    ) throws(StorageError) -> PageContent? {
        let stored = try connection.first(
            "SELECT layout, payload, checksum FROM body WHERE id = ?", .int(row.body)
        ) { row throws(StorageError) in (layout: row.blob(0), payload: row.blob(1), checksum: row.hash(2)) }
        guard let stored,
            BodyCodec.checksum(layout: stored.layout, payload: stored.payload, query: query) == stored.checksum,
            let content = BodyCodec.content(layout: stored.layout, payload: stored.payload),
            content.count == row.summary.count
        else { return nil }
        return content
    }

    /// Makes a page of an older generation one of the current one, with what came with its items this time.
    static func revive(
        _ row: PageRow, as page: PageWrite, in record: QueryRecord, at now: Timestamp, _ connection: Connection
    ) throws(StorageError) {
        try connection.run(
            """
            UPDATE page SET generation = ?, revision = ?, evidence = ?, evidence_at = ?, seams = NULL, fetched_at = ?,
                validated_at = ?, cursor_in = ?, cursor_out = ?, request = ?, entity_tag = ?, last_modified = ?, covers_total = ?
            WHERE query = ? AND offset = ?
            """,
            .int(record.version.generation), .int(record.version.revision),
            .text((page.offset == 0 ? Evidence.verified : page.evidence).rawValue), .time(now), .time(now), .time(now),
            .optional(page.cursorIn?.text), .optional(page.cursorOut?.text), .optional(page.validator?.request),
            .optional(page.validator?.entityTag), .optional(page.validator?.lastModified),
            .bool(page.validator?.coversTotal ?? false), .int(record.id.rawValue), .int(page.offset))
    }

    static func delete(_ row: PageRow, query: QueryID, in connection: Connection) throws(StorageError) {
        try connection.run("DELETE FROM body WHERE id = ?", .int(row.body))
        try connection.run("DELETE FROM identity WHERE query = ? AND body = ?", .int(query.rawValue), .int(row.body))
        try connection.run(
            "DELETE FROM page WHERE query = ? AND offset = ?", .int(query.rawValue), .int(row.summary.offset))
    }

    /// Deletes every page whose row satisfies the condition; `argument` is its second parameter.
    static func deleteAll(
        where condition: StaticString, _ argument: Int, query: QueryID, in connection: Connection
    ) throws(StorageError) {
        let query = SQLValue.int(query.rawValue)
        let bodies = "SELECT body FROM page WHERE query = ?1 AND \(condition)"
        try connection.run("DELETE FROM body WHERE id IN (\(bodies))", query, .int(argument))
        try connection.run("DELETE FROM identity WHERE query = ?1 AND body IN (\(bodies))", query, .int(argument))
        try connection.run("DELETE FROM page WHERE query = ?1 AND \(condition)", query, .int(argument))
    }

    private static func encoded(_ seams: [Int]) -> SQLValue {
        seams.isEmpty ? .null : .blob(seams.flatMap { withUnsafeBytes(of: UInt32($0).littleEndian, Array.init) })
    }

    private static func pageRow(_ row: borrowing Row) throws(StorageError) -> PageRow {
        // A hostile or damaged store must not make numbers overflow (R46).
        for column in [0, 1, 3, 4] where row.int(column) < 0 || row.int(column) > Total.largest {
            throw StorageError(.damaged, "a page record has impossible numbers")
        }
        let seams = row.withBlob(7) { bytes in
            (0..<bytes.count / 4).map { Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self))) }
        }
        let validator = row.optionalText(13).map {
            Validator(
                request: $0, entityTag: row.optionalText(14), lastModified: row.optionalText(15),
                coversTotal: row.bool(16))
        }
        return PageRow(
            summary: PageSummary(
                offset: row.int(0),
                count: row.int(1),
                generation: row.int(3),
                revision: row.int(4),
                evidence: Evidence(rawValue: row.text(5)) ?? .inferred,
                evidenceAt: row.time(6),
                innerInferredSeams: seams,
                fetchedAt: row.time(8),
                validatedAt: row.time(9),
                fingerprint: row.hash(10),
                cursorIn: row.optionalText(11).map { PageCursor($0) },
                cursorOut: row.optionalText(12).map { PageCursor($0) },
                validator: validator),
            body: row.int64(2))
    }
}
