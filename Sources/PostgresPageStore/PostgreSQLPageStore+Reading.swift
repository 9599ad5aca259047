#if PostgreSQL
public import PageModel

// Each read of a list returns its state as of one commit (R2). Most reads take one round trip.
extension PostgreSQLPageStore {
    public func query(_ key: QueryKey) async throws(StorageError) -> QueryRecord? {
        let rows = try await server.read((ListRow.byKey, PostgreSQLPageStore.values(of: key)))
        return try rows.first.map { row throws(StorageError) in try whole(ListRow.read(row)).record }
    }

    static func values(of key: QueryKey) -> [Value] { [.string(key.scope), .string(key.text)] }

    private static let ledgerOfKey = SQL(
        """
        SELECT \(LedgerRow.columns) FROM @ledger WHERE query = (\(idOfKey))
        AND state IN ('failed_retryable', 'failed_permanent') ORDER BY start LIMIT $3
        """)
    private static let lastOfKey = SQL(
        "SELECT start FROM @ledger WHERE query = (\(idOfKey)) ORDER BY start DESC LIMIT 1")
    private static let pageOneOfKey = SQL(
        """
        SELECT \(PageRow.qualified), b.layout, b.payload
        FROM @page AS p LEFT JOIN @body AS b ON b.query = p.query AND b.id = p.body
        WHERE p.query = (\(idOfKey)) AND p.start = 0
        """)
    private static let idOfKey = """
        SELECT id FROM @query
        WHERE sha256(int4send(octet_length(scope)) || scope || key) = sha256(int4send(octet_length($1::bytea)) || $1 || $2)
        """

    public func state(of key: QueryKey) async throws(StorageError) -> ListState? {
        let values = PostgreSQLPageStore.values(of: key)
        let found = try await server.read([
            (ListRow.byKey, values), Server.readTime, (PostgreSQLPageStore.pageOneOfKey, values),
            (PostgreSQLPageStore.ledgerOfKey, values + [.int(ListState.mostFailures + 1)]),
            (PostgreSQLPageStore.lastOfKey, values),
        ])
        guard let row = found[0].first else { return nil }
        let list = try whole(ListRow.read(row))
        let moment = server.moment(found[1])
        var state = ListState(
            record: list.record, holdings: list.holdings,
            failures: found[3].count <= ListState.mostFailures
                ? found[3].all.compactMap { LedgerRow.entry($0, at: moment) } : nil,
            lastLedgerOffset: found[4].first?.int(0), readAt: moment.now)
        if let row = found[2].first, let page = PageRow(row, of: list.record.id),
            page.summary.generation == list.record.version.generation
        {
            let content = BodyRow.content(of: page, row, at: PageRow.columnCount)
            if content != nil, page.summary.count > 0 { noteRead(page.body, of: list.record.id) }
            state.pageOne = ListState.PageOne(summary: page.summary, identities: content?.identities)
        } else if list.holdings?.held.headEnd ?? 0 > 0 {
            // The holdings include position 0, but page one is missing, damaged or of an older generation. Unknown
            // holdings make the caller read the pages.
            state.holdings = nil
        }
        return state
    }

    func noteRead(_ body: Int64, of query: QueryID) {
        accesses.read(ReadBody(query: query.rawValue, body: body))
    }

    public func records() async throws(StorageError) -> [QueryRecord] {
        try await server.read((ListRow.all, []), .long).all.compactMap {
            let read = ListRow.read($0)
            return read.isWhole ? read.row.record : nil
        }
    }

    static let overview: [WriteBatch.Request] = [
        (ListRow.all, []), Server.readTime, (PageRow.ofEveryList, []), (LedgerRow.ofEveryList, []),
    ]

    public func summaries() async throws(StorageError) -> [QuerySummary] {
        summaries(try await server.read(PostgreSQLPageStore.overview, .long))
    }

    func summaries(_ found: [Rows]) -> [QuerySummary] {
        let moment = server.moment(found[1])
        var pages = Dictionary(grouping: found[2].all) { $0.int64(0) }
        var entries = Dictionary(grouping: found[3].all) { $0.int64(LedgerRow.columnCount) }
        return found[0].all.compactMap { row in
            let read = ListRow.read(row)
            guard read.isWhole else { return nil }
            let id = read.row.record.id
            let rows = pages.removeValue(forKey: id.rawValue) ?? []
            return QuerySummary(
                outline: outline(
                    read.row.record, PageRows(rows, of: id, from: 1), entries.removeValue(forKey: id.rawValue) ?? [],
                    at: moment),
                bytes: rows.reduce(0) { $0 + min(max($1.int(5), 0), StoredBounds.sizes.upperBound >> 8) })
        }
    }

