import PageModel

/// One eviction: planned in one read of the store, and carried out in portions (R40).
struct Eviction: Sendable {
    typealias Candidate = EvictionPlan.Candidate

    private var left: ArraySlice<Candidate>
    private(set) var report: EvictionReport
    private var touched: Set<QueryID> = []
    private var portion = Eviction.largestPortion

    private static let largestPortion = 256
    /// Removing this many pages takes a few dozen pages of log.
    private static let smallPortion = 4

    /// The free bytes that the log of the smallest portion needs.
    /// - Parameter pageSize: the size of a page of the file, in bytes. Another program may have changed it.
    static func logBytes(pageSize: Int) -> Int { max(300_000, 12 * pageSize) }
    private static let candidates = SQL(
        """
        SELECT page.query, page.offset, page.bytes, max(page.fetched_at, coalesce(access.used_at, page.fetched_at)), query.pinned
        FROM page LEFT JOIN access ON access.body = page.body LEFT JOIN query ON query.id = page.query
        """)

    init(
        _ budget: EvictionBudget, exempt: Set<QueryID>, at now: Timestamp, in connection: Connection
    ) throws(StorageError) {
        var candidates: [Candidate] = []
        // The positions of an evicted page become a gap, which an intact record of the list has to show. So pages of a
        // damaged record stay.
        var broken: Set<QueryID> = []
        do throws(StorageError) {
            _ = try QueryTable.all(in: connection) { broken.insert($0.record.id) }
        } catch {
            guard error.isUnreadableRow else { throw error }
        }
        var damaged = 0
        try connection.each(Eviction.candidates) { row throws(StorageError) in
            let query = QueryID(rawValue: row.int64(0))
            // The rows are not checked for damage. Their numbers only select pages to evict.
            let isPossible = StoredBounds.positions.contains(row.int(1))
            if !isPossible || broken.contains(query) { damaged += 1 }
            guard isPossible else { return }
            candidates.append(
                Candidate(
                    query: query, offset: row.int(1),
                    bytes: min(max(0, row.int(2)), StoredBounds.pageSizes.upperBound),
                    usedAt: row.time(3).stored,
                    isExempt: row.bool(4) || exempt.contains(query) || broken.contains(query)))
        }
        left = EvictionPlan.victims(among: candidates, budget: budget, at: now)[...]
        report = EvictionReport(bytesLeft: candidates.reduce(0) { $0 + $1.bytes })
        report.pagesDamaged = damaged
    }

    mutating func next() -> [Candidate]? {
        guard !left.isEmpty else { return nil }
        defer { left = left.dropFirst(portion) }
        return Array(left.prefix(portion))
    }

    /// Whether the portions became smaller, because one did not fit on the disk. The log is then merged after each
    /// portion.
    var isShortOfSpace: Bool { portion < Eviction.largestPortion }

    /// Puts back a portion that did not fit on the disk, because a deletion needs room in the log. The next portion is
    /// smaller.
    /// - Returns: false when the portion that failed was already a single page.
    mutating func makeSmaller(_ failed: [Candidate]) -> Bool {
        guard portion > 1 else { return false }
        portion = portion > Eviction.smallPortion ? Eviction.smallPortion : 1
        requeue(failed)
        return true
    }

    /// The pages that were chosen and not removed yet.
    var remaining: [Candidate] { Array(left) }

    /// The bytes of items that stay when all chosen pages are removed.
    var bytesLeftAfterAll: Int { report.bytesLeft - left.reduce(0) { $0 + $1.bytes } }

    mutating func requeue(_ portion: [Candidate]) { left = (portion + left)[...] }

    mutating func removed(_ pages: [Candidate]) {
        for page in pages {
            report.pages += 1
            report.bytes += page.bytes
            report.bytesLeft -= page.bytes
            touched.insert(page.query)
        }
        report.queries = touched.count
    }

    /// Notes how many unused bytes the file keeps.
    mutating func keeps(_ bytes: Int) { report.unreturnedBytes = bytes }

    /// Notes how many chosen pages stay because they are damaged.
    mutating func leaves(_ damaged: Int) { report.pagesDamaged += damaged }

    private static let record = SQL("SELECT count(*) FROM page WHERE query = ? AND offset = ?")

    /// Returns the number of chosen pages that were not removed, because their records are damaged.
    static func damaged(
        among portion: [Candidate], without removed: [Candidate], in connection: Connection
    ) throws(StorageError) -> Int {
        guard removed.count < portion.count else { return 0 }
        var damaged = 0
        for page in Set(portion).subtracting(removed) {
            let isRead = try PageTable.row(at: page.offset, of: page.query, in: connection) != nil
            let count = try connection.number(record, .int(page.query.rawValue), .int(page.offset))
            if !isRead, count == 1 { damaged += 1 }
        }
        return damaged
    }

    /// Removes a chosen page. Call inside a write transaction.
    /// - Returns: the row of the page. `nil` where the page has another size or was fetched since, and stays.
    static func remove(_ victim: Candidate, in connection: Connection) throws(StorageError) -> PageRow? {
        guard let row = try PageTable.row(at: victim.offset, of: victim.query, in: connection),
            row.bytes == victim.bytes, row.summary.fetchedAt <= victim.usedAt
        else { return nil }
        try BodyTable.delete(row.body, of: victim.query, in: connection)
        try PageTable.delete(at: victim.offset, of: victim.query, in: connection)
        // The page is a gap now, so its success record is deleted.
        try LedgerTable.forgetSuccess(at: victim.offset, query: victim.query, in: connection)
        return row
    }

    /// Removes the chosen pages that are unchanged.
    static func remove(_ portion: [Candidate], in session: Session) throws(StorageError) -> [Candidate] {
        try session.write { moment throws(StorageError) in
            var removed: [Candidate] = []
            var gone: [QueryID: [PageSummary]] = [:]
            for victim in portion {
                guard let row = try remove(victim, in: session.connection) else { continue }
                gone[victim.query, default: []].append(row.summary)
                removed.append(victim)
            }
            for (query, pages) in gone.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                session.identities.forget(query)
                let record = try QueryTable.find(query, in: session.connection)
                var version: ContentVersion?
                if let record {
                    var journal = JournalDraft(session.journalBound)
                    var holdings = try JournalTable.holdings(of: record, in: session.connection)
                    for page in pages {
                        journal.dropped(page.range)
                        holdings?.remove(page.range, isHeld: page.generation == record.version.generation)
                    }
                    version = try session.advance(query, journal, holdings: holdings, at: moment.now).version
                }
                session.note(
                    ChangeSet(
                        query: query, version: record?.version, contentVersion: version,
                        changes: pages.map { .dropped($0.range) }))
            }
            return removed
        }
    }
}
