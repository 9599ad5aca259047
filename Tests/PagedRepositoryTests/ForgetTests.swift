import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@Suite("Log-out: lists that are forgotten", .timeLimit(.minutes(20)))
struct ForgetTests {
    private let bench = BadInputBench()
    private let mine = QueryKey("rows", scope: "ann")
    private let other = QueryKey("rows", scope: "bob")

    @Test("A forgotten scope leaves no list, no pin and no item, and other scopes stay")
    func scope() async throws {
        let repository = bench.repository(StagedOrigin())
        let second = QueryKey("more rows", scope: "ann")
        for key in [mine, second, other] { try await repository.list(key).loadAll() }
        try await bench.storage.pin(mine)
        try await repository.forget(scope: "ann")
        #expect(try await bench.storage.records().map(\.key) == [other])
        #expect(repository.list(mine).current.displayState == .nothing)
        #expect(try await repository.page(mine, offset: 0, limit: 10, policy: .cacheOnly).items.isEmpty)
        #expect(try await repository.page(other, offset: 0, limit: 10, policy: .cacheOnly).items.count == 10)
        try await repository.forget(other)
        #expect(try await bench.storage.records().isEmpty)
    }

    @Test("Observers of a forgotten list receive an empty snapshot and a reset")
    func observers() async throws {
        let repository = bench.repository(StagedOrigin())
        let list = repository.list(mine)
        var snapshots = list.snapshots.makeAsyncIterator()
        var events = list.events.makeAsyncIterator()
        try await list.loadAll()
        try await repository.forget(mine)
        while let snapshot = await snapshots.next(), !snapshot.items.isEmpty || snapshot.isLoaded {}
        while let event = await events.next() { if case .reset = event { break } }
        #expect(list.current.items.isEmpty)
    }

    @Test("A list that comes into use while its scope is forgotten is forgotten, too")
    func lateList() async throws {
        // The removal waits for the run of the first list until the test releases it.
        try await AbandonableSource.$grace.withValue(.seconds(3_600)) {
            let origin = StagedOrigin()
            origin.ignoreCancellation()
            origin.hold()
            let repository = bench.repository(origin)
            let first = repository.list(mine)
            let loading = Task { try await first.load() }
            await origin.reached(1)
            let forgetting = Task { try await repository.forget(scope: "ann") }
            #expect(try await loading.value == .superseded)
            let second = repository.list(QueryKey("more rows", scope: "ann"), source: StagedOrigin())
            try await second.load()
            origin.release()
            try await forgetting.value
            #expect(second.current.items.isEmpty && !second.current.hasMore)
            #expect(first.current.items.isEmpty && !first.current.hasMore)
            #expect(try await bench.storage.records().isEmpty)
        }
    }

