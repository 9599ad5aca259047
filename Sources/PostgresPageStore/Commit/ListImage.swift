#if PostgreSQL
import PageModel

/// The page rows of one list inside a write transaction: the rows that were read, with the changes that the transaction
/// has collected.
///
/// State: the rows by offset, the positions whose rows are known, the bodies that were read or written, and the index
/// of items. The image belongs to the task that runs the transaction.
final class ListImage {
    let query: QueryID
    private let work: WriteBatch
    private var rows: [PageRow] = []
    private var known = Coverage([Range<Int>]())
    private var bodies: [Int64: Body] = [:]
    /// The bodies that hold an item, by the key of the item.
    private var holders: [UInt64: Set<Int64>] = [:]
    /// The number of the next body.
    private(set) var nextBody: Int64
    /// The number of rows that were read and are damaged. These rows are deleted, so that no edit builds on them.
    private(set) var broken = 0

    private enum Body {
        case stored(layout: Row)
        case decoded(PageContent)
        case damaged
    }
    private var usedAt: [Int64: Timestamp] = [:]

    init(_ query: QueryID, nextBody: Int64, _ work: WriteBatch) {
        self.query = query
        self.nextBody = nextBody
        self.work = work
    }

    private var id: Value { .integer(query.rawValue) }

    // MARK: Reading ahead

    func learn(_ found: Rows, in ranges: [Range<Int>]) {
        var starts: [Int] = []
        for row in found.all {
            learn(row)
            starts.append(row.int(0))
        }
        // The result includes the first page after each range, so no page starts between the range and that page.
        for range in ranges {
            known.add(range.lowerBound..<max(range.upperBound, starts.first { $0 >= range.upperBound } ?? .max))
        }
    }

    /// - Returns: the number of the row's body. `nil` when the row is damaged.
    @discardableResult
    private func learn(_ found: Row) -> Int64? {
        guard let row = PageRow(found, of: query) else {
            let offset = found.int(0)
            work.add(PageRow.deleting, [id, .int(offset)])
            broken += 1
            return nil
        }
        let place = index(from: row.summary.offset)
        if place == rows.count || rows[place].summary.offset != row.summary.offset { rows.insert(row, at: place) }
        known.add(row.summary.range)
        return row.body
    }

    func learnBodies(_ found: Rows) {
        for row in found.all where bodies[row.int64(0)] == nil {
            bodies[row.int64(0)] = .stored(layout: row)
            if let moment = row.optionalTime(3) { usedAt[row.int64(0)] = moment.stored }
        }
    }

    /// Learns the pages that hold some items. Each row has the columns of a page, and after them the keys of its body.
    func learnHolders(_ found: Rows) {
        for row in found.all {
            guard let body = learn(row), let keys = found.integers(row.index, PageRow.columnCount) else { continue }
            for key in keys { holders[BodyRow.key(stored: key, in: query), default: []].insert(body) }
        }
    }

    // MARK: Rows

