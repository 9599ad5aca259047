import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

// Several calls at once, on one list: what is joined, superseded, cancelled, or comes too late (R35, R36).
extension PagedListTests {
    /// A list with its first page, whose next one is asked for and not answered.
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

    @Test("C6: loading the next page twice at once is one request, and both get it")
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

    @Test("X2, X4, R36: a refresh wins over a next page under way; nothing is there twice, nothing is missing")
    func refreshWins() async throws {
        let origin = StagedOrigin()
        let (list, next) = try await nextUnderWay(origin)
        let refresh = Task { try await list.refresh() }
        while list.current.activity != .refreshing { await Task.yield() }
        #expect(try await list.loadNext() == .superseded, "the next page of a list that is being refreshed is nobody's")
        origin.release()
        #expect(try await next.value == .superseded)
        _ = try await refresh.value
        #expect(numbers(list) == Array(0..<10))
        #expect(try await list.loadNext() == .loaded(10))
        #expect(numbers(list) == Array(0..<20))
    }

    @Test("X3: what comes late, after a reset, is dropped", arguments: [false, true])
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

    @Test("X5: loading and refreshing at once is one request")
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

    @Test("X9, R39: no snapshot is torn, whoever commits meanwhile")
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
        "X12, X14: a call that is cancelled returns at once, shows no failure, and opens the door to no second request")
    func cancelled() async throws {
        let origin = StagedOrigin()
        let (list, next) = try await nextUnderWay(origin)
        let other = Task { try await list.loadNext() }
        for _ in 0..<200 { await Task.yield() }
        next.cancel()
        await #expect(throws: CancellationError.self) { try await next.value }
        #expect(list.current.failure == nil)
        #expect(list.current.isLoadingNext, "somebody waits for it still")
        origin.release()
        #expect(try await other.value == .joined(10))
        #expect(origin.requests.count == 2)
    }

    @Test("X14: a source that never answers is given up with the last who waits; later calls work")
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
