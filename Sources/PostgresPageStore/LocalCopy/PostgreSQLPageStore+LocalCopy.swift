#if PostgreSQL
import PageModel
import PageStore
import Synchronization

// Reads through the local copy (Decision 0022). The version and the page rows come from the server. A body comes from
// the copy if it matches its row, and otherwise from the server.
extension PostgreSQLPageStore {
    /// The size and the use of the local copy.
    public struct LocalCopyStatus: Hashable, Sendable {
        /// The path of the copy's file.
        public var path: String
        /// The size of the pages in the copy, in bytes.
        public var bytes: Int
        /// The number of reads that found all requested items in the copy.
        public var hits: Int
        /// The number of reads that requested items from the server.
        public var misses: Int
        /// The reason why the copy is not used at the moment, so that all reads go to the server. `nil` while the copy
        /// is used.
        public var problem: String?
    }

    /// Returns the size and the use of the local copy. Returns nil for a store without a local copy.
    public func localCopyStatus() async -> LocalCopyStatus? {
        guard let copy else { return nil }
        let status = await copy.file.status()
        return LocalCopyStatus(
            path: copy.file.path, bytes: status.bytes, hits: copy.hits.load(ordering: .relaxed),
            misses: copy.misses.load(ordering: .relaxed), problem: status.problem?.message)
    }

    /// The pages that meet a range, with the record of their list.
    struct PagesRead {
        var record: QueryRecord
        var rows: PageRows
        /// The items of each page, by the number of its body. A page whose body is damaged at the server has no entry.
        var contents: [Int64: PageContent]
        var readAt: Timestamp
    }

    private static func pagesOnly(_ range: Range<Int>, of query: QueryID) -> WriteBatch.Request {
        (PageRow.meeting, [.integer(query.rawValue), .int(range.lowerBound), .int(range.upperBound)])
    }

    /// Reads the pages that meet a range. Returns nil when the query is not stored.
    func pages(_ range: Range<Int>, of query: QueryID, _ copy: CopiedPages) async throws(StorageError) -> PagesRead? {
        // The change count is read before the list, so that any later change makes the list untrusted.
        let changeCount = announcer.changeCount(of: query)
        if let list = copy.trusted(query, changeCount: changeCount, for: options.trust), let rows = list.pages(range) {
            let contents = await copy.file.contents(of: rows, in: query)
            if contents.allSatisfy({ $0 != nil }) {
                copy.count(isHit: true)
                return PagesRead(
                    record: list.record, rows: PageRows(rows, holes: []), contents: named(contents, rows),
                    readAt: server.moment?.now ?? list.readAt + (ContinuousClock.now - list.checkedAt))
            }
        }
        // Two attempts, because a commit between the read of the rows and that of the bodies can replace a body.
        for _ in 0..<2 {
            let (now, changeCount) = (ContinuousClock.now, announcer.changeCount(of: query))
            let found = try await server.read([
                (ListRow.byID, [.integer(query.rawValue)]), Server.readTime,
                PostgreSQLPageStore.pagesOnly(range, of: query),
            ])
            guard let row = found[0].first else {
                await copy.purge([query])
                return nil
            }
            var read = PagesRead(
                record: try whole(ListRow.read(row)).record, rows: PageRows(found[2].all, of: query), contents: [:],
                readAt: server.moment(found[1]).now)
            let pages = read.rows.rows
            let contents = await copy.file.contents(of: pages, in: query)
            read.contents = named(contents, pages)
            let missing = zip(pages, contents).filter { $0.1 == nil }.map(\.0)
            if !missing.isEmpty {
                guard try await fetch(missing, in: range, of: query, into: &read, copy) else { continue }
            }
            copy.count(isHit: missing.isEmpty)
            // A list with damaged rows is not noted, so that each read finds the damage again.
            if read.rows.damaged.isEmpty {
                copy.note(
                    CheckedList(read.record, changeCount: changeCount, at: now, readAt: read.readAt),
                    rows: read.rows.rows, in: range)
            }
            return read
        }
        return try await pagesFromServer(range, of: query, copy)
    }

