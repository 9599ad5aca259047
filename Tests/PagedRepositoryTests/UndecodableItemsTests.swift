import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

@Suite("Items that do not decode take no other item off the list, and fetch no missing page (R7)")
struct UndecodableItemsTests {
    private let bench = BadInputBench()

    private func repository(
        _ origin: StagedOrigin, _ codec: PickyCodec, _ change: (inout PagedListOptions) -> Void = { _ in }
    ) -> ListRepository<Row> {
        var options = PagedListOptions()
        (options.sync.overlap, options.sync.concurrency) = (0, 1)
        change(&options)
        return ListRepository(
            storage: bench.storage, codec: codec, options: options, clock: bench.clock, source: { _ in origin })
    }

    private func list(_ origin: StagedOrigin, _ refused: some Sequence<Int>) -> PagedList<Row> {
        repository(origin, PickyCodec(Set(refused))).list(bench.key)
    }

    /// Refreshes the list, and returns the requests of the refresh.
    private func refresh(_ list: PagedList<Row>, _ origin: StagedOrigin) async throws -> [PageRequest.Target] {
        let before = origin.requests.count
        try await list.refresh()
        return origin.requests[before...].map(\.target)
    }

    @Test("Items that decode again after a repair come back, and the items around them stay")
    func repaired() async throws {
        let (origin, broken) = (StagedOrigin(65), [0, 9, 10, 19, 33, 64])
        let list = list(origin, broken)
        try await list.load()
        for _ in 0..<2 { try await list.loadNext() }
        #expect(list.current.items.count == 26)
        for number in broken { origin.rows[number].number = 1_000 + number }
        let requests = try await refresh(list, origin)
        #expect(requests == [.first, .offset(9), .offset(18)], "page one, and the page of the other items")
        #expect(list.current.items.map(\.number) == origin.rows.prefix(30).map(\.number))
        #expect(list.current.gaps == [30..<65])
        #expect(try await refresh(list, origin) == [.first])
        #expect(list.current.items.count == 30)
    }

    @Test("A list of which no item decodes does not grow by a refresh, and its items are fetched again once")
    func noneDecodes() async throws {
        let origin = StagedOrigin(65)
        let list = list(origin, 0..<65)
        try await list.load()
        let end = list.current.itemsEnd
        #expect(end == 60, "page one, and five pages behind it")
        let pages = (1...6).map { PageRequest.Target.offset($0 * 9) }
        #expect(try await refresh(list, origin) == [PageRequest.Target.first] + pages)
        for _ in 0..<3 {
            #expect(try await refresh(list, origin) == [.first])
            #expect(list.current.itemsEnd == end && list.current.gaps == [end..<65])
        }
    }

    @Test("An item that was fetched again is not fetched again after it has moved")
    func moved() async throws {
        let origin = StagedOrigin(65)
        let list = list(origin, [25])
        try await list.load()
        for _ in 0..<2 { try await list.loadNext() }
        #expect(try await refresh(list, origin).count == 2)
        for number in 100..<103 {
            origin.rows.insert(StagedOrigin.row(number), at: 0)
            for _ in 0..<2 { #expect(try await refresh(list, origin) == [.first]) }
        }
        #expect(list.current.undecodable == [28..<29] && list.current.items.count == 32)
    }

    @Test("Positions that are missing between two items that do not decode stay missing")
    func behindGap() async throws {
        let origin = StagedOrigin(200)
        let repository = repository(origin, PickyCodec([5, 125]))
        let list = repository.list(bench.key)
        try await list.load()
        _ = try await repository.page(bench.key, offset: 120, limit: 10)
        try await list.load(.cacheOnly)
        let gaps = list.current.gaps
        #expect(gaps == [10..<120, 130..<200])
        #expect(try await refresh(list, origin) == [.first, .offset(124)])
        #expect(list.current.gaps == gaps)
    }

    // MARK: New items that do not decode

    @Test("A page of new items that do not decode hides no held item behind it", arguments: [10, 21], [true, false])
    func newItems(count: Int, isChain: Bool) async throws {
        let origin = isChain ? StagedOrigin(65, access: .chain, total: nil) : StagedOrigin(65)
        let list = list(origin, 1_000..<2_000)
        try await list.loadAll()
        origin.rows.insert(contentsOf: (1_000..<1_000 + count).map(StagedOrigin.row), at: 0)
        for _ in 0..<2 {
            try await list.refresh()
            let now = list.current
            #expect(now.displayState == .items && now.undecodable.first?.lowerBound == 0)
            #expect(now.hasMore == !now.gaps.isEmpty, "a missing position is told")
            #expect(now.position(ofItem: 0) == now.segments.first { $0.isHeld }?.offset)
            #expect(now.position(ofItem: now.items.count - 1) == now.itemsEnd - 1)
            if isChain { #expect(now.items.map(\.number) == Array(0..<65) && now.gaps.first?.lowerBound == 10) }
        }
        try await list.loadAll()
        #expect(list.current.undecodable == [0..<count] && list.current.gaps.isEmpty && !list.current.hasMore)
        #expect(list.current.items.map(\.number) == Array(0..<65) && list.current.position(ofItem: 0) == count)
    }

    @Test("With the rule stop a list that ends before an item that does not decode has more", arguments: [false, true])
    func stop(isEphemeral: Bool) async throws {
        let origin = StagedOrigin(20)
        let list = repository(origin, PickyCodec([17], .stop)) { $0.isEphemeral = isEphemeral }.list(bench.key)
        try await list.load()
        if isEphemeral {
            #expect(try await list.loadNext() == .loaded(7))
        } else {
            await #expect(throws: ListFailure.self) { try await list.loadNext() }
        }
        #expect(list.current.itemsEnd == 17 && list.current.hasMore && list.current.end == 20)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(list.current.failure?.failure.failureClass == .undecodable)
    }
}
