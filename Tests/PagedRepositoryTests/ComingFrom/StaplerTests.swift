import PageModel
import PagedRepository
import PagedRepositoryTesting
import Testing

/// The promises of the page "Coming from Stapler", for a list that a user scrolls through.
@Suite("Coming from Stapler, scrolling", .timeLimit(.minutes(20)))
struct ScrollingStaplerTests {
    private let bench = BadInputBench()
    private let away = FetchFailure(.transport, "the origin is unreachable", isRetryable: true)

    @Test("A list that is shown and scrolled before its first load sends no request (C1, C2)")
    func silent() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        let (snapshots, events) = (SnapshotLog(list), EventLog(list))
        await list.scrollToTheEnd()
        #expect(list.current.items.isEmpty && list.current.total == .unknown && !list.current.isLoading)
        #expect(origin.requests.isEmpty && events.all.isEmpty)
        #expect(snapshots.all.allSatisfy { $0.items.isEmpty })
    }

    @Test("Scrolling shows the pages in order, the pages count, and the items reach the total (C4, C5)")
    func pages() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin) { $0.prefetchDistance = 0 }
        try await list.load()
        for page in 1...5 {
            let count = min(page * 10, 48)
            #expect(list.current.items.map(\.number) == Array(0..<count))
            #expect(list.current.pagesLoaded == page && list.current.total == .exact(48))
            await list.scroll(from: count - 1)
        }
        #expect(list.current.isAtEnd && list.current.items.count == list.current.total.count)
    }

    @Test("However often the rows appear, each page is requested once, and none after the end (C6, C7)")
    func once() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.loadNext()
        for _ in 0..<10 { for _ in 0..<10 { await list.scroll() } }
        #expect(list.current.isAtEnd)
        #expect(origin.requests.map(\.target) == [.first, .offset(10), .offset(20), .offset(30), .offset(40)])
    }

    @Test("A load and a refresh at once are one request, and the scrolled pages stay (C3, X5)")
    func coalesced() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        await list.scroll()
        await list.scroll(from: 10)
        let (count, shown) = (origin.requests.count, list.current.items.count)
        origin.hold()
        async let load = list.load(.originFirst)
        await origin.reached(count + 1)
        async let refresh = list.refresh()
        for _ in 0..<200 { await Task.yield() }
        origin.release()
        _ = try await (load, refresh)
        #expect(origin.requests.count == count + 1)
        #expect(list.current.items.map(\.number) == Array(0..<shown) && shown >= 30)
    }

    @Test("A refresh of a scrolled list that was replaced shows its new page one, and scrolling continues there (C13)")
    func replaced() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        await list.scrollToTheEnd()
        origin.rows = Row.list(100..<148)
        try await list.refresh()
        #expect(list.current.items.map(\.number) == Array(100..<110))
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(100..<148) && list.current.isAtEnd)
    }

    @Test("Every snapshot of a scrolled list has the first items of the list, in order (X9)")
    func whole() async throws {
        let list = bench.list(StagedOrigin(200))
        let log = SnapshotLog(list)
        try await list.load()
        await list.scrollToTheEnd()
        while log.all.last?.items.count != 200 { await Task.yield() }
        for snapshot in log.all { #expect(snapshot.items.map(\.number) == Array(0..<snapshot.items.count)) }
    }

    @Test("The total may change with every page that is scrolled to (C21)")
    func total() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin) { $0.prefetchDistance = 0 }
        try await list.load()
        for count in [49, 51, 50] {
            origin.rows = Row.list(0..<count)
            await list.scroll(from: list.current.items.count - 1)
            #expect(list.current.total == .exact(count))
        }
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<50) && list.current.isAtEnd)
    }

    @Test("While a scrolled page loads, isLoadingNext is true; hasMore is true until the last page arrived (C8, C9)")
    func indicator() async throws {
        let origin = StagedOrigin(20)
        let list = bench.list(origin)
        try await list.load()
        #expect(!list.current.isLoadingNext && list.current.hasMore)
        origin.hold()
        list.itemAppeared(at: 9)
        await origin.reached(2)
        #expect(list.current.isLoadingNext && list.current.hasMore && !list.current.isAtEnd)
        origin.release()
        await list.settled()
        #expect(!list.current.isLoadingNext && !list.current.hasMore && list.current.isAtEnd)
    }

    @Test("A failed page one and a failed refresh have kinds of their own, and the scrolled items stay (C12, C14)")
    func kinds() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        origin.fail(away)
        let first = await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(first?.kind == .first)
        try await list.load()
        await list.scrollToTheEnd()
        origin.fail(away)
        let refresh = await #expect(throws: ListFailure.self) { try await list.refresh() }
        #expect(refresh?.kind == .refresh && list.current.items.count == 48)
    }

    @Test("A failed later page is an event, stays until its retry starts, and the retry is the same page (C10, C12)")
    func laterPages() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        let log = EventLog(list)
        try await list.load()
        origin.fail(away)
        await list.scroll()
        await list.scroll()
        await log.reaches { !$0.failures.isEmpty }
        #expect(log.failures.map(\.kind) == [.next] && list.current.failure?.kind == .next)
        #expect(origin.requests.count == 2, "scrolling does not retry (C25)")
        origin.hold()
        let retry = Task { try await list.retry() }
        await origin.reached(3)
        #expect(list.current.failure == nil && list.current.isLoadingNext)
        origin.release()
        #expect(try await retry.value == .loaded(10))
        #expect(origin.requests.last?.target == .offset(10))
    }

    @Test("After a restart and without the origin, scrolled pages are there, and scrolling continues after them")
    func restart() async throws {
        let origin = StagedOrigin()
        let before = bench.list(origin)
        try await before.load()
        await before.scroll()
        let shown = before.current.items.count
        origin.fail(away)
        let after = bench.list(origin)
        try await after.load(.originFirst)
        #expect(after.current.items.map(\.number) == Array(0..<shown))
        await after.scrollToTheEnd()
        #expect(after.current.items.map(\.number) == Array(0..<48))
        #expect(origin.requests.filter { $0.target == .offset(10) }.count == 1)
    }

    @Test(
        "An item that comes or goes at the head between two scrolled pages is neither lost nor shown twice (X6)",
        arguments: [true, false])
    func moved(isInserted: Bool) async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin) { $0.prefetchDistance = 0 }
        try await list.load()
        await list.scroll(from: 9)
        if isInserted {
            origin.rows.insert(StagedOrigin.row(1_000), at: 0)
        } else {
            origin.rows.removeFirst()
        }
        await list.scrollToTheEnd()
        try await list.refresh()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == origin.rows.map(\.number))
    }
}