    private func named(_ contents: [PageContent?], _ rows: [PageRow]) -> [Int64: PageContent] {
        var named: [Int64: PageContent] = [:]
        for (row, content) in zip(rows, contents) { named[row.body] = content }
        return named
    }

    /// Reads the bodies that the copy does not have.
    /// - Returns: false if the list has changed since its rows were read.
    private func fetch(
        _ missing: [PageRow], in range: Range<Int>, of query: QueryID, into read: inout PagesRead, _ copy: CopiedPages
    ) async throws(StorageError) -> Bool {
        let bounds: [Value] = [.integer(query.rawValue), .int(range.lowerBound), .int(range.upperBound)]
        let found = try await server.read([
            (ListRow.byID, [.integer(query.rawValue)]),
            (BodyRow.somePages, bounds + [.integers(missing.map(\.body))]),
        ])
        guard let row = found[0].first, try whole(ListRow.read(row)).record.contentVersion == read.record.contentVersion
        else { return false }
        learn(missing, from: found[1], of: query, into: &read.contents, copy)
        return true
    }

    /// Decodes bodies, adds them to `contents`, and stores them in the copy.
    private func learn(
        _ missing: [PageRow], from found: Rows, of query: QueryID, into contents: inout [Int64: PageContent],
        _ copy: CopiedPages
    ) {
        var bodies: [Int64: Row] = [:]
        for row in found.all { bodies[row.int64(2)] = row }
        var copied: [(row: PageRow, content: PageContent)] = []
        for row in missing {
            guard let found = bodies[row.body], let content = BodyRow.content(of: row, found, at: PageRow.columnCount)
            else { continue }
            contents[row.body] = content
            copied.append((row, content))
        }
        copy.file.store(copied, of: query)
    }

    private func pagesFromServer(
        _ range: Range<Int>, of query: QueryID, _ copy: CopiedPages
    ) async throws(StorageError) -> PagesRead? {
        let found = try await server.read([
            (ListRow.byID, [.integer(query.rawValue)]), Server.readTime, PostgreSQLPageStore.pages(of: query, range),
        ])
        guard let row = found[0].first else { return nil }
        var read = PagesRead(
            record: try whole(ListRow.read(row)).record, rows: PageRows(found[2].all, of: query), contents: [:],
            readAt: server.moment(found[1]).now)
        learn(read.rows.rows, from: found[2], of: query, into: &read.contents, copy)
        copy.count(isHit: false)
        return read
    }

    /// Reads a list in one transaction. Bodies come from the copy if they match their rows.
    func list(
        of query: QueryID, _ copy: CopiedPages, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        try await server.reading { work async throws(StorageError) in
            let found = try await work.read(PostgreSQLPageStore.outline(of: query))
            guard let outline = try self.outline(found) else {
                try await work.commit()
                return nil
            }
            let ranges = choose(outline)
            let all = PageRows(found[2].all, of: query)
            let pages = all.rows.filter { row in
                row.summary.count > 0 && ranges.contains { $0.overlaps(row.summary.range) }
            }
            let held = await copy.file.contents(of: pages, in: query)
            var contents = self.named(held, pages)
            let missing = zip(pages, held).filter { $0.1 == nil }.map(\.0)
            if let first = missing.first?.summary, let last = missing.last?.summary {
                let bounds: [Value] = [.integer(query.rawValue), .int(first.offset), .int(last.offset + 1)]
                var rows: Rows?
                work.add(BodyRow.somePages, bounds + [.integers(missing.map(\.body))]) { rows = $0 }
                try await work.commit()
                if let rows { self.learn(missing, from: rows, of: query, into: &contents, copy) }
            } else {
                try await work.commit()
            }
            copy.count(isHit: missing.isEmpty)
            let now = self.server.moment(found[1]).now
            return ListReading(
                outline: outline,
                windows: ranges.map { range in
                    var rows = all
                    rows.restrict(to: range)
                    return self.window(range, of: outline.record, rows, contents, at: now)
                })
        }
    }
}
#endif
