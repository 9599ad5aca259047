import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

// Concurrent calls on one list: joined, superseded, cancelled and late calls (R35, R36).
extension PagedListTests {
    /// Returns a list with its first page, and a task whose request for the next page is not answered yet.
    private func nextUnderWay(
        _ origin: StagedOrigin
    ) async throws -> (list: PagedList<Row>, next: Task<LoadOutcome, any Error>) {
        let list = list(origin)
        try await list.load()
        origin.hold()
        let next = Task { try await list.loadNext() }
        await origin.reached(2)
        return (list, next)
    }

    @Test("Two concurrent loads of the next page share one request and both get the page (C6)")
    func joined() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.hold()
        async let first = list.loadNext()
        await origin.reached(2)
        async let second = list.loadNext()
        while !list.current.isLoadingNext { await Task.yield() }
        for _ in 0..<100 { await Task.yield() }
        origin.release()
        #expect(try await [first, second].contains(.loaded(10)))
        #expect(origin.requests.count == 2)
        #expect(numbers(list) == Array(0..<20))
    }

    @Test("A refresh supersedes a running next page without duplicates and without losses (X2, X4, R36)")
    func refreshWins() async throws {
        let origin = StagedOrigin()
        let (list, next) = try await nextUnderWay(origin)
        let refresh = Task { try await list.refresh() }
        while list.current.activity != .refreshing { await Task.yield() }
        let second = Task { try await list.loadNext() }
        for _ in 0..<200 { await Task.yield() }
        origin.release()
        #expect(try await second.value == .superseded, "a refresh supersedes the next page")
        #expect(try await next.value == .superseded)
        _ = try await refresh.value
        #expect(numbers(list) == Array(0..<10))
        #expect(try await list.loadNext() == .loaded(10))
        #expect(numbers(list) == Array(0..<20))
    }

    @Test(
        "A loop of next pages during a refresh waits for the refresh, also if the refresh fails",
        arguments: [false, true])
    func waits(fails: Bool) async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.hold()
        if fails { origin.fail(FetchFailure.status(404)) }
        let refresh = Task { try await list.refresh() }
        await origin.reached(2)
        let outcomes = Mutex<[LoadOutcome]>([])
        let loop = Task {
            while list.current.hasMore {
                let outcome = try await list.loadNext()
                outcomes.withLock { $0.append(outcome) }
            }
        }
        for _ in 0..<2_000 { await Task.yield() }
        #expect(outcomes.withLock { $0 }.isEmpty)
        origin.release()
        try await loop.value
        #expect(outcomes.withLock { $0 } == [.superseded, .loaded(10), .loaded(10), .loaded(10), .loaded(8)])
        if fails { await #expect(throws: ListFailure.self) { try await refresh.value } }
    }

    @Test("A next page that waits for a refresh begins when the callers of the refresh have left it (X12)")
    func leftRefresh() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.ignoreCancellation()
        origin.hold()
        let refresh = Task { try await list.refresh() }
        await origin.reached(2)
        refresh.cancel()
        await #expect(throws: CancellationError.self) { try await refresh.value }
        let next = Task { try await list.loadNext() }
        for _ in 0..<200 { await Task.yield() }
        origin.failPageOne(FetchFailure.status(503))
        origin.release()
        #expect(try await next.value == .loaded(10))
    }

    @Test("An answer that arrives after a reset is dropped (X3)", arguments: [false, true])
    func lateAnswer(ignoresCancellation: Bool) async throws {
        let origin = StagedOrigin()
        if ignoresCancellation { origin.ignoreCancellation() }
        let (list, next) = try await nextUnderWay(origin)
        try await list.reset()
        origin.release()
        #expect(try await next.value == .superseded)
        for _ in 0..<1_000 { await Task.yield() }
        #expect(list.current.items.isEmpty && !list.current.isLoaded)
        #expect(try await storage.query(key) == nil)
    }

    @Test("A concurrent load and refresh share one request (X5)")
    func coalesced() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        origin.hold()
        async let load = list.load()
        await origin.reached(1)
        async let refresh = list.refresh()
        async let next = list.loadNext()
        for _ in 0..<200 { await Task.yield() }
        origin.release()
        let outcomes = try await [load, refresh, next]
        #expect(outcomes.contains(.loaded(10)))
        #expect(origin.requests.count == 1)
        #expect(numbers(list) == Array(0..<10))
    }

    @Test("Every snapshot is consistent while pages are committed (X9, R39)")
    func whole() async throws {
        let origin = StagedOrigin(200)
        let list = list(origin)
        let snapshots = list.snapshots
        let watching = Task {
            var torn = 0
            for await snapshot in snapshots {
                let rows = Array(snapshot.items)
                if rows.map(\.number) != Array(0..<rows.count) { torn += 1 }
                if snapshot.isLoaded, snapshot.total != .exact(200) { torn += 1 }
                if rows.count == 200 { break }
            }
            return torn
        }
        try await list.loadAll()
        #expect(await watching.value == 0)
    }

    @Test(
        "A cancelled call returns at once, shows no failure, and causes no second request (X12, X14)")
    func cancelled() async throws {
        let origin = StagedOrigin()
        let (list, next) = try await nextUnderWay(origin)
        let other = Task { try await list.loadNext() }
        for _ in 0..<200 { await Task.yield() }
        next.cancel()
        await #expect(throws: CancellationError.self) { try await next.value }
        #expect(list.current.failure == nil)
        #expect(list.current.isLoadingNext, "another call still waits for it")
        origin.release()
        #expect(try await other.value == .joined(10))
        #expect(origin.requests.count == 2)
    }

    @Test("A source that never answers is cancelled with its last caller, and a later load succeeds (X14)")
    func neverAnswers() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        origin.hold()
        let load = Task { try await list.load() }
        await origin.reached(1)
        load.cancel()
        await #expect(throws: CancellationError.self) { try await load.value }
        while list.current.activity != .idle { await Task.yield() }
        #expect(list.current.failure == nil)
        origin.release()
        #expect(try await list.load() == .loaded(10))
    }
}
