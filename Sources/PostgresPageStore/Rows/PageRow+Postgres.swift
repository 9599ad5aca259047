#if PostgreSQL
import PageModel

extension PageRow {
    static let columns = """
        start, count, body, checksum, bytes, generation, revision, verified, evidence_at, seams, fetched_at, \
        validated_at, fingerprint, cursor_in, cursor_out, request, entity_tag, last_modified, covers_total, \
        validator_hash, seal
        """
    static let columnCount = 21
    /// The names in ``columns``, qualified with the table alias `p`.
    static let qualified = columns.split(separator: ", ").map { "p.\($0)" }.joined(separator: ", ")

    /// Returns the checksum of the row. The start, the revision and the hash of the validator enter the checksum by
    /// XOR, so a shift can update the checksum in SQL. The update keeps a damaged row damaged.
    func serverSeal(in query: QueryID) -> UInt64 {
        var seal = RowChecksum(RowChecksum.page)
        seal.mix(query.rawValue)
        seal.mix(summary.count)
        seal.mix(body)
        seal.mix(checksum)
        seal.mix(bytes)
        seal.mix(summary.generation)
        seal.mix(summary.evidence == .verified ? 1 : 0)
        seal.mix(summary.evidenceAt.milliseconds)
        if summary.innerInferredSeams.isEmpty {
            seal.mixNull()
        } else {
            PageRow.encode(summary.innerInferredSeams).withUnsafeBytes { seal.mix($0) }
        }
        seal.mix(summary.fetchedAt.milliseconds)
        seal.mix(summary.validatedAt.milliseconds)
        seal.mix(summary.fingerprint)
        seal.mix(summary.cursorIn?.text)
        seal.mix(summary.cursorOut?.text)
        return seal.value ^ UInt64(bitPattern: Int64(summary.offset))
            ^ UInt64(bitPattern: Int64(summary.revision)) << 40 ^ PageRow.hash(of: summary.validator)
    }

    private static func hash(of validator: Validator?) -> UInt64 {
        guard let validator else { return 0 }
        var seal = RowChecksum(RowChecksum.page)
        seal.mix(validator.request)
        seal.mix(validator.entityTag)
        seal.mix(validator.lastModified)
        seal.mix(validator.coversTotal ? 1 : 0)
        return seal.value
    }

    /// Decodes a row whose ``columns`` begin at `first`. Returns nil when its seal does not match, or a number is out
    /// of bounds.
    init?(_ row: Row, of query: QueryID, from first: Int = 0) {
        let seams: [InnerSeam]? = row.rows.withBytes(row.index, first + 9) { bytes in
            bytes.map { PageRow.decodeSeams($0) } ?? .some([])
        }
        guard let seams else { return nil }
        let validator = row.text(first + 15).map {
            Validator(
                request: $0, entityTag: row.text(first + 16), lastModified: row.text(first + 17),
                coversTotal: row.bool(first + 18))
        }
        let summary = PageSummary(
            offset: row.int(first), count: row.int(first + 1), generation: row.int(first + 5),
            revision: row.int(first + 6), evidence: row.bool(first + 7) ? .verified : .inferred,
            evidenceAt: row.time(first + 8), innerInferredSeams: seams, fetchedAt: row.time(first + 10),
            validatedAt: row.time(first + 11), fingerprint: row.hash(first + 12),
            cursorIn: row.text(first + 13).map { PageCursor($0) },
            cursorOut: row.text(first + 14).map { PageCursor($0) }, validator: validator)
        self.init(
            summary: summary, body: row.int64(first + 2), checksum: row.hash(first + 3), bytes: row.int(first + 4))
        guard serverSeal(in: query) == row.hash(first + 20), PageRow.hash(of: validator) == row.hash(first + 19),
            isInBounds
        else { return nil }
    }

    // MARK: Statements

    /// Inserts a row of ``values(in:)``.
    static let insertion = RowStatement(
        one: SQL(
            """
            INSERT INTO @page (query, \(columns))
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
            """),
        several: SQL(
            """
            INSERT INTO @page (query, \(columns))
            SELECT $1, r.start, r.count, r.body, r.checksum, r.bytes, r.generation, r.revision, r.verified <> 0,
                r.evidence_at, r.seams, r.fetched_at, r.validated_at, r.fingerprint, r.cursor_in, r.cursor_out, r.request,
                r.entity_tag, r.last_modified, r.covers_total <> 0, r.validator_hash, r.seal
            FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::bigint[], $10::bigint[], $11::bytea[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bytea[],
                $16::bytea[], $17::bytea[], $18::bytea[], $19::bytea[], $20::bigint[], $21::bigint[], $22::bigint[]
            ) AS r(\(columns))
            """))
    private static let update = SQL(
        """
        UPDATE @page SET (count, body, checksum, bytes, generation, revision, verified, evidence_at, seams, fetched_at,
            validated_at, fingerprint, cursor_in, cursor_out, request, entity_tag, last_modified, covers_total,
            validator_hash, seal) = ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
            $21, $22) WHERE query = $1 AND start = $2
        """)

