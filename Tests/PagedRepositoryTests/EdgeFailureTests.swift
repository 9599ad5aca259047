import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@Suite("At the edge of an application: failures and log-out", .timeLimit(.minutes(20)))
struct EdgeFailureTests {
    private let bench = BadInputBench()
    private let away = FetchFailure(.transport, "away", isRetryable: true)

    private func store() async throws -> SQLitePageStore { try await SQLitePageStore.inMemory() }

    private func list(_ store: any PageStorage, _ count: Int = 65) -> PagedList<Row> {
        ListRepository(
            storage: store,
            source: ItemSource<Row>.offsets(pageSize: 20) { offset, size in
                ItemPage(items: Row.list(min(offset, count)..<min(offset + size, count)), total: count)
            }
        ).list("rows")
    }

    @Test("The failure of the storage is in the snapshot, in an event and in the model, and is thrown")
    func storageFails() async throws {
        let store = try await store()
        let list = list(store)
        let events = list.events
        try await list.load()
        await store.close()
        await #expect(throws: StorageError.self) { try await list.loadNext() }
        #expect(list.current.failure?.kind == .storage && list.current.items.count == 20)
        #expect((list.current.failure?.cause as? StorageError)?.code == .closed)
        guard case .refreshFailed = list.current.displayState else {
            Issue.record("\(list.current.displayState)")
            return
        }
        var failed: ListFailure?
        for await event in events {
            if case .failed(let failure) = event { failed = failure; break }
        }
        #expect(failed?.kind == .storage)
    }

    @Test("A list that was never loaded shows the failure of its storage", arguments: [0, 1, 2])
    @MainActor
    func storageFailsFirst(call: Int) async throws {
        let store = try await store()
        let model = PagedListModel(list(store))
        await store.close()
        switch call {
        case 0: await model.refresh()
        case 1: await model.loadNext()
        default: await model.reset()
        }
        #expect(model.failure?.kind == .storage)
        guard case .firstFailed = model.displayState else {
            Issue.record("\(model.displayState)")
            return
        }
    }

    /// A storage that fails every call while the test says so.
    ///
    /// State: whether calls fail, under a mutex.
    private final class FailingStorage: RelayedStorage {
        let storage: any PageStorage
        private let isFailing = Mutex(true)

        init(_ storage: any PageStorage) { self.storage = storage }

        func heal() { isFailing.withLock { $0 = false } }

        func relay<Value: Sendable>(
            _ call: StorageCall, _ body: () async throws(StorageError) -> Value
        ) async throws(StorageError) -> Value {
            if isFailing.withLock({ $0 }) { throw StorageError(.busy, "the store is busy") }
            return try await body()
        }
    }

    @Test("The failure of a storage that can be read again is no longer shown, also without a request (R37)")
    func storageHeals() async throws {
        let origin = StagedOrigin()
        try await bench.list(origin).load()
        let storage = FailingStorage(bench.storage)
        let list = ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: bench.clock, source: { _ in origin }
        ).list(bench.key)
        await #expect(throws: StorageError.self) { try await list.load(.cacheOnly) }
        #expect(list.current.failure?.kind == .storage)
        storage.heal()
        try await list.load(.cacheOnly)
        #expect(list.current.failure == nil && list.current.displayState == .items)
    }

    @Test("A forgotten list is not loaded again by scrolling, by a loop or by a refresh, until load is called")
    func forgotten() async throws {
        let origin = StagedOrigin()
        let key = QueryKey("rows", scope: "ann")
        let repository = bench.repository(origin)
        let list = repository.list(key)
        try await list.load()
        try await repository.forget(scope: "ann")
        #expect(!list.current.hasMore && !list.current.isLoaded)
        let before = origin.requests.count
        #expect(try await list.loadNext() == .superseded)
        #expect(try await list.refresh() == .superseded)
        #expect(try await list.loadAll() == .superseded)
        #expect(try await list.retry() == .superseded)
        #expect(try await list.load(.cacheOnly) == .cached)
        await list.prefetch(from: 0)
        #expect(origin.requests.count == before && !list.current.hasMore)
        #expect(try await list.load() == .loaded(10))
        #expect(try await list.loadNext() == .loaded(10))
    }

    @Test("The failure of a refresh is shown until page one is requested again (R37)")
    func refreshFailureStays() async throws {
        let origin = StagedOrigin(100)
        let list = bench.list(origin)
        try await list.load()
        origin.fail(away)
        let failure = await #expect(throws: ListFailure.self) { try await list.refresh() }
        await list.prefetch(from: 9)
        #expect(list.current.items.count > 10 && list.current.failure == failure)
        origin.fail(away)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(list.current.failure?.kind == .next)
        try await list.retry()
        #expect(list.current.failure == failure, "the next page is loaded, and page one still failed")
        try await list.retry()
        #expect(list.current.failure == nil)
    }

    @Test("The failure of an unconfirmed empty answer names the time of the next attempt, which empties the list")
    func emptied() async throws {
        let origin = StagedOrigin(30)
        let list = bench.list(origin)
        try await list.load()
        origin.rows = []
        let failure = await #expect(throws: ListFailure.self) { try await list.refresh() }
        #expect(failure?.description.contains(", not before ") == true)
        bench.clock.advance(by: .seconds(61))
        try await list.refresh()
        #expect(list.current.displayState == .empty && list.current.segments.isEmpty)
    }

    @Test("A failed load with another type of items leaves the items of the earlier type")
    func otherType() async throws {
        struct Other: Codable, Identifiable, Sendable {
            var id: String
            var title: String
        }
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            ItemPage(items: Row.list(offset..<offset + size), total: 30)
        }
        let list = bench.list(source)
        try await list.loadAll()
        let away = away
        let other = ListRepository(
            storage: bench.storage,
            source: ItemSource<Other>.offsets(pageSize: 10) { _, _ -> ItemPage<Other> in throw away }
        ).list(bench.key)
        await #expect(throws: ListFailure.self) { try await other.loadAll() }
        let again = bench.repository(source).list(bench.key)
        try await again.load(.cacheOnly)
        #expect(again.current.items.count == 30)
    }

    @Test("A decoding error is the cause, and the message names its coding path and no value")
    func decodingError() async throws {
        struct Answer: Decodable { var items: [Row] }
        let body = #"{"items":[{"id":"secret"}]}"#
        let list = bench.list(
            ItemSource<Row>.offsets(pageSize: 10) { _, _ in
                ItemPage(items: try JSONBody(body).decoded(Answer.self).items, total: 1)
            })
        let failure = try #require(await #expect(throws: ListFailure.self) { try await list.load() })
        #expect(failure.cause is DecodingError)
        #expect(failure.failure.failureClass == .undecodable && !failure.failure.isRetryable)
        #expect(failure.description.contains("items[0].number") && !failure.description.contains("secret"))
    }
}
