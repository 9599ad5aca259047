import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

// Stored items, whichever list or process loaded them: after a restart, in other lists and repositories, and for any
// part of a list.
extension PagedListTests {
    @Test("Loaded items are available at once after a restart, also while the origin is unreachable (R10)")
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
        #expect(try await again.load(.originFirst) == .cached, "serving cached items (R13)")
        #expect(numbers(again) == Array(0..<48))
    }

    @Test("Each load policy makes only the requests that it promises (R13)")
    func policies() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        #expect(try await list.load(.cacheOnly) == .cached)
        #expect(origin.requests.isEmpty)
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 1)
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 1, "the list is fresh")
        clock.advance(by: .seconds(61))
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 2)
        try await list.invalidate()
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 3)
        try await list.load(.cacheThenRefresh)
        #expect(origin.requests.count == 4)
    }

    @Test("Lists of one key are one list: items loaded by one appear in the other")
    func shared() async throws {
        let origin = StagedOrigin()
        let repository = repository(origin)
        let (one, other) = (repository.list(key), repository.list(key))
        try await one.load()
        #expect(numbers(other) == Array(0..<10))
        #expect(origin.requests.count == 1)
    }

    @Test("Any part of a long list can be read on its own, and missing positions are reported")
    func randomAccess() async throws {
        let origin = StagedOrigin(1_000)
        let repository = repository(origin)
        let window = try await repository.page(key, offset: 503, limit: 20)
        #expect(window.items.map(\.number) == Array(503..<523))
        #expect(window.missing.isEmpty && window.total == .exact(1_000))
        #expect(origin.requests.count <= 4)
        let before = origin.requests.count
        #expect(try await repository.page(key, offset: 510, limit: 5).items.map(\.number) == Array(510..<515))
        #expect(origin.requests.count == before, "the items are cached")
        let last = try await repository.page(key, offset: 990, limit: 50)
        #expect(last.items.map(\.number) == Array(990..<1_000))
        #expect(last.missing.isEmpty, "no position is missing after the end")
        let none = try await repository.page(key, offset: 100, limit: 10, policy: .cacheOnly)
        #expect(none.items.isEmpty && none.missing == [100..<110])
        #expect(try await repository.item(id: "r505", in: key)?.number == 505)
        #expect(try await repository.item(id: "r100", in: key) == nil)
    }

    @Test("Items that no longer decode are left out, reported and fetched again without a crash (R7)")
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
        #expect(numbers(list) == Array(0..<10) + Array(20..<30))
        #expect(list.current.unusable == [10..<20] && list.current.undecodable == [10..<20])
        #expect(list.current.position(ofItem: 9) == 9 && list.current.position(ofItem: 10) == 20)
        #expect(list.current.segments.map(\.range) == [0..<10, 20..<30])
        try await list.refresh()
        #expect(numbers(list) == Array(0..<30))
        #expect(list.current.unusable.isEmpty && list.current.undecodable.isEmpty)
    }

    @Test("Each of several observers gets the current snapshot first, and then the commits of other repositories")
    func listeners() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        var first = list.snapshots.makeAsyncIterator()
        var second = list.snapshots.makeAsyncIterator()
        #expect(await first.next()?.items.count == 10)
        #expect(await second.next()?.items.count == 10)
        // The commits of another list, like those of another process.
        try await self.list(origin).loadAll()
        while let snapshot = await first.next(), snapshot.items.count < 48 {}
        while let snapshot = await second.next(), snapshot.items.count < 48 {}
        #expect(numbers(list) == Array(0..<48))
    }

    @Test(
        "An observed list shows that another repository emptied it, or stored it for the first time"
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
