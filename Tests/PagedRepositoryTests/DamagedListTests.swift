import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A storage in which the bytes of one page are damaged until the page is stored again. Only reads of the bytes notice.
///
/// State: the position of the damaged page, and whether it stays damaged, under a mutex.
private final class DamagedStorage: RelayedStorage {
    let storage: any PageStorage
    private let state: Mutex<(page: Int?, isPermanent: Bool)>

    init(_ storage: any PageStorage, page: Int, isPermanent: Bool) {
        self.storage = storage
        state = Mutex((page: page, isPermanent: isPermanent))
    }

    func list(
        of query: QueryID, reading choose: @Sendable (ListOutline) -> [Range<Int>]
    ) async throws(StorageError) -> ListReading? {
        let page = state.withLock { $0.page }
        guard var reading = try await storage.list(of: query, reading: choose) else { return nil }
        for index in reading.windows.indices { reading.windows[index].parts.removeAll { $0.offset == page } }
        return reading
    }

    func commit(_ plan: CommitPlan, claiming request: LeaseRequest?) async throws(StorageError) -> CommitReceipt {
        let receipt = try await storage.commit(plan, claiming: request)
        state.withLock { state in
            let isStored = plan.edits.contains { edit in
                if case .insertPage(let page) = edit { page.offset == state.page } else { false }
            }
            if isStored, !state.isPermanent { state.page = nil }
        }
        return receipt
    }
}

@Suite("Lists with damaged items", .timeLimit(.minutes(5)))
struct DamagedListTests {
    private let bench = BadInputBench()

    /// Returns a list of 48 items, of which 30 are held, and those of its second page are damaged.
    private func list(isPermanent: Bool = false) async throws -> PagedList<Row> {
        let origin = StagedOrigin()
        let whole = bench.list(origin)
        for _ in 0..<3 { try await whole.loadNext() }
        var options = PagedListOptions()
        options.sync.overlap = 0
        options.sync.concurrency = 1
        let list = ListRepository(
            storage: DamagedStorage(bench.storage, page: 10, isPermanent: isPermanent), codec: JSONItemCodec<Row>(),
            options: options, clock: bench.clock, jitter: { 0.5 }, source: { _ in origin }
        ).list(bench.key)
        try await list.load(.cacheOnly)
        #expect(list.current.items.map(\.number) == Array(0..<10) && list.current.unusable == [10..<20])
        return list
    }

    @Test("A load of the next page fetches the damaged items before which the list ends (R7)")
    func scrolls() async throws {
        let list = try await list()
        #expect(try await list.loadNext() == .loaded(10))
        #expect(list.current.items.map(\.number) == Array(0..<30))
        var calls = 0
        while list.current.hasMore, calls < 10 {
            calls += 1
            try await list.loadNext()
        }
        #expect(list.current.items.map(\.number) == Array(0..<48) && calls == 2)
    }

    @Test("A load that ends before items that stay damaged fails, and never succeeds while the list has more (R35)")
    func staysDamaged() async throws {
        let list = try await list(isPermanent: true)
        var calls = 0
        do {
            while list.current.hasMore, calls < 10 {
                calls += 1
                try await list.loadNext()
            }
        } catch let failure as ListFailure {
            #expect(failure.kind == .next && list.current.failure == failure)
        }
        #expect(list.current.failure != nil && calls < 10)
        await #expect(throws: ListFailure.self) { try await list.loadAll() }
        #expect(list.current.items.map(\.number) == Array(0..<10))
    }
}
