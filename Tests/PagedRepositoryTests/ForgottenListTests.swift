import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// A storage that runs a closure once, right before the next call of a kind.
///
/// State: the closure and the kind of call, under a mutex.
private final class InterruptedStorage: RelayedStorage {
    typealias Interruption = @Sendable () async throws(StorageError) -> Void

    let storage: any PageStorage
    private let next = Mutex<(call: StorageCall, interruption: Interruption)?>(nil)

    init(_ storage: any PageStorage) { self.storage = storage }

    /// - Parameter interruption: Runs before the call. An error that it throws replaces the call.
    func interrupt(_ call: StorageCall, _ interruption: @escaping Interruption) {
        next.withLock { $0 = (call: call, interruption: interruption) }
    }

    /// Makes the next call of this kind fail.
    func fail(_ call: StorageCall) {
        interrupt(call) { () async throws(StorageError) in throw StorageError(.busy, "the storage is in use") }
    }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let interruption: Interruption? = next.withLock { next in
            guard let known = next, known.call == call else { return nil }
            next = nil
            return known.interruption
        }
        if let interruption { try await interruption() }
        return try await body()
    }
}

@Suite("Lists that are forgotten while another call is suspended", .timeLimit(.minutes(20)))
struct ForgottenListTests {
    private let bench = BadInputBench()
    private let storage: InterruptedStorage
    private let key = QueryKey("rows")

    init() { storage = InterruptedStorage(bench.storage) }

