import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// An origin that holds one of its requests, cancelled or not. The held request has no result if it was cancelled.
private struct LeftOrigin: PageSource {
    let origin = StagedOrigin()
    let deaf = DeafSource()
    /// The number of the held request.
    var held = 1

    var access: PagingAccess { origin.access }
    var usage: SourceUsage { origin.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let answer = try await origin.fetch(request)
        if origin.requests.count == held {
            await deaf.wait()
            try Task.checkCancellation()
        }
        return answer
    }
}

/// A storage whose writes fail once a test says so.
///
/// State: whether writes fail, under a mutex.
private final class ReadOnlyStorage: RelayedStorage {
    let storage: any PageStorage
    private let isReadOnly = Mutex(false)

    init(_ storage: any PageStorage) { self.storage = storage }

    func failWrites() { isReadOnly.withLock { $0 = true } }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        if !call.isReading, isReadOnly.withLock({ $0 }) { throw StorageError(.full, "the disk is full") }
        return try await body()
    }
}

@Suite("At the edge of an application: calls that join a load, and items that stay visible", .timeLimit(.minutes(5)))
struct EdgeJoinTests {
    private let bench = BadInputBench()
    private let away = FetchFailure(.transport, "the origin is unreachable", isRetryable: true)

    private func pause() async { for _ in 0..<200 { await Task.yield() } }

    // MARK: Loads whose callers were all cancelled (X12)

    /// Cancels the only call of a load while its request is held, and joins the load by another call of the same kind.
    private func joinCancelled(
        _ source: LeftOrigin, _ call: @escaping @Sendable (PagedList<Row>) async throws -> LoadOutcome
    ) async throws -> (list: PagedList<Row>, outcome: LoadOutcome) {
        // The test decides when the cancelled load ends.
        try await AbandonableSource.$grace.withValue(.seconds(3_600)) {
            let list = bench.list(source)
            let first = Task { try await call(list) }
            while source.deaf.callers == 0 { await Task.yield() }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let second = Task { try await call(list) }
            await pause()
            source.deaf.release()
            return (list, try await second.value)
        }
    }

    @Test("A call that joins a load whose callers were all cancelled begins it again (X12)")
    func joinsCancelled() async throws {
        let source = LeftOrigin()
        let (list, outcome) = try await joinCancelled(source) { try await $0.load() }
        #expect(outcome == .loaded(10) && source.origin.requests.count == 2)
        try await bench.expectServed(0..<10, list)
    }

    @Test("A call that joins a cancelled load of the whole list returns when the whole list is loaded (X12)")
    func joinsCancelledLoadAll() async throws {
        let source = LeftOrigin(held: 2)
        let (list, outcome) = try await joinCancelled(source) { try await $0.loadAll() }
        #expect(outcome == .loaded(38))
        try await bench.expectServed(0..<48, list)
    }

    @Test("A cancelled load shows no failure of an earlier request for another page (X12)")
    func earlierFailure() async throws {
        let origin = StagedOrigin()
        let repository = bench.repository(origin)
        let list = repository.list(bench.key)
        try await list.load()
        origin.fail(away)
        _ = try? await repository.page(bench.key, offset: 30, limit: 10)
        #expect(try await bench.outline?.failures.isEmpty == false)
        let before = origin.requests.count
        origin.hold()
        let next = Task { try await list.loadNext() }
        await origin.reached(before + 1)
        next.cancel()
        await #expect(throws: CancellationError.self) { try await next.value }
        while list.current.isLoading { await Task.yield() }
        #expect(list.current.failure == nil)
    }

    @Test("A cancelled call for a window without items throws CancellationError (X12)")
    func cancelledWindow() async throws {
        let origin = StagedOrigin()
        let repository = bench.repository(origin)
        origin.hold()
        let window = Task { try await repository.page(bench.key, offset: 0, limit: 10) }
        await origin.reached(1)
        window.cancel()
        await #expect(throws: CancellationError.self) { try await window.value }
    }

    // MARK: Items that stay visible do not appear again (X13)

    @Test("A visible item keeps the load of the next page when another caller of it is cancelled")
    func keepsPrefetch() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        let first = Task { await list.prefetch(from: 5) }
        await origin.reached(2)
        list.itemAppeared(at: 9)
        await pause()
        first.cancel()
        await first.value
        await pause()
        origin.release()
        await list.settled()
        #expect(list.current.items.count > 10 && list.current.failure == nil)
    }

    @Test(
        "A refresh that supersedes the next page of a visible item loads it afterwards, also when a retry succeeds",
        arguments: [false, true])
    func refreshSupersedes(fails: Bool) async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        list.itemAppeared(at: 9)
        await origin.reached(2)
        let refresh = Task { try await list.refresh() }
        await origin.reached(3)
        if fails { origin.fail(away) }
        origin.release()
        if fails {
            await #expect(throws: ListFailure.self) { try await refresh.value }
            try await list.retry()
        } else {
            _ = try await refresh.value
        }
        await list.settled()
        #expect(list.current.items.count > 10 && list.current.failure == nil)
        #expect(list.current.items.map(\.number) == Array(0..<list.current.items.count))
    }

    @Test("A cancelled load of the whole list that superseded the next page of a visible item leaves it to be loaded")
    func loadAllSupersedes() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        list.itemAppeared(at: 9)
        await origin.reached(2)
        let all = Task { try await list.loadAll() }
        await origin.reached(3)
        all.cancel()
        await #expect(throws: CancellationError.self) { try await all.value }
        origin.release()
        await list.settled()
        #expect(list.current.items.count > 10 && list.current.failure == nil)
    }

    @Test("A refresh after a failed next page loads that page for the item that is still visible")
    func refreshAfterFailure() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.fail(away)
        await list.prefetch(from: 9)
        #expect(list.current.failure?.kind == .next)
        try await list.refresh()
        await list.settled()
        #expect(list.current.items.count > 10 && list.current.failure == nil)
    }

    @Test("Items that appear during a refresh load the next page also if a second refresh joins it")
    func joinedRefresh() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        let first = Task { try await list.refresh() }
        await origin.reached(2)
        list.itemAppeared(at: 9)
        await pause()
        let second = Task { try await list.refresh() }
        await pause()
        origin.release()
        _ = try await (first.value, second.value)
        await list.settled()
        #expect(list.current.items.count > 10)
    }

    // MARK: Changes by others during a load

    @Test("A change by another repository during a load that ends with a failure of the storage is shown (R39)")
    func changeDuringFailure() async throws {
        let origin = StagedOrigin()
        let storage = ReadOnlyStorage(bench.storage)
        let list = ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: bench.clock, jitter: { 0.5 }, source: { _ in origin }
        ).list(bench.key)
        let snapshots = list.snapshots
        try await list.load()
        origin.hold()
        let next = Task { try await list.loadNext() }
        await origin.reached(2)
        let changed = StagedOrigin()
        changed.rows.insert(StagedOrigin.row(1_000), at: 0)
        try await bench.list(changed).refresh()
        for _ in 0..<5 { await pause() }
        storage.failWrites()
        origin.release()
        await #expect(throws: StorageError.self) { try await next.value }
        for _ in 0..<50 where list.current.items.first?.number != 1_000 { await pause() }
        #expect(list.current.items.first?.number == 1_000)
        withExtendedLifetime(snapshots) {}
    }
}
