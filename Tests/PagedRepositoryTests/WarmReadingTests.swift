import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Testing

@Suite("Reading what is known already")
struct WarmReadingTests {
    private let memory = MemoryStorage(clock: ManualClock())
    private var clock: ManualClock { memory.manualClock }
    private let key = QueryKey("rows")

    private func repository(_ storage: any PageStorage, memoryBudget: Int = 32 << 20) -> PagedRepository<Row> {
        let origin = StagedOrigin()
        return PagedRepository(
            storage: storage, codec: JSONItemCodec<Row>(), memoryBudget: memoryBudget, clock: clock, chance: { 0.5 },
            source: { _ in origin })
    }

    /// A list that is stored, with a listener that has its items.
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
            CommitPlan(query: query, version: version, edits: [.confirm(offset: 0, validator: nil), .validated]),
            at: moment)
        clock.set(to: now)
    }

    @Test("while somebody listens, and nothing is told, a list is loaded from the cache without a read")
    func noRead() async throws {
        let storage = CountingStorage(memory)
        let (list, listener, query) = try await listened(storage)
        let before = storage.reads(of: query)
        for _ in 0..<10 { try await list.load(.cacheOnly) }
        #expect(storage.reads(of: query) == before)
        #expect(list.current.items.count == 10)
        withExtendedLifetime(listener) {}
    }

    @Test("R39: what was committed before the call is in what it shows, whoever heard of it")
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

    @Test("without a read, too, a list grows old")
    func age() async throws {
        let storage = CountingStorage(memory)
        let (list, listener, query) = try await listened(storage)
        // The age of what was just read does not keep it from being stale: the origin confirmed it long ago.
        try await confirm(query, at: clock.now() + .seconds(-58))
        try await list.load(.cacheOnly)
        #expect(list.current.freshness == .fresh)
        let before = storage.reads(of: query)
        clock.advance(by: .seconds(3))
        try await list.load(.cacheOnly)
        #expect(list.current.freshness == .stale)
        // At most the notice of the confirmation was heard since.
        #expect(storage.reads(of: query) <= before + 1)
        withExtendedLifetime(listener) {}
    }

    @Test("R41: a list of which nothing was told for long is read again: a notice may have been lost")
    func lostNotice() async throws {
        let storage = CountingStorage(memory)
        let (list, listener, query) = try await listened(storage)
        let before = storage.reads(of: query)
        clock.advance(by: .seconds(6))
        try await list.load(.cacheOnly)
        #expect(storage.reads(of: query) == before + 1)
        withExtendedLifetime(listener) {}
    }

    @Test("a storage that does not count changes is read each time")
    func unknowable() async throws {
        let silent = CountingStorage(memory, countsChanges: false)
        let (list, listener, query) = try await listened(silent)
        let before = silent.reads(of: query)
        for _ in 0..<5 { try await list.load(.cacheOnly) }
        #expect(silent.reads(of: query) == before + 5)
        withExtendedLifetime(listener) {}
    }

    @Test("a list that nobody listens to is read once, and again when something happened to it")
    func unwatched() async throws {
        let storage = CountingStorage(memory)
        let list = repository(storage).list(key)
        try await list.load()
        let query = try #require(try await memory.query(key)).id
        let before = storage.reads(of: query)
        for _ in 0..<5 { #expect(try await list.load(.refreshIfStale) == .loaded(0)) }
        #expect(storage.reads(of: query) == before)
        try await confirm(query, at: clock.now() + .seconds(1))
        try await list.load(.cacheOnly)
        #expect(list.current.validatedAt == clock.now() + .seconds(1))
        _ = try await memory.purge([query])
        try await list.load(.cacheOnly)
        #expect(list.current.items.isEmpty && !list.current.isLoaded)
    }

    @Test("R2: a list that is not in memory is one read, outline and items", arguments: [0, 32 << 20])
    func oneRead(memoryBudget: Int) async throws {
        try await repository(memory).list(key).loadAll()
        let storage = CountingStorage(memory)
        let list = repository(storage, memoryBudget: memoryBudget).list(key)
        try await list.load(.cacheOnly)
        #expect(list.current.items.count == 48)
        #expect(storage.allReads == 1)
    }

    @Test("R40: with the last listener goes the observation, and comes again with the next")
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

    @Test("many lists of one repository are heard of through one observer, each of what happens to it")
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

    @Test("lists that are not stored yet show what others begin, and nothing else")
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
