import PageModel

/// Copies the readable rows of a damaged store to a new one. `Repair` then checks them.
struct SalvagedRows {
    private let old: Connection
    private let new: Connection
    private let now: Timestamp
    private var stamps = SystemRandomNumberGenerator()
    /// Lists that have lost a page.
    private(set) var incomplete: Set<QueryID> = []
    private(set) var pagesLost = 0
    private(set) var queriesLost = 0
    /// The records that were left out, as they were read. No name is bound to their ids.
    private(set) var removed: [QueryRecord] = []
    /// The queries with a rebuilt record whose pin could not be read.
    private(set) var pinsLost: [QueryKey] = []
    private var pagesKept = 0

    /// - Parameter now: the time at which the journals of the new store begin.
    init(from old: Connection, to new: Connection, at now: Timestamp) {
        self.old = old
        self.new = new
        self.now = now
    }

    mutating func copyAll() throws(StorageError) {
        let queries = try copyQueries()
        // The journals are written first. If the disk becomes full later, the new store is sound and has fewer pages.
        try beginJournals(queries)
        for query in queries { try copyList(query) }
        try copySequence()
        try copyTokens()
        for table in try otherTables() { try copyWhole(table) }
        // A body without a page belongs to a page whose record was lost.
        let bodies = try orNil { () throws(StorageError) in try old.number(SalvagedRows.bodies) }
        if let bodies, let count = bodies { pagesLost = max(pagesLost, Int(clamping: count) - pagesKept) }
        queriesLost = try lostQueries(besides: Set(queries)).union(removed.map(\.id)).count
    }

    // MARK: Queries

    private mutating func copyQueries() throws(StorageError) -> [QueryID] {
        var copied: [QueryID] = []
        var broken: [QueryID: QueryRecord] = [:]
        let intact = (try? QueryTable.all(in: old) { broken[$0.record.id] = $0.record }) ?? []
        try new.transaction(.write) { () throws(StorageError) in
            let names = QueryNames.bound(in: old)
            for query in try orNil({ () throws(StorageError) in try QueryTable.ids(in: old) }) ?? [] {
                if broken[query] == nil, try copy(SalvagedRows.query, [.int(query.rawValue)]) {
                    copied.append(query)
                }
            }
            // The records of these queries are lost or damaged, and their names are bound to their ids. `Repair`
            // rebuilds each record from its pages.
            for (query, key) in names.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where !copied.contains(query) {
                let pin = try QueryTable.pin(of: query, in: old) ?? intact.first { $0.id == query }?.isPinned
                // A wrong pin removes nothing.
                let isPinned = pin ?? broken[query]?.isPinned ?? false
                try QueryTable.insertUnsealed(key, as: query, isPinned: isPinned, in: new)
                copied.append(query)
                if pin == nil, !isPinned { pinsLost.append(key) }
            }
        }
        removed = broken.values.filter { !copied.contains($0.id) }.sorted { $0.id.rawValue < $1.id.rawValue }
        return copied
    }

    /// Restarts the journals. After a loss the old journal no longer records all changes, so readers must read their
    /// lists again (R48).
    mutating func beginJournals(_ queries: [QueryID]) throws(StorageError) {
        var draft = JournalDraft(JournalBound())
        draft.beginAnew()
        // One transaction keeps the log small, however many lists there are.
        try new.transaction(.write) { () throws(StorageError) in
            for query in queries {
                let newest = try orNil { () throws(StorageError) in
                    try old.number(SalvagedRows.newestVersion, .int(query.rawValue))
                }
                let counter =
                    StoredBounds.sizes.contains(Int(clamping: (newest ?? nil) ?? -1))
                    ? Int(clamping: (newest ?? nil) ?? 0) : 0
                let stamp = stamps.next()
                _ = try JournalTable.append(
                    draft, to: query, after: JournalTail(counter: counter, kept: 0), stamp: stamp, at: now,
                    bound: JournalBound(), holdings: nil, in: new)
            }
        }
        _ = try new.truncateLog()
    }

    /// Copies the greatest id ever used, so that the id of a purged query is never used again.
    private func copySequence() throws(StorageError) {
        let number = try orNil { () throws(StorageError) in try old.number(SalvagedRows.sequence) }
        guard let number, let last = number else { return }
        try new.run(SalvagedRows.raiseSequence, .int(last))
    }

    /// Copies the count of tokens, because a token is never issued twice (R30). If the count cannot be read, the new
    /// count is a random number, greater than those with which a count starts.
    private func copyTokens() throws(StorageError) {
        let count = try orNil { () throws(StorageError) in try CounterTable.count(in: old) }
        guard let count else { return try CounterTable.set(CounterTable.beyond(), in: new) }
        if let count { try CounterTable.set(count + CounterTable.block, in: new) }
    }

    /// Returns the other queries with intact records of pages. A damaged record of a page may name a query that never
    /// existed.
    private func lostQueries(besides known: Set<QueryID>) throws(StorageError) -> Set<QueryID> {
        var (lost, last): (Set<QueryID>, Int64) = ([], .min)
        while true {
            let next = try orNil { () throws(StorageError) in try old.number(SalvagedRows.nextQuery, .int(last)) }
            // A damaged value that is no number reads as 0, and is greater than each number.
            guard let next, let query = next, query > last else { return lost }
            let id = QueryID(rawValue: query)
            if !known.contains(id), try !PageTable.rows(of: id, in: old).isEmpty { lost.insert(id) }
            last = query
        }
    }

