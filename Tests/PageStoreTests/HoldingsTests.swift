import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// Holdings summarize the positions that a list holds. They are a column of the newest journal row.
@Suite("Holdings in the store")
struct HoldingsTests {
    private let key = QueryKey("https://example.com/list")

    private func bench() async throws -> Bench<SQLitePageStore> {
        let bench = try await Bench()
        try await bench.put(0, items(0..<20))
        try await bench.put(20, items(20..<40))
        try await bench.commit([.setTotal(.exact(40)), .setEnd(40), .validated])
        return bench
    }

    @Test("Verify finds holdings that disagree with the pages, and a repair recounts them")
    func wrong() async throws {
        let bench = try await bench()
        let list = try await bench.list
        let connection = try Connection(path: bench.folder.store)
        // A commit that counts wrongly would write such a row, with a valid seal.
        try connection.transaction(.write) { () throws(StorageError) in
            _ = try JournalTable.append(
                JournalDraft(JournalBound()), to: bench.query, after: nil, stamp: 7, at: noon, bound: JournalBound(),
                holdings: ListHoldings(Array(list.pages.dropLast()), generation: 1), in: connection)
        }
        #expect(try await bench.store.state(of: key)?.isComplete == false)
        #expect(try await bench.store.verify().findings.map(\.kind) == [.journal])
        let before = try await bench.list.contentVersion
        let repair = try await bench.store.repair(at: noon)
        #expect(repair.remaining.isSound && repair.pagesDropped == 0, "\(repair.remaining.findings)")
        #expect(try await bench.store.state(of: key)?.isComplete == true)
        // No item has changed, so readers of changes continue.
        guard case .entries? = try await bench.store.changes(of: bench.query, since: before, limit: 9) else {
            Issue.record("readers of changes have to read the list again")
            return
        }
    }

    @Test(
        "A journal row with a changed value is rejected, and the state has no holdings",
        arguments: ["holdings = NULL", "holdings = x''", "holdings = zeroblob(48)", "seal = 1"])
    func damaged(assignment: String) async throws {
        let bench = try await bench()
        try Connection(path: bench.folder.store).execute(
            "UPDATE journal SET \(assignment) WHERE counter = (SELECT max(counter) FROM journal)")
        let state = try #require(try await bench.store.state(of: key))
        #expect(state.holdings == nil && state.pageOne != nil)
        #expect(try await bench.store.verify().findings.map(\.kind) == [.journal])
        #expect(try await bench.store.repair(at: noon).remaining.isSound)
        #expect(try await bench.store.state(of: key)?.isComplete == true)
    }

    @Test("A damaged record of page one leaves the state without holdings, and a commit recounts them")
    func damagedPage() async throws {
        let bench = try await bench()
        try Connection(path: bench.folder.store).execute("UPDATE page SET count = 19 WHERE offset = 0")
        #expect(try await bench.store.state(of: key)?.holdings == nil)
        try await bench.commit([.markContiguous(0..<40), .validated])
        let state = try #require(try await bench.store.state(of: key))
        #expect(state.holdings?.held.segments == [20..<40])
        #expect(try await bench.store.verify().findings.map(\.kind).contains(.journal) == false)
    }

    /// The parts of a summary that `pagecache list` prints.
    private struct Listed: Equatable {
        let record: QueryRecord
        let segments: [Range<Int>]
        let gaps: [Range<Int>]
        let share: Double?
        let checkedAt: Timestamp?
        let failures: [LedgerEntry]
        let bytes: Int

        init(_ summary: QuerySummary) {
            let list = summary.outline
            (record, segments, gaps) = (list.record, list.coverage.segments, list.gaps)
            (share, checkedAt) = (list.coveredShare, list.heldPages.map(\.validatedAt).min())
            (failures, bytes) = (list.failures, summary.bytes)
        }
    }

    private func expectEqual(_ bench: Bench<SQLitePageStore>) async throws {
        #expect(try await bench.store.listed().map(Listed.init) == bench.store.summaries().map(Listed.init))
    }

    @Test("A listed query reports the held positions, gaps, ages, failures and sizes of its pages")
    func listed() async throws {
        let bench = try await bench()
        try await expectEqual(bench)
        #expect(try await bench.store.listed().first?.outline.pages.count == 1, "two pages are one stretch")
        // A gap, a page that was validated later, a failing page, and a list without a page.
        try await bench.commit([.setEnd(nil), .setTotal(.exact(100))])
        try await bench.put(60, items(60..<80), at: noon + .seconds(90))
        let lease = try await bench.store.claim(
            LeaseRequest([40], for: .seconds(60)), of: bench.query, at: noon + .seconds(100)
        ).leases[0].token
        try await bench.store.record(
            [.failed(offset: 40, failure: .status(503), nextAttemptIn: .seconds(2), lease: lease)], for: bench.query)
        _ = try await bench.store.register("empty", at: noon + .seconds(100))
        try await expectEqual(bench)
        #expect(try await bench.store.listed().flatMap(\.outline.gaps) == [40..<60, 80..<100])
        // Pages of an older generation are stored and not held.
        try await bench.commit([.startGeneration], at: noon + .seconds(200))
        try await expectEqual(bench)
    }

    @Test(
        "A listed query has a gap where a page record is lost or changed, and none for a changed journal row",
        arguments: [
            "DELETE FROM page WHERE offset = 20", "UPDATE page SET count = 19 WHERE offset = 20",
            "UPDATE page SET generation = 9 WHERE offset = 20", "UPDATE journal SET seal = 1",
        ])
    func listedDamage(change: String) async throws {
        let bench = try await bench()
        try Connection(path: bench.folder.store).execute(change)
        try await expectEqual(bench)
        let gaps = try await bench.store.listed().flatMap(\.outline.gaps)
        #expect(gaps == (change.hasPrefix("UPDATE journal") ? [] : [20..<40]))
    }

    @Test("Holdings include the commits of another connection")
    func otherConnection() async throws {
        let bench = try await bench()
        let other = try await SQLitePageStore.open(at: bench.folder.store, mode: .mustExist, clock: bench.clock)
        for page in 2..<6 {
            let store = page.isMultiple(of: 2) ? other : bench.store
            _ = try await store.commit(
                CommitPlan(
                    query: bench.query, version: try await bench.list.record.version,
                    edits: [
                        .insertPage(
                            PageWrite(
                                offset: page * 20, content: items(page * 20..<page * 20 + 20), evidence: .inferred))
                    ]))
        }
        #expect(try await other.state(of: key)?.holdings?.held.segments == [0..<120])
        await other.close()
    }

    @Test("Encoded holdings decode to the same value, and malformed bytes are refused")
    func codec() {
        var holdings = ListHoldings()
        for lower in [0, 30, 90] { holdings.add(lower..<lower + 20, isHeld: true) }
        holdings.add(5..<6, isHeld: false)
        let bytes = HoldingsCodec.encode(holdings)
        #expect(bytes.withUnsafeBytes { HoldingsCodec.decode($0) } == holdings)
        #expect(bytes.dropLast(8).withUnsafeBytes { HoldingsCodec.decode($0) } == nil)
        #expect(
            Array(bytes[0..<16] + bytes[32..<48] + bytes[16..<32]).withUnsafeBytes { HoldingsCodec.decode($0) } == nil)
    }
}
