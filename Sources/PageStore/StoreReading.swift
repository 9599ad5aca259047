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
        guard try PageTable.isShort(query, in: connection), let list = try list(record, mostItems: mostItems, reading: choose)
        else { return .tooLong }
        return .list(list)
    }

    private func list(
        _ record: QueryRecord, mostItems: Int, reading choose: (ListOutline) -> [Range<Int>]
    ) throws(StorageError) -> ListReading? {
        let rows = try PageTable.rows(of: record.id, in: connection)
        let outline = ListOutline(
            record: record, pages: rows.map(\.summary), ledger: try LedgerTable.entries(of: record.id, in: connection, at: moment),
            readAt: moment.now)
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
        ListOutline(
            record: record, pages: try PageTable.rows(meeting: range, of: record.id, in: connection).map(\.summary),
            ledger: try LedgerTable.entries(of: record.id, in: connection, range, at: moment), readAt: moment.now)
    }

    /// The items at `range`. Bytes that are not those that were stored are a miss, never an answer.
    func window(of query: QueryID, _ range: Range<Int>) throws(StorageError) -> ListWindow? {
        guard let record = try QueryTable.find(query, in: connection) else { return nil }
        return try window(range, of: record, range.isEmpty ? [] : PageTable.rows(meeting: range, of: query, in: connection))
    }

    /// - Parameter rows: those that hold positions in `range`, and maybe others.
    private func window(_ range: Range<Int>, of record: QueryRecord, _ rows: [PageRow]) throws(StorageError) -> ListWindow {
        var window = ListWindow(record: record, range: range, parts: [], damaged: [], readAt: moment.now)
        for row in rows where row.summary.count > 0 && row.summary.range.overlaps(range) {
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

    private func outline(_ record: QueryRecord) throws(StorageError) -> ListOutline {
        ListOutline(
            record: record, pages: try PageTable.rows(of: record.id, in: connection).map(\.summary),
            ledger: try LedgerTable.entries(of: record.id, in: connection, at: moment), readAt: moment.now)
    }
}