    // MARK: Lists

    private mutating func copyList(_ query: QueryID) throws(StorageError) {
        var broken = 0
        let rows = try PageTable.rows(of: query, in: old) { _ in broken += 1 }
        pagesLost += broken
        let isTreeDamaged = try PageTable.isTreeDamaged(of: query, in: old)
        if broken > 0 || isTreeDamaged { incomplete.insert(query) }
        var left = rows[...]
        while !left.isEmpty {
            let portion = SalvagedRows.portion(of: left)
            try new.transaction(.write) { () throws(StorageError) in
                for row in portion {
                    try PageTable.store(row, of: query, in: new)
                    // `Repair` drops a page without its body, and queues its positions.
                    _ = try copy(SalvagedRows.body, [.int(row.body)])
                    _ = try copy(SalvagedRows.identity, [.int(query.rawValue), .int(row.body)])
                    _ = try copy(SalvagedRows.access, [.int(row.body)])
                }
            }
            left = left.dropFirst(portion.count)
            // The log of the new file then grows only with a portion, not with the whole list.
            if !left.isEmpty { _ = try new.truncateLog() }
        }
        try new.transaction(.write) { () throws(StorageError) in
            for entry in try LedgerTable.entries(of: query, in: old, at: nil) {
                _ = try copy(SalvagedRows.ledger, [.int(query.rawValue), .int(entry.offset)])
            }
            _ = try copy(SalvagedRows.tally, [.int(query.rawValue)])
        }
        _ = try new.truncateLog()
        pagesKept += rows.count
    }

    /// The most bytes of items that one transaction copies. A larger page is a portion of its own.
    static let mostBytesAtOnce = 1 << 20

    private static func portion(of rows: ArraySlice<PageRow>) -> ArraySlice<PageRow> {
        var bytes = 0
        return rows.prefix { row in
            defer { bytes += row.bytes }
            return bytes == 0 || bytes + row.bytes <= mostBytesAtOnce
        }
    }

    // MARK: Plumbing

    /// The rows of one table, selected by their key.
    private struct Source {
        let find: SQL
        let table: String

        init(_ table: String, _ keys: String...) {
            self.table = table
            find = SQL("SELECT * FROM \(table) WHERE \(keys.map { "\($0) = ?" }.joined(separator: " AND "))")
        }
    }

    private static let query = Source("query", "id")
    private static let body = Source("body", "id")
    private static let identity = Source("identity", "query", "body")
    private static let access = Source("access", "body")
    private static let ledger = Source("ledger", "query", "offset")
    private static let tally = Source("tally", "query")
    private static let newestVersion = SQL("SELECT max(counter) FROM journal WHERE query = ?")
    // Another program may have removed the key of the table, and doubled its rows.
    private static let bodies = SQL("SELECT count(DISTINCT id) FROM body NOT INDEXED")
    private static let sequence = SQL("SELECT seq FROM sqlite_sequence WHERE name = 'query'")
    private static let raiseSequence = SQL("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'query'")
    private static let nextQuery = SQL("SELECT query FROM page WHERE query > ? ORDER BY query LIMIT 1")
    private static let tables = SQL(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    // Tables that `copyWhole` skips, because their rows are copied elsewhere or are written by the new store.
    private static let copied: Set = [
        "query", "page", "body", "identity", "access", "ledger", "tally", "migration", "upkeep", "journal", "counter",
    ]

    /// Copies the row with this key. Returns false when there is none, or when it cannot be read.
    private func copy(_ source: Source, _ key: [SQLValue]) throws(StorageError) -> Bool {
        let found = try orNil { () throws(StorageError) in
            try old.first(source.find, values: key) { row throws(StorageError) in row.values() }
        }
        guard let found, let values = found else { return false }
        try insert(values, into: source.table)
        return true
    }

    /// Copies a table that holds no rows of lists, up to the first page that cannot be read.
    private func copyWhole(_ table: String) throws(StorageError) {
        try new.transaction(.write) { () throws(StorageError) in
            _ = try orNil { () throws(StorageError) in
                // The name comes from the schema of this package.
                try old.each("SELECT * FROM \(table)") { row throws(StorageError) in
                    try insert(row.values(), into: table)
                }
            }
        }
    }

    private func otherTables() throws(StorageError) -> [String] {
        var names: [String] = []
        try new.each(SalvagedRows.tables) { row throws(StorageError) in names.append(row.text(0)) }
        return names.filter { !SalvagedRows.copied.contains($0) }
    }

    private func insert(_ values: [SQLValue], into table: String) throws(StorageError) {
        let places = Array(repeating: "?", count: values.count).joined(separator: ", ")
        do throws(StorageError) {
            try new.run("INSERT OR IGNORE INTO \(table) VALUES (\(places))", values)
        } catch {
            // A value that the schema does not allow was not stored by this package, so the row is skipped.
            guard error.code == .damaged || error.code == .tooLarge else { throw error }
        }
    }

    private func orNil<Result>(_ body: () throws(StorageError) -> Result) throws(StorageError) -> Result? {
        do throws(StorageError) {
            return try body()
        } catch {
            guard error.isUnreadableRow else { throw error }
            return nil
        }
    }
}
