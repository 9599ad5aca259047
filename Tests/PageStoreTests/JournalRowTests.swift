import CSQLite
import Foundation
import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PageStore

/// The journal as rows of a file that is copied, damaged or emptied (R48, R51).
@Suite("Journal rows")
struct JournalRowTests {
    @Test("A store restored from a copy repeats counters, and different stamps reveal it (R51)")
    func restored() async throws {
        let folder = Folder()
        let copy = folder.path + "/copy.sqlite"
        func open() async throws -> (store: SQLitePageStore, query: QueryRecord) {
            let store = try await SQLitePageStore.openForTest(at: folder.store)
            return (store, try await store.register(QueryKey("list"), at: noon))
        }
        func put(_ offset: Int, in store: SQLitePageStore, _ query: QueryRecord) async throws -> ContentVersion {
            let page = PageWrite(offset: offset, content: items(offset..<offset + 20), evidence: .inferred)
            _ = try await store.commit(CommitPlan(query: query.id, version: query.version, edits: [.insertPage(page)]))
            return try #require(try await store.outline(of: query.id)).contentVersion
        }
        var (store, query) = try await open()
        let before = try await put(0, in: store, query)
        await store.close()
        try FileManager.default.copyItem(atPath: folder.store, toPath: copy)
        (store, query) = try await open()
        let lost = try await put(20, in: store, query)
        await store.close()
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.store + suffix) }
        try FileManager.default.moveItem(atPath: copy, toPath: folder.store)
        (store, query) = try await open()
        let again = try await put(40, in: store, query)
        #expect(again.counter == lost.counter && again.stamp != lost.stamp)
        #expect(try await store.changes(of: query.id, since: lost, limit: 9) == .truncated(current: again))
        guard case .entries(let entries, again, false)? = try await store.changes(of: query.id, since: before, limit: 9)
        else {
            Issue.record("the journal has no entries since a version that both copies share")
            return
        }
        #expect(entries.map(\.changes) == [[.loaded(40..<60)]])
        await store.close()
    }

    @Test("The version at a time is the one that the list had then, and a tally keeps the version before its changes")
    func versionAtTime() async throws {
        let store = try await SQLitePageStore.openForTest(at: Folder().store)
        let query = try await store.register(QueryKey("list"), at: noon)
        var versions = [query.contentVersion]
        for step in 1...3 {
            let page = PageWrite(offset: step * 20, content: items(step * 20..<step * 20 + 20), evidence: .inferred)
            let plan = CommitPlan(query: query.id, version: query.version, edits: [.insertPage(page)])
            _ = try await store.commit(plan, at: noon + .seconds(step * 60))
            versions.append(try #require(try await store.outline(of: query.id)).contentVersion)
        }
        #expect(try await store.version(of: query.id, at: noon + .seconds(60)) == versions[1])
        #expect(try await store.version(of: query.id, at: noon + .seconds(119)) == versions[1])
        #expect(try await store.version(of: query.id, at: noon + .seconds(9_999)) == versions[3])
        // Before it was registered, the list had no items, as in its first version.
        #expect(try await store.version(of: query.id, at: Timestamp(milliseconds: 0)) == versions[0])
        #expect(try await store.version(of: QueryID(rawValue: 4_711), at: noon) == nil)

        #expect(try await store.tally(of: query.id) == nil)
        try await store.add(RunTally(runs: 1, requests: 1, changedSince: versions[1]), to: query.id, at: noon)
        try await store.add(RunTally(runs: 1, requests: 1), to: query.id, at: noon)
        #expect(try await store.tally(of: query.id)?.changedSince == versions[1])
        #expect(try await store.tally(of: query.id)?.runs == 2)
        #expect(try await store.verify().isSound)
        await store.close()
    }

    @Test("A purge also erases bytes of items that were deleted earlier")
    func purged() async throws {
        let bench = try await Bench()
        let secret = "deleted-\(UUID().uuidString)"
        var content = items(0..<20)
        content.append(Array(secret.utf8)[...], id: "secret")
        try await bench.put(0, content)
        try await bench.commit([.splice(20..<21, nil)])
        func isThere() throws -> Bool {
            try ["", "-wal"].contains { suffix in
                guard FileManager.default.fileExists(atPath: bench.folder.store + suffix) else { return false }
                return try Data(contentsOf: URL(fileURLWithPath: bench.folder.store + suffix)).firstRange(
                    of: Data(secret.utf8)) != nil
            }
        }
        #expect(try isThere())
        _ = try await bench.store.purge([bench.query])
        #expect(try !isThere())
        #expect(try await bench.store.verify().isSound)
    }

    @Test(
        "A journal row with a changed value in any column is rejected, verify finds it, and repair assigns a new version",
        arguments: [
            "counter = 9", "stamp = 1", "at = 1", "cost = 1", "kept = 1", "changes = x'0103'", "changes = x''",
            "seal = 1",
        ])
    func everyColumn(assignment: String) async throws {
        let bench = try await Bench()
        let first = try await bench.list.contentVersion
        try await bench.put(0, items(0..<20))
        try await bench.put(20, items(20..<40))
        try Connection(path: bench.folder.store).execute("UPDATE journal SET \(assignment) WHERE counter = 2")
        guard case .truncated? = try await bench.store.changes(of: bench.query, since: first, limit: 9)
        else {
            Issue.record("\(assignment) was accepted")
            return
        }
        #expect(try await bench.held.count == 40, "the list is served nevertheless")
        #expect(try await bench.store.verify().findings.map(\.kind) == [.journal])
        let damaged = try await bench.list.contentVersion
        let repair = try await bench.store.repair(at: noon)
        #expect(repair.remaining.isSound && repair.pagesDropped == 0, "\(repair.remaining.findings)")
        let mended = try await bench.list.contentVersion
        #expect(mended.counter > damaged.counter && mended.stamp != damaged.stamp)
        #expect(try await bench.store.changes(of: bench.query, since: damaged, limit: 9) == .truncated(current: mended))
        // The list accepts new commits.
        try await bench.put(40, items(40..<50))
        guard
            case .entries(let entries, _, false)? = try await bench.store.changes(
                of: bench.query, since: mended, limit: 9)
        else {
            Issue.record("the journal does not continue after the repair")
            return
        }
        #expect(entries.map(\.changes) == [[.loaded(40..<50)]])
    }

    @Test(
        "The next commit restarts the journal when its newest row is missing or impossible",
        arguments: [
            "DELETE FROM journal", "UPDATE journal SET counter = 9223372036854775807", "UPDATE journal SET kept = -1",
        ])
    func impossible(statement: String) async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<20))
        let before = try await bench.list.contentVersion
        try Connection(path: bench.folder.store).execute("DELETE FROM journal WHERE counter < 2; \(statement)")
        #expect(try await !bench.store.verify().isSound)
        try await bench.put(20, items(20..<40))
        let after = try await bench.list.contentVersion
        #expect(after != before)
        #expect(try await bench.store.changes(of: bench.query, since: before, limit: 9) == .truncated(current: after))
        #expect(try await bench.store.verify().isSound)
    }

    @Test("A damaged page record that a shift removes restarts the journal")
    func damagedInShift() async throws {
        let bench = try await Bench()
        for start in stride(from: 0, to: 100, by: 20) { try await bench.put(start, items(start..<start + 20)) }
        let before = try await bench.list.contentVersion
        // The commit reads the rows at both ends of the moved positions. This row is between them.
        try Connection(path: bench.folder.store).execute("UPDATE page SET fetched_at = 1 WHERE offset = 60")
        try await bench.commit([
            .splice(0..<0, PageWrite(offset: 0, content: items(["new"]), evidence: .inferred))
        ])
        let after = try await bench.list.contentVersion
        #expect(try await bench.list.coverage.gaps(below: 101) == [61..<81])
        #expect(try await bench.store.changes(of: bench.query, since: before, limit: 9) == .truncated(current: after))
    }

    @Test("A query record that a repair rebuilds gets a new version")
    func renewedQuery() async throws {
        let bench = try await Bench()
        try await bench.put(0, items(0..<20))
        let before = try await bench.list.contentVersion
        try Connection(path: bench.folder.store).execute("UPDATE query SET total = 7, total_kind = 'exact'")
        _ = try await bench.store.repair(at: noon)
        let after = try await bench.list.contentVersion
        #expect(after.counter == before.counter + 1 && after.stamp != before.stamp)
        #expect(try await bench.store.changes(of: bench.query, since: before, limit: 9) == .truncated(current: after))
    }

    @Test("The journal records a page that a repair drops as dropped and not as deleted")
    func droppedPage() async throws {
        let bench = try await Bench()
        for start in [0, 20] { try await bench.put(start, items(start..<start + 20)) }
        let before = try await bench.list.contentVersion
        try Connection(path: bench.folder.store).execute(
            "UPDATE body SET payload = zeroblob(length(payload)) WHERE id = (SELECT body FROM page WHERE offset = 20)")
        _ = try await bench.store.repair(at: noon)
        guard
            case .entries(let entries, _, false)? = try await bench.store.changes(
                of: bench.query, since: before, limit: 9)
        else {
            Issue.record("the journal has no entry for the drop")
            return
        }
        #expect(entries.map(\.changes) == [[.dropped(20..<40)]])
    }

    @Test("The journal codec decodes what it encoded, and truncated or random bytes cause no crash")
    func codec() {
        let item = RawItem(payload: Array("payload".utf8), id: "id")
        let parts = JournalRearrangement(
            removed: [3..<4, 9..<Int.max], added: [0..<2],
            deleted: [.init(position: 3, item: RawItem(payload: [], id: nil))],
            inserted: [.init(position: 0, id: "ü"), .init(position: 1, id: nil)],
            moved: [.init(from: 5, to: 6, id: "")],
            edited: [.init(from: 7, to: 8, before: item)])
        let changes: [JournalChange] = [.loaded(0..<300), .dropped(5..<Int.max), .generationBegan, .rearranged(parts)]
        let bytes = JournalCodec.encode(changes)
        #expect(bytes.withUnsafeBytes { JournalCodec.decode($0) } == changes)
        #expect([UInt8]().withUnsafeBytes { JournalCodec.decode($0) } == [])
        var random = SeededGenerator(seed: 3)
        for length in 1..<bytes.count {
            // Truncated bytes decode to nil, unless the cut falls between two changes.
            let cut = bytes.prefix(length).withUnsafeBytes { JournalCodec.decode($0) }
            #expect(cut.map { $0.count < changes.count && $0 == Array(changes.prefix($0.count)) } ?? true)
            var flipped = bytes
            flipped[length] ^= UInt8.random(in: 1...255, using: &random)
            _ = flipped.withUnsafeBytes { JournalCodec.decode($0) }
        }
        for count in 0..<2_000 {
            let noise = [1] + (0..<count % 40).map { _ in UInt8.random(in: 0...255, using: &random) }
            _ = noise.withUnsafeBytes { JournalCodec.decode($0) }
        }
    }
}

