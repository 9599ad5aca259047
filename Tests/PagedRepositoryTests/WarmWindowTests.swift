import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@Suite("Windows that were read just now")
struct WarmWindowTests {
    private let memory = MemoryStorage(clock: ManualClock())
    private let storage: CountingStorage
    private var clock: ManualClock { memory.manualClock }
    private let key = QueryKey("rows")

    init() { storage = CountingStorage(memory) }

    private func repository(
        _ storage: (any PageStorage)? = nil, memoryBudget: Int = 1 << 20,
        _ source: @escaping @Sendable (QueryKey) -> any PageSource
    ) -> PagedRepository<Numbered> {
        PagedRepository(
            storage: storage ?? self.storage, codec: JSONItemCodec<Numbered>(), memoryBudget: memoryBudget,
            clock: clock,
            chance: { 0.5 }, source: source)
    }

    private func filled() async throws -> (repository: PagedRepository<Numbered>, query: QueryID) {
        let origin = PersonalOrigin(isOurs: true)
        let repository = repository { _ in origin }
        try await repository.list(key).load()
        // From its first window on it is known which list's changes are to be counted.
        try await read(repository, 9..<10)
        return (repository, try #require(try await memory.query(key)).id)
    }

    @discardableResult
    private func read(_ repository: PagedRepository<Numbered>, _ range: Range<Int> = 0..<5) async throws -> [Int] {
        try await repository.page(key, offset: range.lowerBound, limit: range.count, policy: .cacheOnly).items.map(\.id)
    }

    @Test("a window is read once, while nothing is told of its list; others of the same list are windows of their own")
    func once() async throws {
        let (repository, query) = try await filled()
        let before = storage.reads(of: query)
        for _ in 0..<5 { #expect(try await read(repository) == [0, 1, 2, 3, 4]) }
        #expect(storage.reads(of: query) == before + 1)
        #expect(try await read(repository, 3..<6) == [3, 4, 5])
        #expect(storage.reads(of: query) == before + 2)
    }

    @Test(
        "R39: what was committed before the call is in the window; a purged list is gone from it, and what is new under its name is there"
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
        // It is another query now, and kept in memory like the first.
        let anew = try #require(try await memory.query(key)).id
        let before = storage.reads(of: anew)
        for _ in 0..<3 { #expect(try await read(repository) == [0, 1, 2, 3, 4]) }
        #expect(storage.reads(of: anew) == before)
    }

    @Test("R41: after five seconds it is read again, whatever was told, and by then it has grown old")
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

    @Test("R12: the age of a window from memory is its age now")
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
        "R45: whoever asks with another source is asked for whom, though the window is in memory",
        arguments: [true, false])
    func another(isOurs: Bool) async throws {
        let sources = Mutex([PersonalOrigin(isOurs: true)])
        let repository = repository { _ in sources.withLock { $0.last! } }
        try await repository.list(key).load()
        for _ in 0..<2 { #expect(try await read(repository) == [0, 1, 2, 3, 4]) }
        sources.withLock { $0.append(PersonalOrigin(isOurs: isOurs)) }
        #expect(try await read(repository) == (isOurs ? [0, 1, 2, 3, 4] : []))
    }

    @Test("without memory, or a storage that counts changes, each window is read", arguments: [true, false])
    func without(countsChanges: Bool) async throws {
        let (_, query) = try await filled()
        let storage = CountingStorage(memory, countsChanges: countsChanges)
        let origin = PersonalOrigin(isOurs: true)
        let repository = repository(storage, memoryBudget: countsChanges ? 0 : 1 << 20) { _ in origin }
        for _ in 0..<3 { try await read(repository) }
        #expect(storage.reads(of: query) == 3)
    }

    @Test("windows give way to others when there are too many")
    func budget() async throws {
        let (_, query) = try await filled()
        let origin = PersonalOrigin(isOurs: true)
        // Room for some three of them.
        let repository = repository(memoryBudget: 4 * 3_500) { _ in origin }
        try await read(repository, 9..<10)
        for _ in 0..<3 { for start in 0..<9 { try await read(repository, start..<start + 1) } }
        let before = storage.reads(of: query)
        try await read(repository, 8..<9)
        #expect(storage.reads(of: query) == before, "the last one is there")
        try await read(repository, 0..<1)
        #expect(storage.reads(of: query) == before + 1, "the first one is not")
    }
}
