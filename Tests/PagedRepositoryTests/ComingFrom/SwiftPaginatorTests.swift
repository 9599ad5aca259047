import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// The promises of the page "Coming from SwiftPaginator", for a list that a user scrolls through.
@Suite("Coming from SwiftPaginator, scrolling", .timeLimit(.minutes(20)))
struct ScrollingSwiftPaginatorTests {
    private let bench = BadInputBench()
    private let away = FetchFailure(.transport, "the origin is unreachable", isRetryable: true)

    @Test("The first page is the next page of a new list, and scrolling loads the others (C4, C22)")
    func next() async throws {
        let origin = StagedOrigin(access: .grid(size: 10))
        let list = bench.list(origin)
        #expect(try await list.loadNext() == .loaded(10))
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<48))
    }

    @Test("A reset while a scrolled page loads empties the list, sends an event, and drops the late page (C15, X3)")
    func reset() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        let counts = Mutex<[Int]>([])
        let events = list.events
        let listening = Task {
            for await case .reset in events { counts.withLock { $0.append(list.current.items.count) } }
        }
        origin.hold()
        list.itemAppeared(at: 9)
        await origin.reached(2)
        try await list.reset()
        origin.release()
        await list.settled()
        while counts.withLock({ $0.isEmpty }) { await Task.yield() }
        #expect(counts.withLock { $0 } == [0] && list.current.items.isEmpty)
        try await list.loadNext()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<48))
        listening.cancel()
    }

    @Test("A call during scrolling joins the page under way (C6)")
    func joins() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        list.itemAppeared(at: 9)
        await origin.reached(2)
        async let next = list.loadNext()
        for _ in 0..<200 { await Task.yield() }
        origin.release()
        #expect(try await next == .joined(10))
        await list.settled()
        #expect(origin.requests.filter { $0.target == .offset(10) }.count == 1)
    }

    @Test("The last page is reached once, however often its rows appear, also from inside the event (C9, C23)")
    func end() async throws {
        let origin = StagedOrigin(25)
        let list = bench.list(origin)
        let log = EventLog(list)
        let events = list.events
        let scrolling = Task { for await event in events { if case .endReached = event { await list.scroll() } } }
        try await list.load()
        await list.scrollToTheEnd()
        for _ in 0..<5 { await list.scroll() }
        await log.reaches { $0.ends > 0 }
        for _ in 0..<1_000 { await Task.yield() }
        #expect(log.ends == 1 && list.current.isAtEnd && origin.requests.count == 3)
        try await list.reset()
        #expect(!list.current.isAtEnd)
        scrolling.cancel()
    }

    @Test("Each scrolled page is an event with its positions and its items (C24)")
    func results() async throws {
        let list = bench.list(StagedOrigin())
        let log = EventLog(list)
        try await list.load()
        await list.scrollToTheEnd()
        await log.reaches { $0.pages.last?.upperBound == 48 }
        #expect(log.pages == [0..<10, 10..<20, 20..<30, 30..<40, 40..<48])
        for case .pageLoaded(let range, let rows) in log.all { #expect(rows.map(\.number) == Array(range)) }
    }

    @Test("A scrolled page that fails keeps the results, ends the loading, and is requested again (C8, C11, X10)")
    func failure() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.fail(away)
        await list.scroll()
        await list.scroll()
        #expect(!list.current.isLoading && list.current.isLoaded && list.current.items.count == 10)
        try await list.loadNext()
        #expect(origin.requests.map(\.target) == [.first, .offset(10), .offset(10)])
    }

    @Test("A source that answers at once is scrolled to its end (C16)")
    func atOnce() async throws {
        let source = ItemSource<Row>.pages(size: 10, firstNumber: 0) { page, size in
            ItemPage(items: Row.list(min(page * size, 48)..<min((page + 1) * size, 48)), total: 48)
        }
        let list = bench.list(source)
        try await list.load()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<48))
    }

    @Test("A refresh supersedes the scrolled page under way, without a duplicate and without a hole (X2, X4)")
    func superseded() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        list.itemAppeared(at: 9)
        await origin.reached(2)
        origin.rows.insert(StagedOrigin.row(1_000), at: 0)
        async let refresh = list.refresh()
        await origin.reached(3)
        origin.release()
        _ = try await refresh
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == origin.rows.map(\.number))
    }

    @Test("A window deep in the list is fetched without the pages before it, and scrolling is not disturbed")
    func window() async throws {
        let origin = StagedOrigin(200)
        let repository = bench.repository(origin)
        let list = repository.list(bench.key)
        try await list.load()
        let window = try await repository.page(bench.key, offset: 150, limit: 10, policy: .cacheThenRefresh)
        #expect(window.items.map(\.number) == Array(150..<160))
        for case .offset(let offset) in origin.requests.map(\.target) { #expect(offset >= 140) }
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<200))
    }
}
