import PageModel
import PagedRepositoryTesting
import StorageSupport
import Testing

@testable import PagedRepository

@Suite("Freshness of lists")
struct FreshnessTests {
    private let storage = MemoryStorage(clock: ManualClock())
    private var clock: ManualClock { storage.manualClock }
    private let key = QueryKey("rows")

    private func list(
        _ origin: any PageSource, _ change: (inout PagedListOptions) -> Void = { _ in }
    ) -> PagedList<Row> {
        var options = PagedListOptions()
        options.sync.overlap = 0
        change(&options)
        return ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), options: options, clock: clock, jitter: { 0.5 },
            source: { _ in origin }
        ).list(key)
    }

    private var record: QueryRecord {
        get async throws { try #require(try await storage.query(key)) }
    }

    // MARK: Invalidated lists

    @Test("An invalidated list is stale for every reader, also after a restart, until page one is refreshed")
    func everybody() async throws {
        let origin = StagedOrigin()
        let (one, other) = (list(origin), list(origin))
        try await one.load()
        let confirmed = try await record.validatedAt
        try await one.invalidate()
        #expect(one.current.freshness == .stale)
        #expect(one.current.validatedAt == confirmed, "the time of the last validation stays")
        #expect(origin.requests.count == 1, "invalidating a list makes no request")
        try await other.load(.cacheOnly)
        #expect(other.current.freshness == .stale)
        try await other.load(.refreshIfStale)
        #expect(origin.requests.count == 2)
        try await one.load(.refreshIfStale)
        #expect(one.current.freshness == .fresh)
        #expect(origin.requests.count == 2, "page one was already refreshed")
    }

    @Test("A page read with originFirst refreshes page one of a fresh list, and serves cached items when that fails")
    func pageOriginFirst() async throws {
        let origin = StagedOrigin()
        let repository = ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: clock, jitter: { 0.5 }, source: { _ in origin })
        try await repository.list(key).load()
        #expect(try await repository.page(key, offset: 0, limit: 5).freshness == .fresh)
        #expect(origin.requests.count == 1)
        origin.rows[0].number = 99
        let window = try await repository.page(key, offset: 0, limit: 5, policy: .originFirst)
        #expect(origin.requests.count == 2)
        #expect(window.items.first?.number == 99)
        origin.fail(FetchFailure(.transport, "away", isRetryable: true))
        #expect(try await repository.page(key, offset: 0, limit: 5, policy: .originFirst).items.count == 5)
        #expect(origin.requests.count == 3)
    }

    @Test("Observers of a list are notified when it is invalidated")
    func observers() async throws {
        let origin = StagedOrigin()
        let (one, other) = (list(origin), list(origin))
        try await one.load()
        var seen = other.snapshots.makeAsyncIterator()
        while let snapshot = await seen.next(), snapshot.freshness != .fresh {}
        try await one.invalidate()
        while let snapshot = await seen.next(), snapshot.freshness != .stale {}
        #expect(other.current.freshness == .stale)
    }

    @Test("Invalidating a list that is not stored does nothing and stores nothing")
    func unknown() async throws {
        try await list(StagedOrigin()).invalidate()
        #expect(try await storage.query(key) == nil)
    }

    @Test("A refresh that fails leaves the list stale")
    func failed() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        try await list.invalidate()
        origin.fail(FetchFailure(.transport, "away", isRetryable: true))
        await #expect(throws: ListFailure.self) { try await list.load(.refreshIfStale) }
        #expect(list.current.freshness == .stale)
        #expect(list.current.items.count == 10)
    }

    @Test("A list stays stale after an answer that was requested before the list was invalidated")
    func underWay() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.hold()
        let refresh = Task { try await list.refresh() }
        await origin.reached(2)
        clock.advance(by: .seconds(1))
        try await list.invalidate()
        clock.advance(by: .seconds(1))
        origin.release()
        _ = try await refresh.value
        #expect(list.current.freshness == .stale)
        #expect(try await record.validatedAt == clock.now())
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 3)
        #expect(list.current.freshness == .fresh)
    }

    @Test("A window of an invalidated list is fetched again")
    func windows() async throws {
        let origin = StagedOrigin()
        let repository = ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: clock, jitter: { 0.5 }, source: { _ in origin })
        _ = try await repository.page(key, offset: 0, limit: 10)
        let before = origin.requests.count
        _ = try await repository.page(key, offset: 0, limit: 10)
        #expect(origin.requests.count == before)
        try await repository.list(key).invalidate()
        let cached = try await repository.page(key, offset: 0, limit: 10, policy: .cacheOnly)
        #expect(cached.freshness == .stale)
        #expect(cached.validatedAt == clock.now(), "the validation time stays (R12)")
        _ = try await repository.page(key, offset: 0, limit: 10)
        #expect(origin.requests.count == before + 1)
    }

    @Test(
        "The range of a window is clamped to the possible positions of a list (R44)",
        arguments: [
            (Int.max, Int.max), (Int.min, Int.min), (-5, Int.max), (1 << 53, 20),
        ])
    func beyondEverything(offset: Int, limit: Int) async throws {
        let origin = StagedOrigin()
        let repository = ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: clock, jitter: { 0.5 }, source: { _ in origin })
        _ = try await repository.page(key, offset: 0, limit: 10)
        let window = try await repository.page(key, offset: offset, limit: limit, policy: .cacheOnly)
        #expect(window.range.lowerBound >= 0 && window.range.upperBound <= ListTotal.largest)
        #expect(window.items.isEmpty == (offset != -5))
    }

    @Test("An invalidated list is due at once in the background, and is refreshed once")
    func background() async throws {
        let origin = StagedOrigin(8)
        let list = list(origin)
        try await list.load()
        try await storage.setPinned(true, record.id)
        clock.advance(by: .seconds(5))
        var options = EngineOptions()
        options.spread = .zero
        let engine = SyncEngine(
            storage: storage, options: options, clock: clock, jitter: { 0.5 }, origin: { _ in .init("origin", origin) })
        let running = Task { try await engine.run() }
        try await list.invalidate()
        while try await record.isInvalidated { await Task.yield() }
        let asked = origin.requests.count
        for _ in 0..<200 { await Task.yield() }
        #expect(asked == 2 && origin.requests.count == 2)
        running.cancel()
        try await running.value
    }

    // MARK: The origin's max-age

    @Test(
        "The origin's max-age decides how long page one is fresh, up to an hour",
        arguments: [(10, 10), (600, 600), (86_400, 3_600), (0, 0)])
    func taken(said: Int, staleAfter: Int) async throws {
        let origin = MarkedOrigin(StagedOrigin()) { _, page in page.freshFor = .seconds(said) }
        let list = list(origin)
        try await list.load()
        #expect(try await record.freshFor == .seconds(said))
        if staleAfter > 0 { clock.advance(by: .seconds(staleAfter) - .milliseconds(1)) }
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == (staleAfter > 0 ? 1 : 2))
        clock.advance(by: .milliseconds(1))
        try await list.load(.cacheOnly)
        #expect(list.current.freshness == .stale)
    }

    @Test("A policy that ignores the origin's max-age uses its own age")
    func ignored() async throws {
        let origin = MarkedOrigin(StagedOrigin()) { _, page in page.freshFor = .seconds(1) }
        let list = list(origin) { $0.freshness.originLifetime = .ignored }
        try await list.load()
        clock.advance(by: .seconds(59))
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 1)
    }

    @Test("A 304 renews the previous max-age, and an answer without a max-age removes it (R16)")
    func renewed() async throws {
        let validator = Validator(request: "first", entityTag: "\"v1\"", lastModified: nil, coversTotal: true)
        let origin = MarkedOrigin(StagedOrigin()) { request, page in
            page.freshFor = .seconds(600)
            if request.target == .first { page.validator = validator }
        }
        let list = list(origin)
        try await list.load()
        clock.advance(by: .seconds(601))
        try await list.load(.refreshIfStale)
        #expect(origin.requests.last?.validator == validator)
        #expect(try await record.freshFor == .seconds(600))
        clock.advance(by: .seconds(599))
        try await list.load(.refreshIfStale)
        #expect(origin.requests.count == 2)
        origin.mark { _, _ in }
        try await list.refresh()
        #expect(try await record.freshFor == nil)
    }

    @Test("Only the max-age of page one counts")
    func otherPages() async throws {
        let origin = MarkedOrigin(StagedOrigin()) { request, page in
            page.freshFor = request.target == .first ? nil : .seconds(5)
        }
        let list = list(origin)
        try await list.load()
        try await list.loadNext()
        #expect(try await record.freshFor == nil)
    }
}
