import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PagedRepository

@Suite("Lists whose origin forbids storing them")
struct NoStoreListTests {
    private let storage = MemoryStorage(clock: ManualClock())
    private var clock: ManualClock { storage.manualClock }
    private let key = QueryKey("rows")
    private let away = FetchFailure(.transport, "away", isRetryable: true)

    private func repository(_ origin: any PageSource, _ change: (inout PagedListOptions) -> Void = { _ in })
        -> ListRepository<Row>
    {
        var options = PagedListOptions()
        options.sync.overlap = 0
        change(&options)
        return ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), options: options, clock: clock, jitter: { 0.5 },
            source: { _ in origin })
    }

    private func list(_ origin: any PageSource, _ change: (inout PagedListOptions) -> Void = { _ in }) -> PagedList<Row>
    {
        repository(origin, change).list(key)
    }

    private func numbers(_ list: PagedList<Row>) -> [Int] { list.current.items.map(\.number) }

    private var outline: ListOutline? {
        get async throws {
            guard let record = try await storage.query(key) else { return nil }
            return try await storage.outline(of: record.id)
        }
    }

    @Test(
        "The list shows page one and continues from memory to the end",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func lists(access: PagingAccess) async throws {
        let origin = MarkedOrigin(StagedOrigin(34, access: access), noStore)
        let list = list(origin)
        #expect(try await list.load() == .loaded(10))
        #expect(numbers(list) == Array(0..<10))
        #expect(!list.current.isStored && list.current.isLoaded && list.current.freshness == .stale)
        #expect(list.current.total == .exact(34) && list.current.hasMore)
        #expect(try await list.loadNext() == .loaded(10))
        #expect(try await list.loadNext() == .loaded(10))
        #expect(try await list.loadNext() == .loaded(4))
        #expect(numbers(list) == Array(0..<34))
        #expect(list.current.pagesLoaded == 4 && !list.current.hasMore && list.current.end == 34)
        #expect(try await list.loadNext() == .endReached)
        #expect(origin.requests.count == 4)
        #expect(try await outline?.pages.isEmpty == true)
        #expect(try await outline?.record.total == .unknown)
    }

    @Test("The whole list can be loaded at once, and a refresh starts again with page one")
    func all() async throws {
        let origin = MarkedOrigin(StagedOrigin(34, access: .chain), noStore)
        let list = list(origin)
        #expect(try await list.loadAll() == .loaded(34))
        #expect(numbers(list) == Array(0..<34))
        origin.origin.rows.removeFirst()
        try await list.refresh()
        #expect(numbers(list) == Array(1..<11))
        #expect(list.current.hasMore)
    }

    @Test("A list that may not be stored is always refreshed, and shares no items with another list")
    func notACache() async throws {
        let origin = MarkedOrigin(StagedOrigin(), noStore)
        let list = list(origin)
        try await list.load(.refreshIfStale)
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 2)
        let other = self.list(origin)
        try await other.load(.cacheOnly)
        #expect(other.current.items.isEmpty && !other.current.isLoaded)
    }

    @Test("Pages that may not be stored follow the stored ones, and are dropped when page one changes")
    func tail() async throws {
        let origin = MarkedOrigin(StagedOrigin(34)) { request, page in page.mayBeStored = request.target == .first }
        let list = list(origin)
        try await list.load()
        #expect(list.current.isStored)
        #expect(try await list.loadNext() == .loaded(10))
        #expect(try await list.loadNext() == .loaded(10))
        #expect(numbers(list) == Array(0..<30))
        #expect(!list.current.isStored && list.current.pagesLoaded == 3)
        #expect(list.current.inferredSeams == 2)
        #expect(list.current.gaps == [30..<34])
        #expect(try await outline?.coverage.segments == [0..<10])
        try await list.refresh()
        #expect(numbers(list) == Array(0..<30), "page one is unchanged")
        origin.origin.rows.insert(StagedOrigin.row(99), at: 0)
        try await list.refresh()
        #expect(list.current.isStored)
        #expect(list.current.items.first?.number == 99)
        #expect(list.current.items.count < 30)
    }

    @Test("Once page one may be stored, the list shows the stored items again")
    func keptAgain() async throws {
        let origin = MarkedOrigin(StagedOrigin(), noStore)
        let list = list(origin)
        try await list.load()
        try await list.loadNext()
        origin.mark { _, _ in }
        try await list.refresh()
        #expect(list.current.isStored && list.current.freshness == .fresh)
        #expect(numbers(list) == Array(0..<10))
    }

    @Test("Items that another list stores replace the items in memory")
    func storedElsewhere() async throws {
        let origin = MarkedOrigin(StagedOrigin(), noStore)
        let list = list(origin)
        try await list.load()
        try await self.list(StagedOrigin(5)).load()
        try await list.load(.cacheOnly)
        #expect(list.current.isStored)
        #expect(numbers(list) == Array(0..<5))
    }

    @Test("A next page that fails keeps the shown items, and the retry requests the same page (R37)")
    func failures() async throws {
        let origin = MarkedOrigin(StagedOrigin(34), noStore)
        let list = list(origin)
        try await list.load()
        origin.origin.fail(away)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(list.current.failure?.kind == .next)
        #expect(list.current.failure?.nextAttemptAt == clock.now() + .milliseconds(250), "half of half a second (R28)")
        #expect(numbers(list) == Array(0..<10))
        #expect(try await list.retry() == .loaded(10))
        #expect(origin.requests.suffix(2).map(\.target) == [.offset(10), .offset(10)])
        #expect(list.current.failure == nil)
    }

    @Test("A refresh that fails keeps the shown items (R14)")
    func refreshFails() async throws {
        let origin = MarkedOrigin(StagedOrigin(34), noStore)
        let list = list(origin)
        try await list.load()
        try await list.loadNext()
        origin.origin.fail(away)
        await #expect(throws: ListFailure.self) { try await list.refresh() }
        #expect(numbers(list) == Array(0..<20))
    }

    @Test("A refresh supersedes a next page from memory, and drops its items (R36)")
    func superseded() async throws {
        let origin = MarkedOrigin(StagedOrigin(34), noStore)
        let list = list(origin)
        try await list.load()
        origin.origin.hold()
        let next = Task { try await list.loadNext() }
        await origin.origin.reached(2)
        let refresh = Task { try await list.refresh() }
        await origin.origin.reached(3)
        origin.origin.release()
        #expect(try await next.value == .superseded)
        _ = try await refresh.value
        #expect(numbers(list) == Array(0..<10))
    }

    @Test("A reset drops the items in memory")
    func reset() async throws {
        let origin = MarkedOrigin(StagedOrigin(), noStore)
        let list = list(origin)
        try await list.load()
        try await list.reset()
        #expect(list.current.items.isEmpty && list.current.displayState == .nothing)
        try await list.load(.cacheOnly)
        #expect(list.current.items.isEmpty)
    }

    @Test("The memory holds no more items than a snapshot may hold")
    func bounded() async throws {
        let origin = MarkedOrigin(StagedOrigin(1_000), noStore)
        let list = list(origin) { $0.itemLimit = 25 }
        #expect(try await list.loadAll() == .loaded(25))
        #expect(
            list.current.items.count == 25 && list.current.isAtItemLimit,
            "the page that passes the limit is cut, and is the last")
        #expect(origin.requests.count == 3)
    }

    @Test("A window shows the items of the answers and reports that they are not stored")
    func window() async throws {
        let origin = MarkedOrigin(StagedOrigin(34), noStore)
        let repository = repository(origin)
        let window = try await repository.page(key, offset: 5, limit: 10)
        #expect(window.items.map(\.number) == Array(5..<15) && window.missing.isEmpty)
        #expect(!window.isStored && window.freshness == .stale && window.total == .exact(34))
        #expect(origin.requests.map(\.target) == [.first, .offset(10)])
        let cached = try await repository.page(key, offset: 5, limit: 10, policy: .cacheOnly)
        #expect(cached.items.isEmpty)
    }

    @Test(
        "A page that is repeated at a position below an exact total is a loop, and no end of the list (R24)",
        arguments: [95, 50], [0, 30])
    func repetition(total: Int, start: Int) async throws {
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            let first = offset < 40 ? offset : start
            return ItemPage(items: Row.list(first..<first + size), total: total)
        }
        let list = list(source) { $0.isEphemeral = true }
        try await list.load()
        let failure = await #expect(throws: ListFailure.self) { try await list.loadAll() }
        #expect(failure?.failure.failureClass == .loop && failure?.kind == .next)
        #expect(list.current.failure == failure)
        #expect(numbers(list) == Array(0..<40) && list.current.hasMore)
        await #expect(throws: ListFailure.self) { try await list.retry() }
        #expect(numbers(list) == Array(0..<40) && list.current.hasMore)
    }

    // MARK: Refreshes and windows

    @Test(
        "A refresh with an unchanged page one keeps the pages after it, also of an ephemeral list",
        arguments: [true, false])
    func refreshKeeps(isEphemeral: Bool) async throws {
        let origin = MarkedOrigin(StagedOrigin(34))
        if !isEphemeral { origin.mark(noStore) }
        let list = list(origin) { $0.isEphemeral = isEphemeral }
        try await list.loadAll()
        #expect(try await list.refresh() == .upToDate)
        #expect(numbers(list) == Array(0..<34) && list.current.isAtEnd)
        origin.origin.rows[0] = StagedOrigin.row(99)
        #expect(try await list.refresh() == .changed)
        #expect(numbers(list) == [99] + Array(1..<10) && list.current.hasMore)
        try await list.loadAll()
        #expect(numbers(list) == [99] + Array(1..<34))
    }

    @Test(
        "A window of a list that is not stored has all of its items, and leaves no page in the store",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain], [true, false])
    func windows(access: PagingAccess, isEphemeral: Bool) async throws {
        let origin = MarkedOrigin(StagedOrigin(34, access: access))
        if !isEphemeral { origin.mark(noStore) }
        let repository = repository(origin) { $0.isEphemeral = isEphemeral }
        for range in [0..<10, 5..<25, 20..<30, 30..<40, 0..<60, 90..<95] {
            for policy in [LoadPolicy.refreshIfStale, .originFirst, .cacheThenRefresh] {
                let window = try await repository.page(
                    key, offset: range.lowerBound, limit: range.count, policy: policy)
                #expect(window.items.map(\.number) == Array(range.clamped(to: 0..<34)), "\(range) \(policy)")
                #expect(window.missing.isEmpty, "\(range) \(policy) \(window.missing)")
            }
        }
        #expect(try await outline?.pages.isEmpty ?? true)
        if isEphemeral { #expect(try await storage.query(key) == nil) }
    }
}
