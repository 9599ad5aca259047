import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Testing

@Suite("Reads of known lists")
struct WarmReadingTests {
    private let memory = MemoryStorage(clock: ManualClock())
    private var clock: ManualClock { memory.manualClock }
    private let key = QueryKey("rows")

    private func repository(
        _ storage: any PageStorage, memoryBudget: Int = 32 << 20, count: Int = 48
    ) -> ListRepository<Row> {
        let origin = StagedOrigin(count)
        return ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), memoryBudget: memoryBudget, clock: clock, jitter: { 0.5 },
            source: { _ in origin })
    }

    /// Stores a list and returns it with an observer that has received its items.
    private func listened(
        _ storage: CountingStorage
    ) async throws -> (list: PagedList<Row>, listener: AsyncStream<ListSnapshot<Row>>.Iterator, query: QueryID) {
        try await repository(memory).list(key).load()
        let list = repository(storage).list(key)
        var listener = list.snapshots.makeAsyncIterator()
        while let snapshot = await listener.next(), snapshot.items.isEmpty {}
        return (list, listener, try #require(try await memory.query(key)).id)
    }

    private func confirm(_ query: QueryID, at moment: Timestamp) async throws {
        let version = try #require(try await memory.outline(of: query)).record.version
        let now = clock.now()
        _ = try await memory.commit(
            CommitPlan(query: query, version: version, edits: [.touchPage(offset: 0, validator: nil), .validated]),
            at: moment)
        clock.set(to: now)
    }

    @Test("An observed list without notices is loaded from the cache without a read")
    func noRead() async throws {
        let storage = CountingStorage(memory)
        let (list, listener, query) = try await listened(storage)
        let before = storage.reads(of: query)
        for _ in 0..<10 { try await list.load(.cacheOnly) }
        #expect(storage.reads(of: query) == before)
        #expect(list.current.items.count == 10)
        withExtendedLifetime(listener) {}
    }

    @Test("A load shows every commit before it, whether or not a notice arrived (R39)")
    func commitIsSeen() async throws {
        let storage = CountingStorage(memory)
        let (list, listener, query) = try await listened(storage)
        for second in 1...20 {
            let moment = clock.now() + .seconds(second)
            try await confirm(query, at: moment)
            try await list.load(.cacheOnly)
            #expect(list.current.validatedAt == moment)
        }
        withExtendedLifetime(listener) {}
    }

    @Test("A list ages without a read")
    func age() async throws {
        let storage = CountingStorage(memory)
        let (list, listener, query) = try await listened(storage)
        // The origin validated the list long ago. The recent read does not make the list fresh.
        try await confirm(query, at: clock.now() + .seconds(-58))
        try await list.load(.cacheOnly)
        #expect(list.current.freshness == .fresh)
        let before = storage.reads(of: query)
        clock.advance(by: .seconds(3))
        try await list.load(.cacheOnly)
        #expect(list.current.freshness == .stale)
        // Only the notice of the validation may have caused a read since.
        #expect(storage.reads(of: query) <= before + 1)
        withExtendedLifetime(listener) {}
    }

    @Test("A list without notices for a while is read again, because a notice may have been lost (R41)")
    func lostNotice() async throws {
        let storage = CountingStorage(memory)
        let (list, listener, query) = try await listened(storage)
        let before = storage.reads(of: query)
        clock.advance(by: .seconds(6))
        try await list.load(.cacheOnly)
        #expect(storage.reads(of: query) == before + 1)
        withExtendedLifetime(listener) {}
    }

    @Test("A storage that does not count changes is read for every load")
    func unknowable() async throws {
        let silent = CountingStorage(memory, countsChanges: false)
        let (list, listener, query) = try await listened(silent)
        let before = silent.reads(of: query)
        for _ in 0..<5 { try await list.load(.cacheOnly) }
        #expect(silent.reads(of: query) == before + 5)
        withExtendedLifetime(listener) {}
    }

    @Test("A list without observers is read once, and again after a change")
    func unwatched() async throws {
        let storage = CountingStorage(memory)
        let list = repository(storage).list(key)
        try await list.load()
        let query = try #require(try await memory.query(key)).id
        let before = storage.reads(of: query)
        for _ in 0..<5 { #expect(try await list.load(.refreshIfStale) == .cached) }
        #expect(storage.reads(of: query) == before)
        try await confirm(query, at: clock.now() + .seconds(1))
        try await list.load(.cacheOnly)
        #expect(list.current.validatedAt == clock.now() + .seconds(1))
        _ = try await memory.purge([query])
        try await list.load(.cacheOnly)
        #expect(list.current.items.isEmpty && !list.current.isLoaded)
    }

    @Test("A list that is not in memory takes one read for its outline and items (R2)", arguments: [0, 32 << 20])
    func oneRead(memoryBudget: Int) async throws {
        try await repository(memory).list(key).loadAll()
        let storage = CountingStorage(memory)
        let list = repository(storage, memoryBudget: memoryBudget).list(key)
        try await list.load(.cacheOnly)
        #expect(list.current.items.count == 48)
        #expect(storage.allReads == 1)
    }

    @Test(
        "A next page reads the outline of its list for its plan, and again with the items of the snapshot",
        arguments: [30, 2_000])
    func nextPage(held: Int) async throws {
        let whole = repository(memory, count: 5_000).list(key)
        while whole.current.items.count < held { try await whole.loadNext() }
        let storage = CountingStorage(memory)
        let list = repository(storage, count: 5_000).list(key)
        try await list.load(.cacheOnly)
        for _ in 0..<3 {
            let before = storage.outlines
            guard case .loaded = try await list.loadNext() else {
                Issue.record("no page was loaded")
                return
            }
            #expect(storage.outlines - before == 2)
        }
    }

    @Test("The observation ends with the last observer and begins again with the next (R40)")
    func observation() async throws {
        let storage = CountingStorage(memory)
        var (list, listener, query): (PagedList<Row>, AsyncStream<ListSnapshot<Row>>.Iterator?, QueryID) =
            try await listened(storage)
        #expect(memory.observedQueries == [query])
        listener = nil
        while !memory.observedQueries.isEmpty { await Task.yield() }
        var events = list.events.makeAsyncIterator()
        while memory.observedQueries != [query] { await Task.yield() }
        try await confirm(query, at: clock.now() + .seconds(1))
        _ = try await memory.purge([query])
        while let event = await events.next() { if case .reset = event { break } }
        #expect(list.current.items.isEmpty)
        withExtendedLifetime(listener) {}
    }

    @Test("One storage observer delivers the changes of many lists of a repository to each of them")
    func manyLists() async throws {
        let keys = (0..<50).map { QueryKey("list\($0)") }
        let there = repository(memory)
        for key in keys { try await there.list(key).load() }
        let here = repository(memory)
        let lists = keys.map { here.list($0) }
        var listeners = lists.map { $0.snapshots.makeAsyncIterator() }
        for index in listeners.indices { while let snapshot = await listeners[index].next(), snapshot.items.isEmpty {} }
        for key in keys.prefix(25) { try await there.list(key).loadAll() }
        for index in 0..<25 { while let snapshot = await listeners[index].next(), snapshot.items.count < 48 {} }
        #expect(lists.map(\.current.items.count) == Array(repeating: 48, count: 25) + Array(repeating: 10, count: 25))
    }

    @Test("A list that is not stored yet shows only the list that another process registers under its key")
    func strangers() async throws {
        let storage = CountingStorage(memory)
        let list = repository(storage).list(key)
        var listener = list.snapshots.makeAsyncIterator()
        #expect(await listener.next()?.isLoaded == false)
        let other = repository(memory)
        try await other.list("other").load()
        try await other.list(key).load()
        while let snapshot = await listener.next(), snapshot.items.count < 10 {}
        let query = try #require(try await memory.query("other")).id
        #expect(storage.reads(of: query) == 0)
    }
}
