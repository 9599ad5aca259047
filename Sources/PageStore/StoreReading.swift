import PageModel

/// The read operations, each inside the caller's read transaction (R2). The asynchronous and the synchronous interface
/// of the store share them.
struct StoreReading {
    let connection: Connection
    let accesses: AccessLog
    let moment: StorageMoment

    init(connection: Connection, accesses: AccessLog, clock: any StorageClock) {
        self.connection = connection
        self.accesses = accesses
        moment = StorageMoment(clock)
    }

    /// Returns every query with an intact record, with its outline and size.
    func summaries() throws(StorageError) -> [QuerySummary] {
        var summaries: [QuerySummary] = []
        for record in try QueryTable.all(in: connection) {
            summaries.append(
                QuerySummary(
                    outline: try outline(record), bytes: try PageTable.bytes(of: record.id, in: connection)))
        }
        return summaries
    }

    func summary(of query: QueryID) throws(StorageError) -> QuerySummary? {
        guard let outline = try outline(of: query) else { return nil }
        return QuerySummary(outline: outline, bytes: try PageTable.bytes(of: query, in: connection))
    }

    /// Returns the part of the list that a refresh needs when it finds no change.
    func state(of key: QueryKey) throws(StorageError) -> ListState? {
        guard let record = try QueryTable.find(key, in: connection) else { return nil }
        var state = ListState(
            record: record, holdings: try JournalTable.holdings(of: record, in: connection),
            failures: try LedgerTable.failures(
                of: record.id, most: ListState.mostFailures, in: connection, at: moment),
            lastLedgerOffset: try LedgerTable.last(of: record.id, in: connection), readAt: moment.now)
        if let row = try PageTable.row(at: 0, of: record.id, in: connection),
            row.summary.generation == record.version.generation
        {
            let content = try BodyTable.content(of: row, in: connection)
            if content != nil, row.summary.count > 0 { accesses.read(row.body) }
            state.pageOne = ListState.PageOne(summary: row.summary, identities: content?.identities)
        } else if state.holdings?.held.headEnd ?? 0 > 0 {
            // The record of page one is damaged, so the other pages must be checked, too.
            state.holdings = nil
        }
        return state
    }

