import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

// What is in the storage, whoever brought it: after a restart, for other lists and repositories, for any part of a
// list.
extension PagedListTests {
    @Test("R10: what was loaded is there after a restart, at once, and with the origin away")
    func restart() async throws {
        let origin = StagedOrigin()
        try await list(origin).loadAll()
        let again = list(origin)
        origin.hold()
        let loading = Task { try await again.load() }
        await origin.reached(6)
        #expect(numbers(again) == Array(0..<48), "before the origin has answered")
        #expect(again.current.activity == .refreshing)
        origin.release()
        _ = try await loading.value
        origin.fail(away)
        #expect(try await again.load(.originFirst) == .loaded(0), "R13: the cache stands in")
        #expect(numbers(again) == Array(0..<48))
    }

    @Test("R13: policies")
    func policies() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        #expect(try await list.load(.cacheOnly) == .loaded(0))
        #expect(origin.requests.isEmpty)
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 1)
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 1, "it is fresh")
        clock.advance(by: .seconds(61))
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 2)
        try await list.invalidate()
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 3)
        try await list.load(.cacheThenRefresh)
        #expect(origin.requests.count == 4)
    }

    @Test("lists of one key are one list: what one loads, the other shows")
    func shared() async throws {
        let origin = StagedOrigin()
        let repository = repository(origin)
        let (one, other) = (repository.list(key), repository.list(key))
        try await one.load()
        #expect(numbers(other) == Array(0..<10))
        #expect(origin.requests.count == 1)
    }

    @Test("any part of a long list can be had, without the rest; what is missing is said")
    func randomAccess() async throws {
        let origin = StagedOrigin(1_000)
        let repository = repository(origin)
        let window = try await repository.page(key, offset: 503, limit: 20)
        #expect(window.items.map(\.number) == Array(503..<523))
        #expect(window.missing.isEmpty && window.total == .exact(1_000))
        #expect(origin.requests.count <= 4)
        let before = origin.requests.count
        #expect(try await repository.page(key, offset: 510, limit: 5).items.map(\.number) == Array(510..<515))
        #expect(origin.requests.count == before, "it is cached")
        let last = try await repository.page(key, offset: 990, limit: 50)
        #expect(last.items.map(\.number) == Array(990..<1_000))
        #expect(last.missing.isEmpty, "nothing is missing behind the end")
        let none = try await repository.page(key, offset: 100, limit: 10, policy: .cacheOnly)
        #expect(none.items.isEmpty && none.missing == [100..<110])
        #expect(try await repository.item(id: "r505", in: key)?.number == 505)
        #expect(try await repository.item(id: "r100", in: key) == nil)
    }

    @Test("R7: items that no longer decode are left out and said, and fetched again; nothing crashes")
    func undecodable() async throws {
        let origin = StagedOrigin(30)
        try await list(origin).loadAll()
        let record = try #require(try await storage.query(key))
        _ = try await storage.commit(
            CommitPlan(
                query: record.id, version: record.version,
                edits: [
                    .splice(
                        10..<20, PageWrite(offset: 10, content: named((10..<20).map { "r\($0)" }), evidence: .inferred))
                ]))
        let list = list(origin)
        try await list.load(.cacheOnly)
        #expect(numbers(list) == Array(0..<10))
        #expect(list.current.unusable == [10..<20])
        #expect(list.current.runs.map(\.range) == [0..<10, 20..<30])
        try await list.loadAll()
        try await list.refresh()
        try await list.loadAll()
        #expect(numbers(list) == Array(0..<30))
        #expect(list.current.unusable.isEmpty)
    }

    @Test("snapshots: several listen, each gets the current one first; what another repository commits is shown, too")
    func listeners() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        var first = list.snapshots.makeAsyncIterator()
        var second = list.snapshots.makeAsyncIterator()
        #expect(await first.next()?.items.count == 10)
        #expect(await second.next()?.items.count == 10)
        // Another process, as far as this list can see.
        try await self.list(origin).loadAll()
        while let snapshot = await first.next(), snapshot.items.count < 48 {}
        while let snapshot = await second.next(), snapshot.items.count < 48 {}
        #expect(numbers(list) == Array(0..<48))
    }

    @Test(
        "a list that another repository has emptied, and one that nobody had stored when it was listened to, are shown as they are"
    )
    func elsewhere() async throws {
        let origin = StagedOrigin()
        let (here, there) = (list(origin), list(origin))
        var snapshots = here.snapshots.makeAsyncIterator()
        try await there.loadAll()
        while let snapshot = await snapshots.next(), snapshot.items.count < 48 {}
        try await there.reset()
        while let snapshot = await snapshots.next(), !snapshot.items.isEmpty {}
        try await there.load()
        while let snapshot = await snapshots.next(), snapshot.items.count != 10 {}
        try await here.reset()
        #expect(try await storage.query(key) == nil)
        let deaf = list(origin)
        try await deaf.load()
        try await there.reset()
        try await there.load()
        try await deaf.load(.cacheOnly)
        #expect(numbers(deaf) == Array(0..<10))
        try await deaf.reset()
        #expect(try await storage.query(key) == nil)
    }
}
