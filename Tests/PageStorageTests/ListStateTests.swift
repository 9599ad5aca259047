import PageModel
import PageStore
import PagedRepositoryTesting
import StorageSupport
import Testing

/// The state of a list, which each commit maintains, matches the list's outline.
@Suite("List states")
struct ListStateTests {
    @Test("An unknown list has no state, and the state of a new list is empty", arguments: StorageKind.allCases)
    func beginning(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        #expect(try await bench.store.state(of: QueryKey("another")) == nil)
        let state = try await bench.state
        #expect(state.holdings == ListHoldings() && state.pageOne == nil && state.failures == [])
        #expect(state.length == 0 && state.isComplete == false && state.lastLedgerOffset == nil)
    }

    @Test("Edits of pages and evictions keep the state of a list equal to its outline", arguments: StorageKind.allCases)
    func keptUp(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<20))
        try await bench.put(40, items(40..<60))
        try await bench.expectAgreement()
        #expect(try await bench.state.holdings?.held.segments == [0..<20, 40..<60])
        try await bench.put(20, items(20..<40))
        try await bench.commit([.setTotal(.exact(60)), .setEnd(60), .validated])
        #expect(try await bench.state.isComplete == true)
        try await bench.commit([.splice(0..<0, PageWrite(offset: 0, content: items(["new"]), evidence: .verified))])
        try await bench.expectAgreement()
        try await bench.commit([.markStale(25..<33)])
        try await bench.expectAgreement()
        #expect(try await bench.state.holdings?.olderPages == 1)
        try await bench.commit([.splice(30..<45, nil)])
        try await bench.expectAgreement()
        try await bench.commit([
            .startGeneration, .insertPage(PageWrite(offset: 0, content: items(0..<5), evidence: .verified)),
        ])
        try await bench.expectAgreement()
        #expect(try await bench.state.holdings?.held.segments == [0..<5])
        try await bench.commit([.dropOlderGenerations])
        #expect(try await bench.state.holdings?.olderPages == 0)
        try await bench.put(5, items(60..<90))
        try await bench.commit([.truncate(at: 12)])
        try await bench.expectAgreement()
        _ = try await bench.store.evict(to: EvictionBudget(pagesPerQuery: 1), exempt: [])
        try await bench.expectAgreement()
        #expect(try await bench.state.holdings?.pages == 1)
    }

    @Test(
        "A state contains page one with its identities, and the ledger entries of failing pages",
        arguments: StorageKind.allCases)
    func pageOne(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<3))
        let failure = FetchFailure(.server, "no", isRetryable: true)
        try await bench.commit(
            [],
            ledger: [
                .succeeded(offset: 0), .failed(offset: 9, failure: failure, nextAttemptIn: .seconds(1)),
                .failed(offset: 6, failure: failure, nextAttemptIn: nil),
            ])
        let state = try await bench.state
        #expect(state.pageOne?.summary == (try await bench.list.pages.first))
        #expect(state.pageOne?.identities == items(0..<3).identities)
        #expect(state.failures?.map(\.offset) == [6, 9] && state.lastLedgerOffset == 9)
        let many = (1...ListState.mostFailures).map {
            LedgerEdit.failed(offset: 100 + $0, failure: failure, nextAttemptIn: nil)
        }
        try await bench.commit([], ledger: many)
        #expect(try await bench.state.failures == nil, "a state does not list so many failures")
    }

    @Test(
        "A list of many segments has no holdings until a commit validates page one when the segments are few again",
        arguments: StorageKind.allCases)
    func manyRuns(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        for page in 0..<70 { try await bench.put(page * 10, items(page * 10..<page * 10 + 5)) }
        #expect(try await bench.state.holdings == nil)
        for page in 0..<70 { try await bench.put(page * 10 + 5, items(page * 10 + 5..<page * 10 + 10)) }
        try await bench.commit([.setTotal(.exact(700)), .setEnd(700), .validated])
        try await bench.expectAgreement()
        #expect(try await bench.state.holdings?.held.segments == [0..<700])
    }
}

extension Bench where Store == any PageStorage {
    var state: ListState { get async throws { try await store.state(of: QueryKey("https://example.com/list"))! } }

    func expectAgreement(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let (state, list) = (try await state, try await list)
        #expect(
            state.holdings == ListHoldings(list.pages, generation: list.record.version.generation),
            sourceLocation: sourceLocation)
        #expect(state.length == list.length && state.isComplete == list.isComplete, sourceLocation: sourceLocation)
    }
}
