import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// What the four libraries that this one started from promise: cases C1–C25 and X1–X15 of the article ComingFrom.
@Suite("A list")
struct PagedListTests {
    private let storage = MemoryStorage()
    private let clock = ManualClock()
    private let key = QueryKey("rows")

    private func repository(
        _ origin: StagedOrigin, _ change: (inout PagedListOptions) -> Void = { _ in }
    ) -> PagedRepository<Row> {
        var options = PagedListOptions()
        // Pages are counted in these tests: no item is asked for twice.
        options.sync.overlap = 0
        options.sync.concurrency = 1
        change(&options)
        return PagedRepository(
            storage: storage, codec: JSONItemCodec<Row>(), options: options, clock: clock, chance: { 0.5 }, source: { _ in origin })
    }

    private func list(_ origin: StagedOrigin, _ change: (inout PagedListOptions) -> Void = { _ in }) -> PagedList<Row> {
        repository(origin, change).list(key)
    }

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

    private let away = FetchFailure(.transport, "the origin is not heard", isRetryable: true)
    private let refused = FetchFailure(.refused, "no", isRetryable: false, httpStatus: 400)

    private func numbers(_ list: PagedList<Row>) -> [Int] { list.current.items.map(\.number) }

    @Test("C1, C2, R34: made, it is empty, idle, and has asked nobody for anything")
    func initial() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        let snapshot = list.current
        #expect(snapshot.items.isEmpty && snapshot.total == .unknown && snapshot.pagesLoaded == 0)
        #expect(snapshot.hasMore && !snapshot.isLoaded && snapshot.failure == nil)
        #expect(snapshot.displayState == .nothing)
        #expect(origin.requests.isEmpty)
        #expect(try await storage.query(key) == nil)
    }

    @Test("C3, C4, C5, C17: pages come in order, the last one partial, and their number is the total", arguments: [0, 1, 9, 10, 11, 40, 41, 48, 49, 50])
    func pages(count: Int) async throws {
        let origin = StagedOrigin(count)
        let list = list(origin)
        try await list.load()
        #expect(numbers(list) == Array(0..<min(10, count)))
        var outcomes: [LoadOutcome] = []
        while list.current.hasMore { outcomes.append(try await list.loadNext()) }
        #expect(numbers(list) == Array(0..<count))
        #expect(list.current.total == .exact(count))
        #expect(outcomes.allSatisfy { if case .loaded(1...) = $0 { true } else { false } })
        #expect(list.current.pagesLoaded == max(count == 0 ? 0 : 1, (count + 9) / 10))
        #expect(origin.requests.count == max(1, (count + 9) / 10))
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

    @Test("C7: at the end, nothing is asked")
    func atEnd() async throws {
        let origin = StagedOrigin(12)
        let list = list(origin)
        try await list.load()
        try await list.loadNext()
        #expect(try await list.loadNext() == .endReached)
        #expect(origin.requests.count == 2)
        #expect(list.current.displayState == .items)
    }

    @Test("C8, C9: what is loading is said while it is, and the end only when it has come; a reset takes it back")
    func flags() async throws {
        let origin = StagedOrigin(15)
        let list = list(origin)
        var seen: [ListSnapshot<Row>.Activity] = []
        origin.hold()
        let loading = Task { try await list.load() }
        await origin.reached(1)
        seen.append(list.current.activity)
        origin.release()
        _ = try await loading.value
        seen.append(list.current.activity)
        #expect(list.current.hasMore)
        origin.hold()
        let next = Task { try await list.loadNext() }
        await origin.reached(2)
        seen.append(list.current.activity)
        #expect(list.current.hasMore, "the last page has not come")
        #expect(list.current.displayState == .loadingNext)
        origin.release()
        _ = try await next.value
        seen.append(list.current.activity)
        #expect(seen == [.loadingFirst, .idle, .loadingNext, .idle])
        #expect(!list.current.hasMore)
        try await list.reset()
        #expect(list.current.hasMore && list.current.items.isEmpty)
    }

    @Test("C10, R37: the last failure is there until the retry starts")
    func lastFailure() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        #expect(list.current.failure == nil)
        origin.fail(refused)
        await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.failure?.kind == .first)
        #expect(list.current.displayState == .firstFailed(ListFailure(.first, refused)))
        origin.hold()
        let retry = Task { try await list.retry() }
        await origin.reached(2)
        #expect(list.current.failure == nil, "as soon as it starts")
        origin.release()
        _ = try await retry.value
        #expect(list.current.failure == nil)
        origin.fail(refused)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(list.current.failure?.kind == .next)
        try await list.reset()
        #expect(list.current.failure == nil)
    }

    @Test("C11: a failure keeps the items, and the retry asks for the very same page", arguments: [PagingAccess.offsets, .chain])
    func samePage(access: PagingAccess) async throws {
        let origin = StagedOrigin(access: access)
        let list = list(origin)
        try await list.load()
        origin.fail(away)
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.failure.failureClass == .transport)
        #expect(numbers(list) == Array(0..<10))
        #expect(try await list.retry() == .loaded(10))
        #expect(origin.requests[1].target == origin.requests[2].target)
        #expect(numbers(list) == Array(0..<20))
        #expect(list.current.failure == nil)
    }

    @Test("C12, X1: page one can fail, is told apart from later pages, and is no dead end")
    func firstPage() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        origin.fail(away)
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.kind == .first)
        #expect(try await list.loadNext() == .loaded(10))
    }

    @Test("a source's own error reaches the caller, as it was thrown")
    func ownError() async throws {
        struct Mine: Error, Equatable { var number: Int }
        let fetch: @Sendable (Int, Int) async throws -> [Row] = { _, _ in throw Mine(number: 7) }
        let source = try ItemSource<Row>.offsets(pageSize: 10, fetch: fetch)
        let repository = PagedRepository(storage: storage, codec: JSONItemCodec<Row>(), clock: clock, source: { _ in source })
        let failure = await #expect(throws: ListFailure.self) { try await repository.list(key).load() }
        #expect(failure?.cause as? Mine == Mine(number: 7))
        #expect(failure?.kind == .first)
    }

    @Test("C13: a refresh that finds another list shows its page one; the old pages are not mixed in, and stay behind")
    func anotherList() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.loadAll()
        origin.rows = (100..<148).map(StagedOrigin.row)
        try await list.refresh()
        #expect(numbers(list) == Array(100..<110))
        #expect(list.current.runs.contains { !$0.isHeld && $0.items.contains { $0.number == 20 } })
        try await list.loadAll()
        #expect(numbers(list) == Array(100..<148))
        #expect(list.current.runs.count == 1)
    }

    @Test("C14, R14: a refresh that fails takes nothing away")
    func refreshFails() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.fail(away)
        let failure = await #expect(throws: ListFailure.self) { try await list.refresh() }
        #expect(failure?.kind == .refresh)
        #expect(numbers(list) == Array(0..<10))
        #expect(list.current.displayState == .refreshFailed(try #require(failure)))
    }

    @Test("C15: a reset clears the list, in the storage too, and tells it afterwards")
    func reset() async throws {
        let list = list(StagedOrigin())
        try await list.load()
        var events = list.events.makeAsyncIterator()
        try await list.reset()
        #expect(list.current.items.isEmpty)
        #expect(try await storage.query(key) == nil)
        while let event = await events.next() { if case .reset = event { break } }
        #expect(!list.current.isLoaded)
    }

    @Test("C16, C23: a source that answers at once works, also when more is loaded from where the event is heard; the end is told once")
    func synchronous() async throws {
        let list = list(StagedOrigin(35))
        let events = list.events
        try await list.load()
        var ends = 0
        var ranges: [Range<Int>] = []
        let loading = Task { while list.current.hasMore { try await list.loadNext() } }
        for await event in events {
            if case .pageLoaded(let range, let rows) = event {
                ranges.append(range)
                #expect(rows.map(\.number) == Array(range), "C24: an event carries its range and its items")
            }
            if case .endReached = event {
                ends += 1
                #expect(try await list.loadNext() == .endReached)
                break
            }
        }
        try await loading.value
        #expect(ends == 1)
        #expect(ranges.last == 30..<35)
    }

    @Test("C18: an empty page one is a list that was loaded, and is empty")
    func empty() async throws {
        let list = list(StagedOrigin(0))
        #expect(try await list.load() == .loaded(0))
        #expect(list.current.isLoaded && !list.current.hasMore)
        #expect(list.current.displayState == .empty)
        #expect(try await list.loadNext() == .endReached)
    }

    @Test("C19: without totals, the end costs one empty answer at most", arguments: [40, 41])
    func shortPageEnd(count: Int) async throws {
        let origin = StagedOrigin(count, total: nil)
        let list = list(origin)
        try await list.load()
        for _ in 0..<10 where list.current.hasMore { _ = try await list.loadNext() }
        #expect(numbers(list) == Array(0..<count))
        #expect(!list.current.hasMore)
        #expect(origin.requests.count <= 6)
    }

    @Test("C21, X6: what comes or goes at the head between two pages leads to no duplicate and no hole", arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func drift(access: PagingAccess) async throws {
        let origin = StagedOrigin(access: access)
        let list = list(origin) { $0.sync.overlap = 1 }
        try await list.load()
        try await list.loadNext()
        origin.rows.insert(StagedOrigin.row(1_000), at: 0)
        origin.rows.remove(at: 15)
        origin.rows.insert(StagedOrigin.row(1_001), at: 3)
        for _ in 0..<20 where list.current.hasMore { _ = try await list.loadNext() }
        try await list.loadAll()
        let ids = list.current.items.map(\.id)
        #expect(Set(ids).count == ids.count)
        #expect(list.current.items.count == origin.rows.count)
        if access != .chain { #expect(Array(list.current.items) == origin.rows) }
    }

    @Test("C19, R24: a page one that items were spliced into is no measure of a full page: the list does not end early")
    func splicedHead() async throws {
        let origin = StagedOrigin(48, total: nil)
        let list = list(origin)
        try await list.load()
        origin.rows.insert(StagedOrigin.row(1_000), at: 0)
        for _ in 0..<20 where list.current.hasMore { _ = try await list.loadNext() }
        #expect(list.current.items.count >= 48, "\(list.current.items.count)")
        try await list.loadAll()
        #expect(Array(list.current.items) == origin.rows)
    }

    @Test("C22: page one comes by itself, or by asking for the next page")
    func byNext() async throws {
        let list = list(StagedOrigin())
        #expect(try await list.loadNext() == .loaded(10))
        #expect(numbers(list) == Array(0..<10))
    }

    @Test("C25: after a next page has failed, scrolling does not try again; only an explicit call does")
    func gate() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.fail(away)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        for position in 0..<10 { await list.prefetch(from: position) }
        #expect(origin.requests.count == 2)
        #expect(try await list.retry() == .loaded(10))
        await list.prefetch(from: 19)
        #expect(origin.requests.count > 3)
    }

    @Test("C25: unless it was told to go by the ledger; then it tries when it is time")
    func gateByLedger() async throws {
        let origin = StagedOrigin()
        let list = list(origin) { $0.automaticRetry = .perLedger }
        try await list.load()
        origin.fail(away)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        await list.prefetch(from: 9)
        #expect(origin.requests.count == 2)
        clock.advance(by: .seconds(1))
        await list.prefetch(from: 9)
        #expect(origin.requests.count > 2)
        #expect(list.current.items.count >= 20)
    }

    // MARK: What went wrong elsewhere

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

    @Test("X7: short and oversized pages: the next offset counts what came", arguments: [3, 17])
    func otherSizes(size: Int) async throws {
        let origin = StagedOrigin(48, size: size)
        let list = list(origin)
        try await list.load()
        for _ in 0..<30 where list.current.hasMore { _ = try await list.loadNext() }
        #expect(numbers(list) == Array(0..<48))
    }

    @Test("X8: a page size that is none is refused when the source is made", arguments: [0, -1])
    func pageSize(size: Int) {
        #expect(throws: SourceDefinitionError.self) {
            try ItemSource<Row>.offsets(pageSize: size) { _, _ in [Row]() }
        }
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

    @Test("X10: after a failure nothing is loading")
    func idleAfterFailure() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        origin.fail(away, away)
        await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.activity == .idle && !list.current.isLoading)
        await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(list.current.activity == .idle)
    }

    @Test("X11: what is displayed equals itself, and differs when failures do")
    func displayStates() {
        let one = ListFailure(.next, away)
        let states: [DisplayState] = [
            .nothing, .empty, .items, .loadingFirst, .firstFailed(one), .refreshing, .refreshFailed(one), .loadingNext,
            .nextFailed(one), .nextFailed(ListFailure(.next, refused)),
        ]
        for (index, state) in states.enumerated() {
            for (other, another) in states.enumerated() { #expect((state == another) == (index == other)) }
        }
    }

    @Test("X12, X14: a call that is cancelled returns at once, shows no failure, and opens the door to no second request")
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

    @Test("X13: looking at items fetches ahead, as far as the options say, and no further")
    func prefetch() async throws {
        let origin = StagedOrigin(200)
        let list = list(origin) {
            $0.prefetchDistance = 2
            $0.prefetchLimit = 3
        }
        try await list.load()
        await list.prefetch(from: 0)
        #expect(list.current.items.count == 30, "two pages ahead of the first item's")
        await list.prefetch(from: 5)
        #expect(list.current.items.count == 30)
        await list.prefetch(from: 29)
        #expect(list.current.items.count == 60, "at most three pages at a time")
        try await list.refresh()
        await list.prefetch(from: 0)
        #expect(list.current.items.count == 60, "a refresh forgets how far somebody has looked")
    }

    @Test("X13: a prefetch that fails is silent, and in the ledger; whoever gets to the end sees it")
    func silentPrefetch() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.fail(away)
        await list.prefetch(from: 5)
        #expect(origin.requests.count == 2)
        #expect(list.current.failure == nil)
        #expect(list.current.failingPages == 1)
        await list.prefetch(from: 9)
        #expect(list.current.failure?.kind == .next)
        #expect(origin.requests.count == 2)
    }

    @Test("X15: pages that overlap by an item are put together without it")
    func overlapping() async throws {
        let origin = StagedOrigin()
        let list = list(origin) { $0.sync.overlap = 1 }
        try await list.load()
        while list.current.hasMore { _ = try await list.loadNext() }
        #expect(numbers(list) == Array(0..<48))
        #expect(list.current.inferredSeams == 0)
    }

    // MARK: What we add

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
                query: record.id, version: record.version, at: clock.now(),
                edits: [.splice(10..<20, PageWrite(offset: 10, content: named((10..<20).map { "r\($0)" }), evidence: .inferred))]))
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

    @Test("a list that another repository has emptied, and one that nobody had stored when it was listened to, are shown as they are")
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

    @Test("R22: a cursor that is refused costs a walk up to the next page, and no further")
    func refusedCursor() async throws {
        let origin = StagedOrigin(200, access: .chain)
        let list = list(origin)
        for _ in 0..<3 { try await list.loadNext() }
        let before = origin.requests.count
        origin.fail(FetchFailure(.refused, "gone", isRetryable: false, httpStatus: 410))
        _ = try await list.loadNext()
        #expect(numbers(list) == Array(0..<40))
        #expect(origin.requests.count - before == 1 + 4)
    }

    @Test("a listener that never listens holds up nobody")
    func neverReads() async throws {
        let list = list(StagedOrigin(500))
        let forgotten = (list.snapshots, list.events)
        try await list.loadAll()
        #expect(list.current.items.count == 500)
        withExtendedLifetime(forgotten) {}
    }

    @Test("the model shows what the list shows, and follows it")
    @MainActor func model() async throws {
        let list = list(StagedOrigin(15))
        let model = PagedListModel(list)
        let running = Task { await model.run() }
        while model.items.count < 10 { await Task.yield() }
        #expect(model.displayState == .items || model.displayState == .refreshing)
        await model.loadNext()
        while model.items.count < 15 { await Task.yield() }
        #expect(!model.hasMore)
        running.cancel()
        await running.value
    }
}
