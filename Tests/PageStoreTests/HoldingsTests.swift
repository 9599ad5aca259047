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
        // A commit that counts wrongly would write this row. The row has a valid seal.
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
        #expect(
            try await bench.store.changes(of: bench.query, since: before, limit: 9) != nil,
            "readers continue, because no item has changed")
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

    @Test("Holdings decode to the same value, and malformed bytes are refused")
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