    @Test("A source may forget its own list, as after a refused log-in: the load is superseded, and nothing is left")
    func bySource() async throws {
        let place = Mutex<ListRepository<Row>?>(nil)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            if offset > 0 {
                try await place.withLock({ $0 })?.forget(scope: "ann")
                throw FetchFailure.status(401)
            }
            return ItemPage(items: Row.list(0..<10), total: 48)
        }
        let repository = bench.repository(source)
        place.withLock { $0 = repository }
        let list = repository.list(mine)
        try await list.load()
        #expect(try await list.loadNext() == .superseded)
        #expect(!list.current.isLoading)
        // The closure goes on after the load has left it.
        await list.settled()
        #expect(list.current.items.isEmpty && list.current.failure == nil && !list.current.hasMore)
        #expect(try await bench.storage.records().isEmpty)
        place.withLock { $0 = nil }
    }

    @Test("Loads and windows in flight are superseded, and their answers do not return", arguments: [0, 1, 2])
    func inFlight(pages: Int) async throws {
        let deaf = DeafSource()
        let isHolding = Mutex(false)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            if isHolding.withLock({ $0 }) { await deaf.wait() }
            return ItemPage(items: Row.list(offset..<min(offset + size, 48)), total: 48)
        }
        let repository = bench.repository(source)
        let list = repository.list(mine)
        for _ in 0..<pages { try await list.loadNext() }
        isHolding.withLock { $0 = true }
        let loading = Task { try await list.loadNext() }
        let window = Task { try await repository.page(mine, offset: 30, limit: 10) }
        while deaf.callers < 1 { await Task.yield() }
        try await repository.forget(scope: "ann")
        #expect(try await loading.value == .superseded)
        let failure = await #expect(throws: ListFailure.self) { try await window.value }
        #expect(failure?.failure.failureClass == .purged)
        isHolding.withLock { $0 = false }
        deaf.release()
        for _ in 0..<200 { await Task.yield() }
        #expect(try await bench.storage.records().isEmpty)
        #expect(list.current.items.isEmpty && !list.current.isLoading)
        // A later load begins the list again.
        #expect(try await list.load() == .loaded(10))
    }

    @Test(
        "Work of another repository, of another handle and of a ListSync stores nothing of a forgotten list",
        arguments: ["first", "next", "refresh", "sync"], [true, false])
    func elsewhere(work: String, byScope: Bool) async throws {
        for isOneHandle in [true, false] {
            let folder = Folder()
            let store = try await SQLitePageStore.open(at: folder.store)
            let other = isOneHandle ? store : try await SQLitePageStore.open(at: folder.store)
            let deaf = DeafSource()
            let isHolding = Mutex(false)
            let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
                if isHolding.withLock({ $0 }) { await deaf.wait() }
                return ItemPage(items: Row.list(offset..<min(offset + size, 48)), total: 48)
            }
            let list = ListRepository(storage: other, source: source).list(mine)
            if work == "next" || work == "refresh" { try await list.load() }
            isHolding.withLock { $0 = true }
            let key = mine
            let loading = Task {
                switch work {
                case "first": _ = try await list.load()
                case "next": _ = try await list.loadNext()
                case "refresh": _ = try await list.refresh()
                default: _ = try await ListSync(storage: other, source: source, key: key).run()
                }
            }
            while deaf.callers < 1 { await Task.yield() }
            let forgetting = ListRepository(
                storage: store, source: ItemSource<Row>.offsets(pageSize: 10) { _, _ in [] })
            if byScope { try await forgetting.forget(scope: "ann") } else { try await forgetting.forget(mine) }
            isHolding.withLock { $0 = false }
            deaf.release()
            try await loading.value
            #expect(try await store.records().isEmpty)
            try await list.load(.cacheOnly)
            #expect(list.current.items.isEmpty)
            if !isOneHandle { await other.close() }
            await store.close()
        }
    }

    @Test("A window that is fetched while its list is forgotten fails, and one during a reset is fetched again")
    func windows() async throws {
        let deaf = DeafSource()
        let isHolding = Mutex(true)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            if isHolding.withLock({ $0 }) { await deaf.wait() }
            return ItemPage(items: Row.list(offset..<min(offset + size, 48)), total: 48)
        }
        let repository = bench.repository(source)
        let forgotten = Task { try await repository.page(mine, offset: 20, limit: 10) }
        while deaf.callers < 1 { await Task.yield() }
        try await repository.forget(mine)
        let failure = await #expect(throws: ListFailure.self) { try await forgotten.value }
        #expect(failure?.failure.failureClass == .purged && failure?.failure.isRetryable == true)
        deaf.release()
        let reset = Task { try await repository.page(mine, offset: 20, limit: 10) }
        while deaf.callers < 1 { await Task.yield() }
        try await repository.list(mine).reset()
        isHolding.withLock { $0 = false }
        deaf.release()
        #expect(try await reset.value.items.map(\.number) == Array(20..<30))
    }

    @Test("A list sends one reset event for each removal", arguments: 0..<3)
    func oneEvent(removal: Int) async throws {
        for _ in 0..<30 {
            let repository = bench.repository(StagedOrigin())
            let list = repository.list(mine)
            var events = list.events.makeAsyncIterator()
            try await list.load()
            switch removal {
            case 0: try await repository.forget(scope: "ann")
            case 1: try await repository.forget(mine)
            default: try await list.reset()
            }
            try await list.load()
            try await list.loadAll()
            var resets = 0
            while let event = await events.next() {
                if case .reset = event { resets += 1 }
                if case .endReached = event { break }
            }
            #expect(resets == 1)
            try await list.reset()
        }
    }

    @Test("A reset keeps the pin")
    func pin() async throws {
        let list = bench.repository(StagedOrigin()).list(mine)
        try await list.load()
        try await bench.storage.pin(mine)
        try await list.reset()
        #expect(list.current.items.isEmpty)
        #expect(try await bench.storage.query(mine)?.isPinned == true)
        #expect(try await list.load() == .loaded(10))
    }

    /// A storage that cannot store a pin.
    private final class PinlessStorage: RelayedStorage {
        let storage: any PageStorage

        init(_ storage: any PageStorage) { self.storage = storage }

        func relay<Value: Sendable>(
            _ call: StorageCall, _ body: () async throws(StorageError) -> Value
        ) async throws(StorageError) -> Value {
            if call == .setPinned { throw StorageError(.internal, "no pin can be stored") }
            return try await body()
        }
    }

    @Test("A reset that removes the list and cannot store its pin again fails, and shows the list as it is: empty")
    func pinFails() async throws {
        let list = ListRepository(
            storage: PinlessStorage(bench.storage), codec: JSONItemCodec<Row>(), clock: bench.clock,
            source: { _ in StagedOrigin() }
        ).list(mine)
        var events = list.events.makeAsyncIterator()
        try await list.load()
        try await bench.storage.pin(mine)
        await #expect(throws: StorageError.self) { try await list.reset() }
        #expect(list.current.items.isEmpty && !list.current.isLoaded)
        #expect(list.current.failure?.kind == .storage)
        while let event = await events.next() { if case .reset = event { break } }
        #expect(try await list.load() == .loaded(10))
        #expect(list.current.failure == nil)
    }

    @Test("A window that is read during a reset has items in order or none, and no failure of the origin")
    func besideReset() async throws {
        let repository = bench.repository(StagedOrigin())
        let list = repository.list(mine)
        let reading = Task {
            for _ in 0..<60 {
                let window = try await repository.page(mine, offset: 20, limit: 10)
                let numbers = window.items.map(\.number)
                #expect(numbers == Array(20..<20 + numbers.count))
            }
        }
        for _ in 0..<30 {
            try await list.reset()
            await Task.yield()
        }
        try await reading.value
    }
}