    /// Returns one query with its outline and size, without a read of the other queries. Returns nil when the query is
    /// not stored.
    /// - Throws: `StorageError`, as every read does.
    public func summary(of query: QueryID) async throws(StorageError) -> QuerySummary? {
        let found = try await server.read(PostgreSQLPageStore.outline(of: query), .long)
        guard let outline = try outline(found) else { return nil }
        return QuerySummary(
            outline: outline,
            bytes: found[2].all.reduce(0) { $0 + min(max($1.int(4), 0), StoredBounds.sizes.upperBound >> 8) })
    }

    static func outline(of query: QueryID) -> [WriteBatch.Request] {
        let id = Value.integer(query.rawValue)
        return [
            (ListRow.byID, [id]), Server.readTime, (PageRow.all, [id]),
            (LedgerRow.within, [id, .integer(0), .integer(.max)]),
        ]
    }

    public func outline(of query: QueryID) async throws(StorageError) -> ListOutline? {
        try outline(try await server.read(PostgreSQLPageStore.outline(of: query), .long))
    }

    func outline(_ found: [Rows]) throws(StorageError) -> ListOutline? {
        guard let row = found[0].first else { return nil }
        let record = try whole(ListRow.read(row)).record
        return outline(
            record, PageRows(found[2].all, of: record.id), Array(found[3].all), at: server.moment(found[1]))
    }

    func outline(
        _ record: QueryRecord, _ rows: PageRows, _ ledger: [Row], at moment: StorageMoment
    ) -> ListOutline {
        var outline = ListOutline(
            record: record, pages: rows.rows.map(\.summary),
            ledger: ledger.compactMap { LedgerRow.entry($0, at: moment) }, readAt: moment.now)
        guard !rows.damaged.isEmpty else { return outline }
        // Damage after the last readable page hides an unknown number of positions. The length of the list, if it is
        // known, limits that number.
        let length = outline.length
        outline.damaged = rows.damaged.map { $0.lowerBound..<max($0.lowerBound, min($0.upperBound, length)) }
        return outline
    }

