#if PostgreSQL
import PageModel
import StorageSupport
import Synchronization
import Testing

@testable import PostgresPageStore

@Suite("Round trips of a store on a server", .enabled(if: TestServer.isThere))
struct RoundTripTests {
    private func page(_ offset: Int, _ range: Range<Int>) -> PageWrite {
        PageWrite(offset: offset, content: items(range), evidence: .inferred)
    }

    @Test("A commit takes two round trips, whatever it edits, with a claim and an excerpt")
    func counts() async throws {
        let schema = try Schema()
        let store = try await schema.open()
        let query = try await store.register("list").id
        func cost(_ work: () async throws -> Void) async throws -> Int {
            let before = store.server.roundTrips.load(ordering: .relaxed)
            try await work()
            return store.server.roundTrips.load(ordering: .relaxed) - before
        }
        func commit(_ edits: [ListEdit], ledger: [LedgerEdit] = []) async throws -> Int {
            let version = try #require(try await store.outline(of: query)).record.version
            let plan = CommitPlan(query: query, version: version, edits: edits, ledger: ledger)
            return try await cost {
                let request = LeaseRequest([9_000], for: .seconds(60), telling: 0..<100)
                let receipt = try await store.commit(plan, claiming: request)
                guard case .committed = receipt.outcome else { throw StorageError(.internal, "\(receipt.outcome)") }
            }
        }
        for start in stride(from: 0, to: 200, by: 20) {
            let costs = try await commit(
                [.insertPage(page(start, start..<start + 20))], ledger: [.succeeded(offset: start)])
            #expect(costs == 2)
        }
        #expect(try await commit([.insertPage(page(40, 40..<60)), .setTotal(.exact(200)), .validated]) == 2)
        #expect(try await commit([.splice(0..<0, page(0, 900..<903)), .markContiguous(0..<43)]) == 2)
        #expect(try await commit([.splice(50..<55, nil), .validated]) == 2)
        #expect(try await commit([.markStale(30..<70)]) == 2)
        #expect(try await commit([.truncate(at: 101)]) == 2)
        #expect(try await commit([.touchPage(offset: 0, validator: nil)]) == 2)
    }

    @Test("Positions of later edits are read where they are stored before the earlier ones")
    func positions() {
        let query = QueryID(rawValue: 1)
        let plan = CommitPlan(
            query: query, version: ListVersion(generation: 1, revision: 0),
            edits: [.splice(10..<10, page(10, 0..<5)), .touchPage(offset: 100, validator: nil)])
        let reads = CommitReads(plan)
        #expect(reads.rows.contains { $0.contains(95) })
        #expect(!reads.rows.contains { $0.contains(100) })
        #expect(reads.keys.count == 5)
    }
}
#endif