    /// The values of ``columns``.
    func values(in query: QueryID) -> [Value] {
        let seams = summary.innerInferredSeams
        return [
            .int(summary.offset), .int(summary.count), .integer(body), .hash(checksum), .int(bytes),
            .int(summary.generation), .int(summary.revision), .bool(summary.evidence == .verified),
            .time(summary.evidenceAt), seams.isEmpty ? .null : .bytes(PageRow.encode(seams)),
            .time(summary.fetchedAt), .time(summary.validatedAt), .hash(summary.fingerprint),
            .string(summary.cursorIn?.text), .string(summary.cursorOut?.text), .string(summary.validator?.request),
            .string(summary.validator?.entityTag), .string(summary.validator?.lastModified),
            .bool(summary.validator?.coversTotal ?? false), .hash(PageRow.hash(of: summary.validator)),
            .hash(serverSeal(in: query)),
        ]
    }

    /// Returns the statement that replaces the row at the same offset.
    func updating(in query: QueryID) -> (SQL, [Value]) {
        (PageRow.update, [.integer(query.rawValue)] + values(in: query))
    }

    static let deleting = SQL("DELETE FROM @page WHERE query = $1 AND start = $2")
    static let all = SQL("SELECT \(columns) FROM @page WHERE query = $1 ORDER BY start")
    static let ofEveryList = SQL("SELECT query, \(columns) FROM @page ORDER BY query, start")

    /// Returns SQL for the start of the last page of the list $1 that starts at a position or before it. The value is
    /// NULL if there is none.
    ///
    /// The condition compares both columns of the key, so that the server reads one entry of the index of starts. A
    /// plan for `max(start)`, made while the table was new, would read all pages of the list.
    static func lastStart(upTo position: String) -> String {
        """
        (SELECT w.start FROM (
            SELECT query, start FROM @page WHERE (query, start) <= ($1, \(position)) ORDER BY query DESC, start DESC LIMIT 1
        ) AS w WHERE w.query = $1)
        """
    }

    /// Returns SQL for the start of the first page of the list $1 that starts at a position or after it. The value is
    /// NULL if there is none.
    private static func firstStart(from position: String) -> String {
        """
        (SELECT w.start FROM (
            SELECT query, start FROM @page WHERE (query, start) >= ($1, \(position)) ORDER BY query, start LIMIT 1
        ) AS w WHERE w.query = $1)
        """
    }

    // Pages do not overlap (R5), so at most one page that starts before the range reaches into it.
    static let meeting = SQL(
        """
        SELECT \(columns) FROM @page
        WHERE query = $1 AND start < $3 AND start >= coalesce(\(lastStart(upTo: "$2")), 0)
        ORDER BY start
        """)

    /// Returns the request for the pages in several ranges, and for the next page after each range. A page may be in
    /// the result more than once.
    static func meetingAndNext(_ ranges: [Range<Int>], of query: QueryID) -> WriteBatch.Request {
        let id = Value.integer(query.rawValue)
        // The server plans the statement for several ranges each time, and the planning takes as long as the read of
        // one range.
        if ranges.count == 1 { return (meetingOne, [id, .int(ranges[0].lowerBound), .int(ranges[0].upperBound)]) }
        return (
            meetingSome,
            [
                id, .integers(ranges.map { Int64($0.lowerBound) }), .integers(ranges.map { Int64($0.upperBound) }),
            ]
        )
    }

    private static let meetingOne = SQL(
        """
        SELECT \(columns) FROM @page
        WHERE query = $1 AND start <= coalesce(\(firstStart(from: "$3")), $3)
          AND start >= coalesce(\(lastStart(upTo: "$2")), 0)
        ORDER BY start
        """)
    private static let meetingSome = SQL(
        """
        SELECT \(qualified) FROM unnest($2::bigint[], $3::bigint[]) AS r(lower, upper) CROSS JOIN LATERAL (
            SELECT * FROM @page WHERE query = $1
              AND start <= coalesce((SELECT min(start) FROM @page WHERE query = $1 AND start >= r.upper), r.upper)
              AND start >= coalesce((SELECT max(start) FROM @page WHERE query = $1 AND start <= r.lower), 0)
        ) AS p ORDER BY p.start
        """)
    static let older = SQL("SELECT \(columns) FROM @page WHERE query = $1 AND generation < $2 ORDER BY start")

    /// Moves a stretch of pages. The validator of a moved page is void, because its request would now return other
    /// items (R1). A row at a position out of bounds stays there, because the sum could exceed the type.
    static let shifting = SQL(
        """
        UPDATE @page SET start = start + $4, revision = $5, request = NULL, entity_tag = NULL, last_modified = NULL,
            covers_total = false, validator_hash = 0,
            seal = seal # start # (start + $4) # (revision << 40) # ($5::bigint << 40) # validator_hash
        WHERE query = $1 AND start >= $2 AND start < $3 AND start <= \(StoredBounds.positions.upperBound)
        """)
}

extension PageRows {
    /// Decodes the rows of a result, in their order. Records a hole where rows are damaged.
    /// - Parameter first: the column where ``PageRow/columns`` begin. Defaults to 0.
    init(_ rows: some Sequence<Row>, of query: QueryID, from first: Int = 0) {
        var values: [PageRow] = []
        var holes: [Hole] = []
        var isHole = false
        for row in rows {
            guard let value = PageRow(row, of: query, from: first) else {
                isHole = true
                continue
            }
            if isHole { holes.append((values.last.map { Int64($0.summary.offset) }, Int64(value.summary.offset))) }
            isHole = false
            values.append(value)
        }
        if isHole { holes.append((values.last.map { Int64($0.summary.offset) }, nil)) }
        self.init(values, holes: holes)
    }
}
#endif
