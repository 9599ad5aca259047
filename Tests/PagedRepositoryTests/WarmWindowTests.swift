import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@Suite("Recently read windows")
struct WarmWindowTests {
    private let memory = MemoryStorage(clock: ManualClock())
    private let storage: CountingStorage
    private var clock: ManualClock { memory.manualClock }
    private let key = QueryKey("rows")

    init() { storage = CountingStorage(memory) }

    private func repository(
        _ storage: (any PageStorage)? = nil, memoryBudget: Int = 1 << 20,
        _ source: @escaping @Sendable (QueryKey) -> any PageSource
    ) -> ListRepository<Numbered> {
        ListRepository(
            storage: storage ?? self.storage, codec: JSONItemCodec<Numbered>(), memoryBudget: memoryBudget,
            clock: clock,
            jitter: { 0.5 }, source: source)
    }

    private func filled() async throws -> (repository: ListRepository<Numbered>, query: QueryID) {
        let origin = PersonalOrigin(isOurs: true)
        let repository = repository { _ in origin }
        try await repository.list(key).load()
        // The first window registers the query whose changes are counted.
        try await read(repository, 9..<10)
        return (repository, try #require(try await memory.query(key)).id)
    }

    @discardableResult
    private func read(_ repository: ListRepository<Numbered>, _ range: Range<Int> = 0..<5) async throws -> [Int] {
        try await repository.page(key, offset: range.lowerBound, limit: range.count, policy: .cacheOnly).items.map(\.id)
    }

    @Test("A window is read once while its list has no changes, and every range is a window of its own")
    func once() async throws {
        let (repository, query) = try await filled()
        let before = storage.reads(of: query)
        for _ in 0..<5 { #expect(try await read(repository) == [0, 1, 2, 3, 4]) }
        #expect(storage.reads(of: query) == before + 1)
        #expect(try await read(repository, 3..<6) == [3, 4, 5])
        #expect(storage.reads(of: query) == before + 2)
    }

    @Test(
        "A window shows every commit before the call, no items of a purged list, and the items of its successor (R39)"
    )
    func changes() async throws {
        let (repository, query) = try await filled()
        #expect(try await read(repository) == [0, 1, 2, 3, 4])
        let version = try #require(try await memory.outline(of: query)).record.version
        let write = PageWrite(offset: 0, content: PersonalOrigin.rows(100..<110), evidence: .verified)
        let other = Rearrangement([.written(write, from: Array(repeating: nil, count: 10))])
        let plan = CommitPlan(query: query, version: version, edits: [.rearrange(other), .setEnd(10)])
        let outcome = try await memory.commit(plan)
        #expect(outcome != .superseded(version))
        #expect(try await read(repository) == [100, 101, 102, 103, 104])
        _ = try await memory.purge([query])
        #expect(try await read(repository) == [])
        try await repository.list(key).load()
        #expect(try await read(repository) == [0, 1, 2, 3, 4])
        // The new list is another query, and its window is kept in memory like the first.
        let anew = try #require(try await memory.query(key)).id
        let before = storage.reads(of: anew)
        for _ in 0..<3 { #expect(try await read(repository) == [0, 1, 2, 3, 4]) }
        #expect(storage.reads(of: anew) == before)
    }

    @Test("A window in memory is read again after five seconds, whatever the notices say, and then shows its age (R41)")
    func trust() async throws {
        let (repository, query) = try await filled()
        #expect(try await repository.page(key, offset: 0, limit: 5, policy: .cacheOnly).freshness == .fresh)
        let before = storage.reads(of: query)
        clock.advance(by: .seconds(4))
        try await read(repository)
        #expect(storage.reads(of: query) == before)
        clock.advance(by: .seconds(2))
        try await read(repository)
        #expect(storage.reads(of: query) == before + 1)
        clock.advance(by: .seconds(55))
        #expect(try await repository.page(key, offset: 0, limit: 5, policy: .cacheOnly).freshness == .stale)
    }

    @Test("The age of a window from memory is its age at the time of the call (R12)")
    func age() async throws {
        let (repository, query) = try await filled()
        clock.advance(by: .seconds(58))
        #expect(try await repository.page(key, offset: 0, limit: 5, policy: .cacheOnly).freshness == .fresh)
        let before = storage.reads(of: query)
        clock.advance(by: .seconds(3))
        #expect(try await repository.page(key, offset: 0, limit: 5, policy: .cacheOnly).freshness == .stale)
        #expect(storage.reads(of: query) == before)
    }

    @Test(
        "A window in memory is checked again when the key has another source (R45)",
        arguments: [true, false])
    func another(isOurs: Bool) async throws {
        let sources = Mutex([PersonalOrigin(isOurs: true)])
        let repository = repository { _ in sources.withLock { $0.last! } }
        try await repository.list(key).load()
        for _ in 0..<2 { #expect(try await read(repository) == [0, 1, 2, 3, 4]) }
        sources.withLock { $0.append(PersonalOrigin(isOurs: isOurs)) }
        #expect(try await read(repository) == (isOurs ? [0, 1, 2, 3, 4] : []))
    }

    @Test("Without a memory budget, or without change counts, every window is read", arguments: [true, false])
    func without(countsChanges: Bool) async throws {
        let (_, query) = try await filled()
        let storage = CountingStorage(memory, countsChanges: countsChanges)
        let origin = PersonalOrigin(isOurs: true)
        let repository = repository(storage, memoryBudget: countsChanges ? 0 : 1 << 20) { _ in origin }
        for _ in 0..<3 { try await read(repository) }
        #expect(storage.reads(of: query) == 3)
    }

    @Test("Older windows are dropped when the memory budget is used up")
    func budget() async throws {
        let (_, query) = try await filled()
        let origin = PersonalOrigin(isOurs: true)
        // The budget has room for about three windows.
        let repository = repository(memoryBudget: 4 * 3_500) { _ in origin }
        try await read(repository, 9..<10)
        for _ in 0..<3 { for start in 0..<9 { try await read(repository, start..<start + 1) } }
        let before = storage.reads(of: query)
        try await read(repository, 8..<9)
        #expect(storage.reads(of: query) == before, "the last one is in memory")
        try await read(repository, 0..<1)
        #expect(storage.reads(of: query) == before + 1, "the first one is not")
    }
}
