import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Testing

/// The promises of the four libraries that this one started from: cases C1–C25 and X1–X15 of the article ComingFrom.
@Suite("Paged list")
struct PagedListTests {
    let storage = MemoryStorage(clock: ManualClock())
    var clock: ManualClock { storage.manualClock }
    let key = QueryKey("rows")

    func repository(
        _ origin: StagedOrigin, _ change: (inout PagedListOptions) -> Void = { _ in }
    ) -> ListRepository<Row> {
        var options = PagedListOptions()
        // Pages are fetched without overlap, because these tests count requests.
        options.sync.overlap = 0
        options.sync.concurrency = 1
        change(&options)
        return ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), options: options, clock: clock, jitter: { 0.5 },
            source: { _ in origin })
    }

    func list(_ origin: StagedOrigin, _ change: (inout PagedListOptions) -> Void = { _ in }) -> PagedList<Row> {
        repository(origin, change).list(key)
    }

    let away = FetchFailure(.transport, "the origin does not answer", isRetryable: true)
    let refused = FetchFailure(.rejected, "no", isRetryable: false, httpStatus: 400)

    func numbers(_ list: PagedList<Row>) -> [Int] { list.current.items.map(\.number) }

    @Test("A new list is empty and idle and has made no request (C1, C2, R34)")
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

    @Test(
        "Pages arrive in order, the last one partial, and their items add up to the total (C3, C4, C5, C17)",
        arguments: [0, 1, 9, 10, 11, 40, 41, 48, 49, 50])
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

    @Test("changes(since:) returns each change of the stored list once, and sends no request (R48)")
    func changes() async throws {
        let origin = StagedOrigin(25)
        let list = list(origin)
        #expect(try await list.changes(since: nil) == nil, "the list is not stored yet")
        try await list.load()
        guard case .entries([], let start, false)? = try await list.changes(since: nil) else {
            return #expect(Bool(false), "the present version has no entries")
        }
        try await list.loadNext()
        let requests = origin.requests.count
        guard case .entries(let entries, let reached, false)? = try await list.changes(since: start) else {
            return #expect(Bool(false), "the journal reaches back to the version")
        }
        #expect(entries.flatMap(\.changes) == [.loaded(10..<20)])
        #expect(try await list.changes(since: reached) == .entries([], reached: reached, hasMore: false))
        let other = ContentVersion(counter: reached.counter, stamp: reached.stamp ^ 1)
        #expect(try await list.changes(since: other) == .truncated(current: reached))
        #expect(origin.requests.count == requests)
    }

    @Test("A load at the end makes no request (C7)")
    func atEnd() async throws {
        let origin = StagedOrigin(12)
        let list = list(origin)
        try await list.load()
        try await list.loadNext()
        #expect(try await list.loadNext() == .endReached)
        #expect(origin.requests.count == 2)
        #expect(list.current.displayState == .items)
    }

    @Test("A list reports its activity while it loads, and its end once it is reached; a reset clears the end (C8, C9)")
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
        #expect(list.current.hasMore, "the last page has not arrived")
        #expect(list.current.displayState == .loadingNext)
        origin.release()
        _ = try await next.value
        seen.append(list.current.activity)
        #expect(seen == [.loadingFirst, .idle, .loadingNext, .idle])
        #expect(!list.current.hasMore)
        try await list.reset()
        #expect(list.current.hasMore && list.current.items.isEmpty)
    }

    @Test("A refresh that finds another list shows its page one; the old pages are kept apart and stay stored (C13)")
    func anotherList() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.loadAll()
        origin.rows = (100..<148).map(StagedOrigin.row)
        try await list.refresh()
        #expect(numbers(list) == Array(100..<110))
        #expect(list.current.segments.contains { !$0.isHeld && $0.items.contains { $0.number == 20 } })
        try await list.loadAll()
        #expect(numbers(list) == Array(100..<148))
        #expect(list.current.segments.count == 1)
    }

    @Test("A reset clears the list and its storage, and reports it afterwards (C15)")
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

    @Test("An empty page one makes the list loaded and empty (C18)")
    func empty() async throws {
        let list = list(StagedOrigin(0))
        #expect(try await list.load() == .upToDate)
        #expect(list.current.isLoaded && !list.current.hasMore)
        #expect(list.current.displayState == .empty)
        #expect(try await list.loadNext() == .endReached)
    }

    @Test("A chain has more behind a reached total, if the last page names a next page (R24)")
    func linkBehindTotal() async throws {
        let origin = StagedOrigin(access: .chain, total: { _ in .exact(20) })
        let list = list(origin)
        try await list.load()
        for held in [20, 30] {
            #expect(list.current.hasMore)
            #expect(try await list.loadNext() == .loaded(10))
            #expect(numbers(list) == Array(0..<held))
        }
    }

    @Test("Without totals, the end costs at most one empty answer (C19)", arguments: [40, 41])
    func shortPageEnd(count: Int) async throws {
        let origin = StagedOrigin(count, total: nil)
        let list = list(origin)
        try await list.load()
        for _ in 0..<10 where list.current.hasMore { _ = try await list.loadNext() }
        #expect(numbers(list) == Array(0..<count))
        #expect(!list.current.hasMore)
        #expect(origin.requests.count <= 6)
    }

    @Test(
        "Items inserted or removed at the head between two pages cause no duplicate and no hole (C21, X6)",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
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

    @Test("A page one with inserted items does not set the size of a full page, and the list goes on (C19, R24)")
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

    @Test("A load of the next page of an empty list loads page one (C22)")
    func byNext() async throws {
        let list = list(StagedOrigin())
        #expect(try await list.loadNext() == .loaded(10))
        #expect(numbers(list) == Array(0..<10))
    }

    @Test("Short and oversized pages count with their received items (X7)", arguments: [3, 17])
    func otherSizes(size: Int) async throws {
        let origin = StagedOrigin(48, size: size)
        let list = list(origin)
        try await list.load()
        for _ in 0..<30 where list.current.hasMore { _ = try await list.loadNext() }
        #expect(numbers(list) == Array(0..<48))
    }

    @Test("A page size below 1 in the options is rejected when the repository is made (X8)")
    func pageSize() async {
        await #expect(processExitsWith: .failure) {
            var options = PagedListOptions()
            options.sync.pageSize = 0
            _ = ListRepository(
                storage: MemoryStorage(), codec: JSONItemCodec<Row>(), options: options, source: { _ in StagedOrigin() }
            )
        }
    }

    @Test("Pages that overlap by one item are joined without repeating it (X15)")
    func overlapping() async throws {
        let origin = StagedOrigin(48, size: 24)
        let list = list(origin) { $0.sync.overlap = 1 }
        try await list.load()
        while list.current.hasMore { _ = try await list.loadNext() }
        #expect(numbers(list) == Array(0..<48))
        #expect(list.current.inferredSeams == 0)
    }
}
