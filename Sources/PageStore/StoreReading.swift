import PageModel

/// What can be read, each inside the caller's read transaction (R2). The asynchronous and the synchronous side of the
/// store are both made of these.
struct StoreReading {
    let connection: Connection
    let accesses: AccessLog
    let moment: StorageMoment

    init(connection: Connection, accesses: AccessLog, clock: any StorageClock) {
        self.connection = connection
        self.accesses = accesses
        moment = StorageMoment(clock)
    }

    /// Every query that is whole, with its outline and size.
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

    /// The list as far as a refresh needs it that finds nothing new.
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
            // The record of page one is damaged: the other pages have to be looked at, too.
            state.holdings = nil
        }
        return state
    }

    func outline(of query: QueryID) throws(StorageError) -> ListOutline? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try outline(record)
    }

    /// The outline of a list that is read in the time that it takes to wake a thread.
    enum ShortOutline: Sendable {
        case list(ListOutline?)
        case tooLong
    }

    func shortOutline(of query: QueryID) throws(StorageError) -> ShortOutline {
        guard let record = try QueryTable.find(query, in: connection) else { return .list(nil) }
        guard try PageTable.isShort(query, in: connection) else { return .tooLong }
        return .list(try outline(record))
    }

    /// The list, and what `choose` picks of it.
    func list(
        of query: QueryID, reading choose: (ListOutline) -> [Range<Int>]
    ) throws(StorageError) -> ListReading? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try list(record, mostItems: .max, reading: choose)
    }

    /// What comes of a list that is to be read in the time that it takes to wake a thread.
    enum ShortList: Sendable {
        case list(ListReading?)
        case tooLong
    }

    /// - Parameter mostItems: of more than these, nothing is read.
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

    /// The items at `range`. Bytes that are not those that were stored are a miss, never an answer.
    func window(of query: QueryID, _ range: Range<Int>) throws(StorageError) -> ListWindow? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try window(
            range, of: record, range.isEmpty ? PageRows() : PageTable.read(meeting: range, of: query, in: connection))
    }

    /// - Parameter rows: those that hold positions in `range`, and maybe others.
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
        // Positions beyond the end of the list are not missing.
        let length = record.end ?? record.total.count ?? .max
        window.damaged += known.damaged.map { $0.lowerBound..<max($0.lowerBound, min($0.upperBound, length)) }
        window.damaged.sort { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }
        return window
    }

    /// The page that starts at `offset`; nil when none does, or when it is damaged.
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

    /// What changed since `version` (R48).
    func changes(of query: QueryID, since version: ContentVersion, limit: Int) throws(StorageError) -> ListChanges? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try JournalTable.changes(
            of: query, since: version, current: record.contentVersion, limit: limit, in: connection)
    }

    private func outline(_ record: QueryRecord) throws(StorageError) -> ListOutline {
        try outline(record, try PageTable.read(of: record.id, in: connection))
    }

    private func outline(_ record: QueryRecord, _ rows: PageRows) throws(StorageError) -> ListOutline {
        var outline = ListOutline(
            record: record, pages: rows.rows.map(\.summary),
            ledger: try LedgerTable.entries(of: record.id, in: connection, at: moment), readAt: moment.now)
        guard !rows.damaged.isEmpty else { return outline }
        // How many positions are lost behind the last page that can be read is unknown, unless the list's length is
        // known.
        let length = outline.length
        outline.damaged = rows.damaged.map { $0.lowerBound..<max($0.lowerBound, min($0.upperBound, length)) }
        return outline
    }

    func damage(of query: QueryID, thoroughly: Bool) throws(StorageError) -> StorageDamage {
        guard let record = try QueryTable.find(query, in: connection) else { return StorageDamage() }
        let rows = try PageTable.read(of: query, in: connection)
        var damage = StorageDamage()
        if !rows.damaged.isEmpty { damage.isStructural = try PageTable.isTreeDamaged(of: query, in: connection) }
        if thoroughly, !damage.isStructural { damage.isStructural = try !StoreTrees.areReadable(in: connection) }
        for row in rows.rows where row.summary.count > 0 && row.summary.generation == record.version.generation {
            let isServable =
                thoroughly
                ? try BodyTable.content(of: row, in: connection) != nil : try BodyTable.isThere(row, in: connection)
            if !isServable { damage.pages.append(row.summary.range) }
        }
        return damage
    }
}