    func outline(of query: QueryID) throws(StorageError) -> ListOutline? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try outline(record)
    }

    /// The outline of a short list, which takes no longer to read than waking a thread does.
    enum ShortOutline: Sendable {
        case list(ListOutline?)
        case tooLong
    }

    func shortOutline(of query: QueryID) throws(StorageError) -> ShortOutline {
        guard let record = try QueryTable.find(query, in: connection) else { return .list(nil) }
        guard try PageTable.isShort(query, in: connection) else { return .tooLong }
        return .list(try outline(record))
    }

    /// Returns the outline of the list, and its items at the ranges that `choose` returns.
    func list(
        of query: QueryID, reading choose: (ListOutline) -> [Range<Int>]
    ) throws(StorageError) -> ListReading? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try list(record, mostItems: .max, reading: choose)
    }

    /// The windows of a short list, which take no longer to read than waking a thread does.
    enum ShortList: Sendable {
        case list(ListReading?)
        case tooLong
    }

    /// Reads a short list. Returns `tooLong` for a list with many pages.
    /// - Parameter mostItems: the largest number of items to read. Returns `tooLong` when `choose` selects more.
    func shortList(
        of query: QueryID, mostItems: Int, reading choose: (ListOutline) -> [Range<Int>]
    ) throws(StorageError) -> ShortList {
        guard let record = try QueryTable.find(query, in: connection) else { return .list(nil) }
        guard try PageTable.isShort(query, in: connection),
            let list = try list(record, mostItems: mostItems, reading: choose)
        else { return .tooLong }
        return .list(list)
    }

    private func list(
        _ record: QueryRecord, mostItems: Int, reading choose: (ListOutline) -> [Range<Int>]
    ) throws(StorageError) -> ListReading? {
        let rows = try PageTable.read(of: record.id, in: connection)
        let outline = try outline(record, rows)
        let ranges = choose(outline)
        guard mostItems == .max || ranges.reduce(0, { $0 + $1.count }) <= mostItems else { return nil }
        var reading = ListReading(outline: outline, windows: [])
        for range in ranges { reading.windows.append(try window(range, of: record, rows)) }
        return reading
    }

    func excerpt(of query: QueryID, _ range: Range<Int>) throws(StorageError) -> ListOutline? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try StoreReading.excerpt(record, range, in: connection, at: moment)
    }

    static func excerpt(
        _ record: QueryRecord, _ range: Range<Int>, in connection: Connection, at moment: StorageMoment
    ) throws(StorageError) -> ListOutline {
        let rows = try PageTable.read(meeting: range, of: record.id, in: connection)
        return ListOutline(
            record: record, pages: rows.rows.map(\.summary),
            ledger: try LedgerTable.entries(of: record.id, in: connection, range, at: moment), damaged: rows.damaged,
            readAt: moment.now)
    }

    /// Returns the items at `range`. Items whose bytes do not match their checksum count as damaged and are left out.
    func window(of query: QueryID, _ range: Range<Int>) throws(StorageError) -> ListWindow? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try window(
            range, of: record, range.isEmpty ? PageRows() : PageTable.read(meeting: range, of: query, in: connection))
    }

    /// Returns the window of `range`, with the items of these pages.
    /// - Parameter rows: the rows of pages that hold positions in `range`. May include other rows.
    private func window(_ range: Range<Int>, of record: QueryRecord, _ rows: PageRows) throws(StorageError)
        -> ListWindow
    {
        var window = ListWindow(record: record, range: range, parts: [], damaged: [], readAt: moment.now)
        for row in rows.rows where row.summary.count > 0 && row.summary.range.overlaps(range) {
            let page = row.summary
            let wanted = page.range.clamped(to: range)
            guard let content = try BodyTable.content(of: row, in: connection) else {
                window.damaged.append(wanted)
                continue
            }
            accesses.read(row.body)
            let part = wanted.lowerBound - page.offset..<wanted.upperBound - page.offset
            window.parts.append(
                ListWindow.Part(
                    offset: wanted.lowerBound, content: content.slice(part),
                    isHeld: page.generation == record.version.generation, validatedAt: page.validatedAt))
        }
        guard !rows.damaged.isEmpty else { return window }
        var known = rows
        known.restrict(to: range)
        // Positions beyond the end of the list are not damaged.
        let length = record.end ?? record.total.count ?? .max
        window.damaged += known.damaged.map { $0.lowerBound..<max($0.lowerBound, min($0.upperBound, length)) }
        window.damaged.sort { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
        return window
    }

    /// Returns the page that starts at `offset`. Returns nil when no page starts there, or when it is damaged.
    func page(at offset: Int, of query: QueryID) throws(StorageError) -> StoredPage? {
        guard let row = try PageTable.row(at: offset, of: query, in: connection),
            let content = try BodyTable.content(of: row, in: connection)
        else { return nil }
        accesses.read(row.body)
        return StoredPage(summary: row.summary, content: content)
    }

    func locate(_ keys: Set<UInt64>, in query: QueryID) throws(StorageError) -> [UInt64: ItemPlace] {
        guard let record = try QueryTable.find(query, in: connection) else { return [:] }
        return try IdentityTable.locate(keys, in: record, connection)
    }

    /// Returns the changes of a list since `version` (R48).
    func changes(of query: QueryID, since version: ContentVersion, limit: Int) throws(StorageError) -> ListChanges? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try JournalTable.changes(
            of: query, since: version, current: record.contentVersion, limit: limit, in: connection)
    }

    func outline(_ record: QueryRecord) throws(StorageError) -> ListOutline {
        try outline(record, try PageTable.read(of: record.id, in: connection))
    }

    private func outline(_ record: QueryRecord, _ rows: PageRows) throws(StorageError) -> ListOutline {
        var outline = ListOutline(
            record: record, pages: rows.rows.map(\.summary),
            ledger: try LedgerTable.entries(of: record.id, in: connection, at: moment), readAt: moment.now)
        guard !rows.damaged.isEmpty else { return outline }
        // Damage after the last readable page hides an unknown number of positions. The length of the list limits it
        // where it is known.
        let length = outline.length
        outline.damaged = rows.damaged.map { $0.lowerBound..<max($0.lowerBound, min($0.upperBound, length)) }
        return outline
    }

    func damage(of query: QueryID, thoroughly: Bool) throws(StorageError) -> StorageDamage {
        guard let record = try QueryTable.find(query, in: connection) else { return StorageDamage() }
        let rows = try PageTable.read(of: query, in: connection)
        var damage = StorageDamage()
        // A damaged record is replaced when the page at its position is stored. One that remains was in another place.
        damage.isStructural = !rows.damaged.isEmpty
        if thoroughly, !damage.isStructural { damage.isStructural = try !StoreTrees.areReadable(in: connection) }
        let present = thoroughly ? [] : try BodyTable.present(of: query, in: connection)
        for row in rows.rows where row.summary.count > 0 && row.summary.generation == record.version.generation {
            if present.contains(row.summary.offset) { continue }
            let isServable =
                thoroughly
                ? try BodyTable.content(of: row, in: connection) != nil : try BodyTable.isThere(row, in: connection)
            if !isServable { damage.pages.append(row.summary.range) }
        }
        return damage
    }
}