    public func excerpt(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListOutline? {
        let found = try await server.read(
            [(ListRow.byID, [.integer(query.rawValue)]), Server.readTime]
                + ExcerptReading.requests(range, of: query))
        guard let row = found[0].first else { return nil }
        return ExcerptReading.outline(
            try whole(ListRow.read(row)).record, range, found[2], found[3], at: server.moment(found[1]))
    }

    public func window(of query: QueryID, _ range: Range<Int>) async throws(StorageError) -> ListWindow? {
        if let copy, !range.isEmpty {
            return try await pages(range, of: query, copy).map {
                window(range, of: $0.record, $0.rows, $0.contents, at: $0.readAt)
            }
        }
        let found = try await server.read([
            (ListRow.byID, [.integer(query.rawValue)]), Server.readTime, PostgreSQLPageStore.pages(of: query, range),
        ])
        guard let row = found[0].first else { return nil }
        return window(range, of: try whole(ListRow.read(row)).record, found[2], at: server.moment(found[1]).now)
    }

    static func pages(of query: QueryID, _ range: Range<Int>) -> WriteBatch.Request {
        (BodyRow.pages, [.integer(query.rawValue), .int(range.lowerBound), .int(range.upperBound)])
    }

    func window(
        _ range: Range<Int>, of record: QueryRecord, _ found: Rows, at now: Timestamp
    ) -> ListWindow {
        let rows = PageRows(found.all, of: record.id)
        var bodies: [Int64: Row] = [:]
        for row in found.all { bodies[row.int64(2)] = row }
        var contents: [Int64: PageContent] = [:]
        for row in rows.rows where row.summary.count > 0 && row.summary.range.overlaps(range) {
            contents[row.body] = bodies[row.body].flatMap { BodyRow.content(of: row, $0, at: PageRow.columnCount) }
        }
        return window(range, of: record, rows, contents, at: now)
    }

    /// - Parameter contents: the items of each page, by the number of the page's body. A page without an entry is left
    ///   out, and its positions are reported as damaged.
    func window(
        _ range: Range<Int>, of record: QueryRecord, _ rows: PageRows, _ contents: [Int64: PageContent],
        at now: Timestamp
    ) -> ListWindow {
        var window = ListWindow(record: record, range: range, parts: [], damaged: [], readAt: now)
        for row in rows.rows where row.summary.count > 0 && row.summary.range.overlaps(range) {
            let page = row.summary
            let wanted = page.range.clamped(to: range)
            guard let content = contents[row.body] else {
                window.damaged.append(wanted)
                continue
            }
            noteRead(row.body, of: record.id)
            window.parts.append(
                ListWindow.Part(
                    offset: wanted.lowerBound,
                    content: content.slice(wanted.lowerBound - page.offset..<wanted.upperBound - page.offset),
                    isHeld: page.generation == record.version.generation, validatedAt: page.validatedAt))
        }
        guard !rows.damaged.isEmpty else { return window }
        var rows = rows
        rows.restrict(to: range)
        // Positions beyond the end of the list are not damaged.
        let length = record.end ?? record.total.count ?? .max
        window.damaged += rows.damaged.map { $0.lowerBound..<max($0.lowerBound, min($0.upperBound, length)) }
        window.damaged.sort { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
        return window
    }

    public func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        if let copy { return try await list(of: query, copy, reading: choose) }
        return try await server.reading { work async throws(StorageError) in
            let found = try await work.read(PostgreSQLPageStore.outline(of: query))
            guard let outline = try self.outline(found) else {
                try await work.commit()
                return nil
            }
            let ranges = choose(outline)
            var windows: [Rows] = []
            for range in ranges { work.add(PostgreSQLPageStore.pages(of: query, range)) { windows.append($0) } }
            try await work.commit()
            let now = self.server.moment(found[1]).now
            return ListReading(
                outline: outline,
                windows: zip(ranges, windows).map { self.window($0, of: outline.record, $1, at: now) })
        }
    }

    /// Returns the page that starts at `offset`, with its items. Returns nil when no page starts there, or when its
    /// bytes are damaged.
    /// - Throws: `StorageError`, as every read does.
    public func page(at offset: Int, of query: QueryID) async throws(StorageError) -> StoredPage? {
        guard offset >= 0, offset < .max else { return nil }
        if let copy {
            guard let read = try await pages(offset..<offset + 1, of: query, copy),
                let row = read.rows.rows.first(where: { $0.summary.offset == offset }),
                let content = read.contents[row.body]
            else { return nil }
            noteRead(row.body, of: query)
            return StoredPage(summary: row.summary, content: content)
        }
        let found = try await server.read(PostgreSQLPageStore.pages(of: query, offset..<offset + 1))
        for row in found.all {
            guard let page = PageRow(row, of: query), page.summary.offset == offset,
                let content = BodyRow.content(of: page, row, at: PageRow.columnCount)
            else { continue }
            noteRead(page.body, of: query)
            return StoredPage(summary: page.summary, content: content)
        }
        return nil
    }

    public func locate(_ keys: Set<UInt64>, in query: QueryID) async throws(StorageError) -> [UInt64: ItemPlace] {
        guard !keys.isEmpty else { return [:] }
        let id = Value.integer(query.rawValue)
        let found = try await server.read([
            (ListRow.byID, [id]),
            (BodyRow.locating, [id, .integers(keys.map { BodyRow.key($0, in: query) })]),
        ])
        guard let row = found[0].first else { return [:] }
        let generation = try whole(ListRow.read(row)).record.version.generation
        var places: [UInt64: ItemPlace] = [:]
        for row in found[1].all {
            guard let page = PageRow(row, of: query), page.summary.generation == generation,
                let identities = BodyRow.identities(row, in: query, from: PageRow.columnCount)
            else { continue }
            for (index, identity) in identities.enumerated() where keys.contains(identity.key) {
                let position = page.summary.offset + index
                guard position < places[identity.key]?.position ?? .max else { continue }
                places[identity.key] = ItemPlace(position: position, content: identity.content)
            }
        }
        return places
    }

    public func due(within: Duration, limit: Int) async throws(StorageError) -> DueReading {
        // Due times are compared with the storage's time. That time is read first if it is the server's.
        let moment = try await { () async throws(StorageError) in
            if let moment = self.server.moment { return moment }
            return self.server.moment(try await self.server.read(Server.readTime))
        }()
        let rows = try await server.read(
            (LedgerRow.due, [.time((moment.now + within).stored), .int(max(0, limit))]), .long)
        let fetches = rows.all.compactMap { row in
            LedgerRow.entry(row, at: moment).map {
                DueFetch(query: QueryID(rawValue: row.int64(LedgerRow.columnCount)), entry: $0)
            }
        }
        return DueReading(fetches, readAt: moment.now)
    }
}

/// Identifies the body of a page that was read: its row of the table `body`.
struct ReadBody: Hashable, Sendable {
    var query: Int64
    var body: Int64
}
#endif