    /// The index of the first row at `offset` or after it.
    private func index(from offset: Int) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].summary.offset < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Reads the rows of a range unless they are known.
    private func know(_ range: Range<Int>) async throws(StorageError) {
        let needed = range.lowerBound..<max(range.upperBound, range.lowerBound == .max ? .max : range.lowerBound + 1)
        let gaps = known.gaps(in: max(0, needed.lowerBound)..<max(0, needed.upperBound))
        guard !gaps.isEmpty else { return }
        let found = try await work.read([PageRow.meetingAndNext(gaps, of: query)])
        learn(found[0], in: gaps)
    }

    /// Returns the pages that hold positions in `range`, ascending. An empty page is found at its own offset.
    func rows(meeting range: Range<Int>) async throws(StorageError) -> [PageRow] {
        try await know(range)
        let first = max(0, index(from: range.lowerBound) - 1)
        var met: [PageRow] = []
        for row in rows[first...] {
            guard row.summary.offset < range.upperBound || row.summary.offset == range.lowerBound else { break }
            if row.summary.meets(range) { met.append(row) }
        }
        return met
    }

    /// Returns the page that starts at `offset`.
    func row(at offset: Int) async throws(StorageError) -> PageRow? {
        guard offset >= 0, offset < .max else { return nil }
        try await know(offset..<offset + 1)
        let place = index(from: offset)
        return place < rows.count && rows[place].summary.offset == offset ? rows[place] : nil
    }

    func rows(olderThan generation: Int) async throws(StorageError) -> [PageRow] {
        let found = try await work.read([(PageRow.older, [id, .int(generation)])])
        learn(found[0], in: [])
        return rows.filter { $0.summary.generation < generation }
    }

    // MARK: Items

    /// Returns the items of a page, or nil when their bytes do not match the checksum or are missing.
    func content(of row: PageRow) async throws(StorageError) -> PageContent? {
        if bodies[row.body] == nil { try await readBodies([row.body]) }
        switch bodies[row.body] {
        case .decoded(let content): return content
        case .stored(let found):
            let content = BodyRow.content(of: row, found, at: 1)
            bodies[row.body] = content.map { .decoded($0) } ?? .damaged
            return content
        case .damaged, nil: return nil
        }
    }

    /// Reads the bodies of these pages together.
    func prepareContents(of rows: [PageRow]) async throws(StorageError) {
        try await readBodies(rows.map(\.body).filter { bodies[$0] == nil })
    }

    private func readBodies(_ ids: [Int64]) async throws(StorageError) {
        guard !ids.isEmpty else { return }
        learnBodies(try await work.read([(BodyRow.some, [id, .integers(ids)])])[0])
        for each in ids where bodies[each] == nil { bodies[each] = .damaged }
    }

    /// Returns the time at which a reader last read the page. The time is known only if this transaction has read the
    /// items of the page.
    func usedAt(_ row: PageRow) -> Timestamp? { usedAt[row.body] }

    /// Returns the pages that may hold one of these items. Finds only pages that this transaction wrote, or whose keys
    /// it read with ``learnHolders(_:)``.
    func pages(holding identities: [ItemIdentity]) -> [PageRow] {
        let found = identities.reduce(into: Set<Int64>()) { $0.formUnion(holders[$1.key] ?? []) }
        return found.isEmpty ? [] : rows.filter { found.contains($0.body) }
    }

    // MARK: Changes

    /// Replaces the row at the same offset, or inserts the row if there is none.
    func store(_ row: PageRow) {
        let place = index(from: row.summary.offset)
        let exists = place < rows.count && rows[place].summary.offset == row.summary.offset
        if exists {
            rows[place] = row
            work.add(row.updating(in: query))
        } else {
            rows.insert(row, at: place)
            work.add(row.values(in: query), to: PageRow.insertion, [id])
        }
    }

    func insert(_ summary: PageSummary, _ content: PageContent, _ identities: [ItemIdentity], usedAt: Timestamp?) {
        let body = nextBody
        nextBody += 1
        let made = BodyRow.inserting(content, identities, as: body, for: summary, in: query)
        work.add(made.values, to: BodyRow.insertion, [id])
        store(made.row)
        bodies[body] = .decoded(content)
        for identity in identities { holders[identity.key, default: []].insert(body) }
        if let usedAt {
            self.usedAt[body] = usedAt
            work.add(AccessRow.noting, [id, .integers([body]), .time(usedAt.stored)])
        }
    }

    func delete(_ row: PageRow) {
        let place = index(from: row.summary.offset)
        if place < rows.count, rows[place].body == row.body { rows.remove(at: place) }
        work.add(BodyRow.deleting, [id, .integer(row.body)])
        work.add(BodyRow.deletingAccess, [id, .integer(row.body)])
        work.add(PageRow.deleting, [id, .int(row.summary.offset)])
    }

    /// Moves a stretch of pages. The target has to be free.
    func shift(_ move: Rearrangement.Move, revision: Int) {
        guard move.distance != 0 else { return }
        work.add(
            PageRow.shifting,
            [
                id, .int(move.range.lowerBound), .int(move.range.upperBound), .int(move.distance), .int(revision),
            ])
        let (first, last) = (index(from: move.range.lowerBound), index(from: move.range.upperBound))
        for place in first..<last {
            rows[place].summary.offset += move.distance
            rows[place].summary.revision = revision
            rows[place].summary.validator = nil
        }
        rows.sort { $0.summary.offset < $1.summary.offset }
        let moved = known.segments.map { $0.clamped(to: move.range) }.filter { !$0.isEmpty }
        let target = Range<Int>.shifted(move.range, by: move.distance)
        known.remove(move.range)
        known.remove(target)
        // Every page of the stretch has moved, so its old positions are known to be free.
        for gap in Coverage([target]).gaps(in: move.range) { known.add(gap) }
        for segment in moved { known.add(Range<Int>.shifted(segment, by: move.distance)) }
    }

    /// Records that this image has all rows of the pages in `range`, so that they need not be read.
    func markKnown(_ range: Range<Int>) { known.add(range) }
}

extension Range<Int> {
    fileprivate static func shifted(_ range: Range<Int>, by distance: Int) -> Range<Int> {
        let upper = range.upperBound == .max ? Int.max : range.upperBound + distance
        return range.lowerBound + distance..<upper
    }
}
#endif