    private func repository(
        _ source: any PageSource, _ change: (inout PagedListOptions) -> Void = { _ in }
    ) -> ListRepository<Row> {
        var options = PagedListOptions()
        options.sync.overlap = 0
        options.sync.concurrency = 1
        change(&options)
        return ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), options: options, clock: bench.clock, jitter: { 0.5 },
            source: { _ in source })
    }

    /// Stores page one of the list, as another process does.
    private func store() async throws { try await bench.list(StagedOrigin()).load() }

    // MARK: Reads that are under way

    @Test("A load of the next page that is reading when the list is forgotten sends no request and stores nothing")
    func next() async throws {
        try await store()
        let origin = StagedOrigin()
        let repository = repository(origin)
        let list = repository.list(key)
        storage.interrupt(.query) { [key] () async throws(StorageError) in try await repository.forget(key) }
        #expect(try await list.loadNext() == .superseded)
        #expect(origin.requests.isEmpty)
        #expect(try await bench.storage.records().isEmpty)
        #expect(!list.current.isLoaded && !list.current.hasMore)
        #expect(try await list.load() == .loaded(10))
    }

    @Test("A load that is reading when the list is forgotten is superseded, and a later load begins the list again")
    func load() async throws {
        try await store()
        let origin = StagedOrigin()
        let repository = repository(origin)
        let list = repository.list(key)
        storage.interrupt(.query) { [key] () async throws(StorageError) in try await repository.forget(key) }
        #expect(try await list.load() == .superseded)
        #expect(origin.requests.isEmpty)
        #expect(try await bench.storage.records().isEmpty)
        #expect(!list.current.isLoaded && !list.current.hasMore)
        #expect(try await list.load() == .loaded(10))
        #expect(list.current.hasMore)
        #expect(try await list.loadNext() == .loaded(10))
    }

    @Test("A forgotten list that another process has stored again has more pages as soon as a load accepts it (R12)")
    func storedAgain() async throws {
        let repository = repository(StagedOrigin())
        let list = repository.list(key)
        try await list.load()
        try await repository.forget(key)
        try await store()
        #expect(try await list.load(.cacheOnly) == .cached, "a list that fetches nothing by itself has not ended")
        #expect(list.current.items.count == 10 && !list.current.hasMore)
        #expect(try await list.loadNext() == .superseded)
        #expect(try await list.load(.refreshIfStale) == .cached)
        #expect(list.current.hasMore)
        #expect(try await list.loadNext() == .loaded(10))
    }

    // MARK: Removals that fail

    @Test("A reset that fails leaves a forgotten list forgotten")
    func failedReset() async throws {
        let origin = StagedOrigin()
        let repository = repository(origin)
        let list = repository.list(key)
        try await list.load()
        try await repository.forget(key)
        storage.fail(.query)
        await #expect(throws: StorageError.self) { try await list.reset() }
        await list.prefetch(from: 0)
        #expect(try await list.loadNext() == .superseded)
        #expect(origin.requests.count == 1)
        #expect(try await bench.storage.records().isEmpty)
        #expect(try await list.load() == .loaded(10))
    }

    @Test("Of two removals for good at once, the one that fails does not undo the other")
    func failedForget() async throws {
        let origin = StagedOrigin()
        let repository = repository(origin)
        let list = repository.list(key)
        try await list.load()
        storage.interrupt(.purge) { [key] () async throws(StorageError) in
            try await repository.forget(key)
            throw StorageError(.busy, "the storage is in use")
        }
        await #expect(throws: StorageError.self) { try await repository.forget(key) }
        #expect(try await list.loadNext() == .superseded)
        #expect(origin.requests.count == 1)
        #expect(try await bench.storage.records().isEmpty)
    }

    @Test("A removal for good that fails while another one is under way does not let the list load")
    func failedMeanwhile() async throws {
        let origin = StagedOrigin()
        let repository = repository(origin)
        let list = repository.list(key)
        try await list.load()
        let storage = storage
        let outcome = Mutex<LoadOutcome?>(nil)
        storage.interrupt(.purge) { [key] () async throws(StorageError) in
            storage.fail(.purge)
            try? await repository.forget(key)
            let now = try? await list.loadNext()
            outcome.withLock { $0 = now }
        }
        try await repository.forget(key)
        #expect(outcome.withLock { $0 } == .superseded)
        #expect(origin.requests.count == 1)
        #expect(try await list.loadNext() == .superseded)
    }

    @Test("After a removal for good that failed, the list keeps its items, is idle, and loads further pages")
    func notForgotten() async throws {
        let origin = StagedOrigin()
        let repository = repository(origin)
        let list = repository.list(key)
        try await list.load()
        origin.hold()
        let loading = Task { try await list.loadNext() }
        await origin.reached(2)
        #expect(list.current.isLoadingNext)
        storage.fail(.purge)
        await #expect(throws: StorageError.self) { try await repository.forget(key) }
        #expect(try await loading.value == .superseded)
        #expect(list.current.activity == .idle && list.current.hasMore && list.current.items.count == 10)
        origin.release()
        #expect(try await list.loadNext() == .loaded(10))
    }

    @Test("A list that is forgotten during its reset does not return with its pin")
    func resetMeanwhile() async throws {
        let repository = repository(StagedOrigin())
        let list = repository.list(key)
        try await list.load()
        try await bench.storage.pin(key)
        let forgetting = Mutex<Task<Void, any Error>?>(nil)
        storage.interrupt(.purge) { [key] () async throws(StorageError) in
            let task: Task<Void, any Error> = Task { try await repository.forget(key) }
            forgetting.withLock { $0 = task }
            for _ in 0..<2_000 { await Task.yield() }
        }
        try await list.reset()
        try await forgetting.withLock { $0 }?.value
        #expect(try await bench.storage.records().isEmpty)
    }

    // MARK: Loads that begin during a removal

    @Test("An item that appears while the list is reset sends no request, and a later refresh loads the list")
    func appearedMeanwhile() async throws {
        let origin = StagedOrigin()
        let list = repository(origin).list(key)
        try await list.load()
        origin.hold()
        storage.interrupt(.purge) { () async throws(StorageError) in
            list.itemAppeared(at: 9)
            for _ in 0..<2_000 { await Task.yield() }
        }
        try await list.reset()
        #expect(origin.requests.count == 1)
        let refreshing = Task { try await list.refresh() }
        await origin.reached(2)
        origin.release()
        #expect(try await refreshing.value == .loaded(10))
    }

    @Test("A refresh after a reset does not join a refresh that began during the reset, which removes its items")
    func refreshedMeanwhile() async throws {
        let origin = StagedOrigin()
        let list = repository(origin).list(key)
        try await list.load()
        origin.hold()
        let early = Mutex<Task<LoadOutcome, any Error>?>(nil)
        storage.interrupt(.purge) { () async throws(StorageError) in
            let task: Task<LoadOutcome, any Error> = Task { try await list.refresh() }
            early.withLock { $0 = task }
            await origin.reached(2)
        }
        try await list.reset()
        let refreshing = Task { try await list.refresh() }
        for _ in 0..<2_000 { await Task.yield() }
        origin.release()
        #expect(try await refreshing.value == .loaded(10))
        #expect(try await early.withLock { $0 }?.value == .superseded)
        #expect(list.current.items.count == 10)
    }

    @Test("A reset that fails prefetches behind an item that appeared meanwhile")
    func appearedBeforeFailure() async throws {
        let list = repository(StagedOrigin()).list(key)
        try await list.load()
        storage.interrupt(.purge) { () async throws(StorageError) in
            list.itemAppeared(at: 9)
            for _ in 0..<2_000 { await Task.yield() }
            throw StorageError(.busy, "the storage is in use")
        }
        await #expect(throws: StorageError.self) { try await list.reset() }
        await list.settled()
        #expect(list.current.items.count > 10)
    }

    // MARK: Storage failures

    @Test("The storage failure of a next page is no longer shown once the page is loaded (R37)")
    func storageFailure() async throws {
        try await store()
        let list = repository(StagedOrigin()).list(key)
        storage.fail(.query)
        await #expect(throws: StorageError.self) { try await list.loadNext() }
        #expect(list.current.failure?.kind == .storage)
        #expect(try await list.loadNext() == .loaded(10))
        #expect(list.current.failure == nil && list.current.items.count == 20)
    }

    @Test("The storage failure of a next page is no longer shown once the list is read up to its item limit (R37)")
    func storageFailureAtLimit() async throws {
        try await store()
        let list = repository(StagedOrigin()) { $0.itemLimit = 5 }.list(key)
        storage.fail(.query)
        await #expect(throws: StorageError.self) { try await list.loadNext() }
        #expect(try await list.loadNext() == .itemLimitReached)
        #expect(list.current.failure == nil && list.current.items.count == 5)
    }
}
