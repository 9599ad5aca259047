import PageModel
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@testable import PagedRepository

/// A storage in which something else happens between two calls.
///
/// State: what happens once the next list has been read, and how often a key was looked for; under a mutex.
private final class InterruptedStorage: RelayedStorage {
    let storage: any PageStorage
    private let state = Mutex<(afterReading: (@Sendable () async -> Void)?, looks: Int)>((nil, 0))

    init(_ storage: any PageStorage) { self.storage = storage }

    var looks: Int { state.withLock { $0.looks } }
    func onceRead(_ body: @escaping @Sendable () async -> Void) { state.withLock { $0.afterReading = body } }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let value = try await body()
        switch call {
        case .query: state.withLock { $0.looks += 1 }
        case .list:
            let interruption = state.withLock { state in
                defer { state.afterReading = nil }
                return state.afterReading
            }
            await interruption?()
        default: break
        }
        return value
    }
}

/// Runs nothing of what it is given before it is told to.
///
/// State: the jobs, under a mutex.
private final class HeldExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    func runAll() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

@Suite("Lists that were opened before")
struct ReopenedListTests {
    private let memory = MemoryStorage(clock: ManualClock())
    private let storage: InterruptedStorage
    private var clock: ManualClock { memory.manualClock }
    private let key = QueryKey("rows")

    init() { storage = InterruptedStorage(memory) }

    private func repository(
        executor: (any TaskExecutor)? = nil,
        _ source: @escaping @Sendable (QueryKey) -> any PageSource = { _ in PersonalOrigin(isOurs: true) }
    ) -> PagedRepository<Numbered> {
        PagedRepository(
            storage: storage, codec: JSONItemCodec<Numbered>(), options: PagedListOptions(), clock: clock,
            chance: { 0.5 },
            executor: executor, source: source)
    }

    /// Nobody holds the list from one call to the next.
    private func opened(_ repository: PagedRepository<Numbered>) async throws -> [Int] {
        let list = repository.list(key)
        try await list.load(.cacheOnly)
        return list.current.items.map(\.id)
    }

    private func replaceAll(with numbers: Range<Int>) async throws {
        let record = try #require(try await memory.query(key))
        let write = PageWrite(offset: 0, content: PersonalOrigin.rows(numbers), evidence: .verified)
        let other = Rearrangement([.written(write, from: Array(repeating: nil, count: numbers.count))])
        let edits: [ListEdit] = [.rearrange(other), .setEnd(numbers.count)]
        _ = try await memory.commit(CommitPlan(query: record.id, version: record.version, edits: edits))
    }

    @Test("a list is looked for once; opened again, it is read, as it is now")
    func again() async throws {
        let repository = repository()
        try await repository.list(key).load()
        #expect(try await opened(repository) == Array(0..<10))
        let before = storage.looks
        for _ in 0..<3 { #expect(try await opened(repository) == Array(0..<10)) }
        try await replaceAll(with: 100..<110)
        #expect(try await opened(repository) == Array(100..<110))
        #expect(storage.looks == before)
    }

    @Test("one that was purged is gone, and what is new under its name is there")
    func purged() async throws {
        let repository = repository()
        try await repository.list(key).load()
        #expect(try await opened(repository) == Array(0..<10))
        _ = try await memory.purge([try #require(try await memory.query(key)).id])
        #expect(try await opened(repository) == [])
        try await self.repository().list(key).load()
        #expect(try await opened(repository) == Array(0..<10))
    }

    @Test("R45: whoever opens it for somebody else is shown nothing, though the repository knows where it is")
    func another() async throws {
        let isOurs = Mutex(true)
        let repository = repository { _ in PersonalOrigin(isOurs: isOurs.withLock { $0 }) }
        try await repository.list(key).load()
        #expect(try await opened(repository) == Array(0..<10))
        isOurs.withLock { $0 = false }
        #expect(try await opened(repository) == [])
        isOurs.withLock { $0 = true }
        #expect(try await opened(repository) == Array(0..<10))
    }

    @Test("R45: found while nothing had been fetched of it, fetched by somebody else: whoever listens is shown nothing")
    func emptyThenAnothers() async throws {
        let list = repository().list(key)
        var listener = list.snapshots.makeAsyncIterator()
        _ = try await memory.register(key, at: clock.now())
        try await list.load(.cacheOnly)
        #expect(list.current.items.isEmpty)
        // Somebody else's page one: it comes with whose it is.
        try await describe("another's", rows: 0..<10)
        try await list.load(.cacheOnly)
        #expect(list.current.items.isEmpty)
        // And ours after all: then it is shown.
        try await describe("", rows: 20..<30)
        try await list.load(.cacheOnly)
        #expect(list.current.items.map(\.id) == Array(20..<30))
        _ = await listener.next()
    }

    @Test("R45: the same for a window, and for an item by its id")
    func windowThenAnothers() async throws {
        let repository = repository()
        _ = try await memory.register(key, at: clock.now())
        #expect(try await repository.page(key, offset: 0, limit: 5, policy: .cacheOnly).items.isEmpty)
        try await describe("another's", rows: 0..<10)
        #expect(try await repository.page(key, offset: 0, limit: 5, policy: .cacheOnly).items.isEmpty)
        #expect(try await repository.item(id: "3", in: key) == nil)
        try await describe("", rows: 20..<30)
        #expect(try await repository.page(key, offset: 0, limit: 2, policy: .cacheOnly).items.map(\.id) == [20, 21])
        #expect(try await repository.item(id: "23", in: key)?.id == 23)
    }

    private func describe(_ source: String, rows: Range<Int>) async throws {
        let record = try #require(try await memory.query(key))
        let outline = try #require(try await memory.outline(of: record.id))
        let write = PageWrite(offset: 0, content: PersonalOrigin.rows(rows), evidence: .verified)
        let edit: ListEdit =
            outline.heldPages.isEmpty
            ? .put(write) : .rearrange(Rearrangement([.written(write, from: Array(repeating: nil, count: rows.count))]))
        let edits: [ListEdit] = [edit, .describe(paging: "", source: source), .setEnd(rows.count), .validated]
        let outcome = try await memory.commit(
            CommitPlan(query: record.id, version: record.version, edits: edits))
        #expect(outcome != .superseded(record.version))
    }

    @Test("R39: read, somebody begins to listen, a commit, published: who listens is shown what was committed")
    func betweenReadAndPublished() async throws {
        try await repository().list(key).load()
        let executor = HeldExecutor()
        let repository = repository(executor: executor)
        #expect(try await opened(repository) == Array(0..<10))
        let list = repository.list(key)
        let listener = Mutex<AsyncStream<ListSnapshot<Numbered>>?>(nil)
        storage.onceRead {
            listener.withLock { $0 = list.snapshots }
            try? await replaceAll(with: 100..<110)
        }
        try await list.load(.cacheOnly)
        executor.runAll()
        #expect(list.current.items.map(\.id) == Array(100..<110))
    }
}
