import PageModel
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@testable import PagedRepository

/// A storage that runs a closure once after the next read of a list.
///
/// State: the closure, and the number of queries by key, under a mutex.
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

/// An executor that keeps its jobs until `runAll()`.
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

@Suite("Lists that are opened again")
struct ReopenedListTests {
    private let memory = MemoryStorage(clock: ManualClock())
    private let storage: InterruptedStorage
    private var clock: ManualClock { memory.manualClock }
    private let key = QueryKey("rows")

    init() { storage = InterruptedStorage(memory) }

    private func repository(
        executor: (any TaskExecutor)? = nil,
        _ source: @escaping @Sendable (QueryKey) -> any PageSource = { _ in PersonalOrigin(isOurs: true) }
    ) -> ListRepository<Numbered> {
        ListRepository(
            storage: storage, codec: JSONItemCodec<Numbered>(), options: PagedListOptions(), clock: clock,
            jitter: { 0.5 },
            executor: executor, source: source)
    }

    /// Opens the list, loads it from the cache and returns its numbers. No list object survives from one call to the
    /// next.
    private func opened(_ repository: ListRepository<Numbered>) async throws -> [Int] {
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

    @Test("A list opened again is read in its present state, without another search for its key")
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

    @Test("A purged list is empty when opened again, and a new list of the same key is shown")
    func purged() async throws {
        let repository = repository()
        try await repository.list(key).load()
        #expect(try await opened(repository) == Array(0..<10))
        _ = try await memory.purge([try #require(try await memory.query(key)).id])
        #expect(try await opened(repository) == [])
        try await self.repository().list(key).load()
        #expect(try await opened(repository) == Array(0..<10))
    }

    @Test("A list opened for another user shows no items, although the repository knows its query (R45)")
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

    @Test("A list found empty and then fetched by another user shows its observers no items (R45)")
    func emptyThenAnothers() async throws {
        let list = repository().list(key)
        var listener = list.snapshots.makeAsyncIterator()
        _ = try await memory.register(key, at: clock.now())
        try await list.load(.cacheOnly)
        #expect(list.current.items.isEmpty)
        // Page one of another user, stored together with its source.
        try await describe("another's", rows: 0..<10)
        try await list.load(.cacheOnly)
        #expect(list.current.items.isEmpty)
        // Page one of our own source is shown.
        try await describe("", rows: 20..<30)
        try await list.load(.cacheOnly)
        #expect(list.current.items.map(\.id) == Array(20..<30))
        _ = await listener.next()
    }

    @Test("A window and an item by id show no items of a list that another user fetched (R45)")
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
            ? .insertPage(write)
            : .rearrange(Rearrangement([.written(write, from: Array(repeating: nil, count: rows.count))]))
        let edits: [ListEdit] = [edit, .describe(paging: "", source: source), .setEnd(rows.count), .validated]
        let outcome = try await memory.commit(
            CommitPlan(query: record.id, version: record.version, edits: edits))
        #expect(outcome != .superseded(record.version))
    }

    @Test("An observer added between a read and its publication is shown a commit made in between (R39)")
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
