#if PostgreSQL
import PageModel

/// Checks every seal and checksum of the rows of one list, and every rule of the tables (R5). Holds the damage that was
/// found.
struct ListCheck {
    let query: QueryID
    private(set) var findings: [Finding] = []
    private(set) var pages = 0
    private(set) var items = 0
    private(set) var bytes = 0
    /// Offsets of damaged page rows.
    private(set) var brokenRows: [Int] = []
    /// Pages to drop, because they overlap others, or because their items are damaged or repeat held items.
    private(set) var lostPages: [PageRow] = []
    /// Bodies whose hashes differ from those of their items.
    private(set) var staleHashes: [(row: PageRow, identities: [ItemIdentity])] = []
    /// Offsets of fetch records that cannot be decoded, such as those with a number out of range.
    private(set) var brokenRecords: [Int] = []
    private(set) var isJournalDamaged = false
    /// The holdings, counted from the intact pages.
    private(set) var counted = ListHoldings()
    private(set) var areHoldingsWrong = false
    private var end = 0
    private var keys: Set<UInt64> = []
    private var intact: [PageSummary] = []
    /// The pages that a repair leaves.
    var remaining: [PageSummary] { intact }

    private static let portion = SQL(
        """
        SELECT \(PageRow.qualified), b.layout, b.payload, b.id, b.keys, b.contents, b.seal
        FROM @page AS p LEFT JOIN @body AS b ON b.query = p.query AND b.id = p.body
        WHERE p.query = $1 AND p.start >= $2 ORDER BY p.start LIMIT 64
        """)
    private static let journal = SQL(
        "SELECT counter, stamp, at, cost, changes, seal FROM @journal WHERE query = $1 ORDER BY counter")

    init(_ query: QueryID) { self.query = query }

    private mutating func find(_ kind: Finding.Kind, _ range: Range<Int>? = nil, _ message: String) {
        findings.append(Finding(kind, query: query, range: range, message))
    }

    /// Reads and checks the rows of the list.
    /// - Parameter list: the record; `nil` when it is damaged.
    mutating func run(_ list: ListRow?, _ work: WriteBatch) async throws(StorageError) {
        let id = Value.integer(query.rawValue)
        var next = 0
        while true {
            let rows = try await work.read([(ListCheck.portion, [id, .int(next)])])[0]
            for row in rows.all { check(row, list?.record) }
            guard let last = rows.all.map({ $0.int(0) }).last, rows.count == 64 else { break }
            guard StoredBounds.positions.contains(last) else { break }
            next = last + 1
        }
        let found = try await work.read([(LedgerRow.all, [id]), (ListCheck.journal, [id])])
        let moment = StorageMoment(ServerClock(now: 0))
        for row in found[0].all where LedgerRow.entry(row, at: moment) == nil {
            brokenRecords.append(row.int(0))
            find(.ledger, row.int(0)..<row.int(0), "fetch record has a number out of range")
        }
        guard let list else { return }
        checkJournal(found[1], list.record.contentVersion)
        counted = ListHoldings(intact, generation: list.record.version.generation)
        if let held = list.holdings, held != counted {
            areHoldingsWrong = true
            find(.journal, nil, "holdings do not match the stored pages")
        }
    }

    private mutating func check(_ row: Row, _ record: QueryRecord?) {
        guard let page = PageRow(row, of: query) else {
            brokenRows.append(row.int(0))
            let position = row.int(0)
            return find(
                .page, position..<position, "checksum mismatch of a page record at or near position \(position)")
        }
        let range = page.summary.range
        guard page.summary.offset >= end else {
            lostPages.append(page)
            return find(.overlap, range, "pages overlap here")
        }
        pages += 1
        bytes += page.bytes
        guard let content = BodyRow.content(of: page, row, at: PageRow.columnCount) else {
            lostPages.append(page)
            return find(.items, range, "checksum mismatch of the items")
        }
        items += content.count
        let identities = content.identities
        let isHeld = record.map { page.summary.generation == $0.version.generation } ?? true
        if isHeld, record?.allowsDuplicates == false {
            guard identities.allSatisfy({ !keys.contains($0.key) }) else {
                lostPages.append(page)
                return find(.duplicate, range, "an item of the page occurs twice in the list")
            }
            keys.formUnion(identities.map(\.key))
        }
        if BodyRow.identities(row, in: query, from: PageRow.columnCount + 2) != identities {
            staleHashes.append((page, identities))
            find(.identity, range, "checksum mismatch of the item hashes")
        }
        end = range.upperBound
        intact.append(page.summary)
    }

    private mutating func checkJournal(_ rows: Rows, _ version: ContentVersion) {
        var last: ContentVersion?
        for row in rows.all {
            let entry = JournalRow.entry(row, of: query)
            guard let entry, last == nil || entry.version.counter == last!.counter + 1 else {
                isJournalDamaged = true
                break
            }
            last = entry.version
        }
        if !isJournalDamaged, last != version { isJournalDamaged = true }
        if isJournalDamaged { find(.journal, nil, "checksum mismatch of the journal") }
    }
}
#endif