/// Counts the rows that a first load writes.
@Suite("Rows of a first load")
struct FirstLoadRowTests {
    private struct Origin: PageSource {
        let count: Int
        let access = PagingAccess.offsets
        var usage: SourceUsage { SourceUsage() }

        func fetch(_ request: PageRequest) async throws -> PageAnswer {
            guard case .offset(let start) = request.target else { return page(0..<min(25, count)) }
            return page(start..<min(start + (request.size ?? 25), count))
        }

        private func page(_ range: Range<Int>) -> PageAnswer {
            .page(FetchedPage(content: items(range), total: .exact(count)))
        }
    }

    @Test(
        "A first load writes each page row once, despite the overlap, and each commit writes one journal row",
        arguments: [1, 4])
    func once(concurrency: Int) async throws {
        let bench = try await Bench()
        try await counting("page", "journal", in: bench.store)
        var options = SyncOptions()
        options.concurrency = concurrency
        options.pageSize = 25
        let key = QueryKey("https://example.com/list")
        let report = try await ListSync(
            storage: bench.store, source: Origin(count: 2_000), key: key, options: options, clock: bench.clock,
            jitter: { 0.5 }
        ).run()
        #expect(report.outcome == .complete)
        let list = try await bench.list
        #expect(list.coverage.segments == [0..<2_000])
        #expect(list.pages.count > 80, "the overlap of one item is removed from each page (R21)")
        #expect(list.inferredSeams == 0)
        // Answers that arrive in another order can extend a page that was stored before.
        let rows = try await written("page", in: bench.store)
        #expect((list.pages.count..<list.pages.count + 4 * concurrency - 3).contains(rows))
        #expect(try await written("journal", in: bench.store) == list.contentVersion.counter - 1)
    }

    /// Counts the rows that this store writes to the tables from now on. Temporary triggers and tables of its own
    /// connection do the counting.
    private func counting(_ tables: String..., in store: SQLitePageStore) async throws {
        try await store.withWriter { session throws(StorageError) in
            try session.connection.configure(SQLITE_DBCONFIG_ENABLE_TRIGGER, true)
            for table in tables {
                try session.connection.execute(
                    """
                    CREATE TEMP TABLE written_\(table) (number INTEGER);
                    CREATE TEMP TRIGGER insert_\(table) AFTER INSERT ON main.\(table) BEGIN INSERT INTO written_\(table) VALUES (1); END;
                    CREATE TEMP TRIGGER update_\(table) AFTER UPDATE ON main.\(table) BEGIN INSERT INTO written_\(table) VALUES (1); END;
                    """)
            }
        }
    }

    private func written(_ table: String, in store: SQLitePageStore) async throws -> Int {
        try await store.withWriter { session throws(StorageError) in
            Int(try session.connection.number(SQL("SELECT count(*) FROM temp.written_\(table)")) ?? 0)
        }
    }
}
