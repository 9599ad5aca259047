import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// The promises of the page "Coming from PagingList", for a list that a user scrolls through.
@Suite("Coming from PagingList, scrolling", .timeLimit(.minutes(20)))
struct ScrollingPagingListTests {
    private let bench = BadInputBench()
    private let away = FetchFailure(.transport, "the origin is unreachable", isRetryable: true)

    @Test("The model sends the first request by itself, and rows that appear load the others ahead (C2, C3, X13)")
    @MainActor
    func model() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        let model = PagedListModel(list)
        #expect(model.displayState == .nothing && origin.requests.isEmpty)
        let running = Task { await model.run() }
        while model.items.count < 10 || model.isLoading { await Task.yield() }
        model.itemAppeared(at: 0)
        await list.settled()
        while model.items.count < 20 { await Task.yield() }
        #expect(origin.requests.map(\.target) == [.first, .offset(10)])
        await list.scrollToTheEnd()
        while model.items.count < 48 || model.isLoading { await Task.yield() }
        #expect(model.displayState == .items && !model.hasMore)
        running.cancel()
        await running.value
    }

    @Test(
        "The display state tells loading, failure and emptiness of a list from those of its next page (C8, C12, C18, X11)"
    )
    func states() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        origin.fail(away)
        _ = try? await list.load()
        guard case .firstFailed(let first) = list.current.displayState else {
            Issue.record("\(list.current.displayState)")
            return
        }
        #expect(list.current.displayState == .firstFailed(first))
        origin.hold()
        let loading = Task { try await list.retry() }
        await origin.reached(2)
        #expect(list.current.displayState == .loadingFirst)
        origin.release()
        _ = try await loading.value
        #expect(list.current.displayState == .items)
        origin.hold()
        list.itemAppeared(at: 9)
        await origin.reached(3)
        #expect(list.current.displayState == .loadingNext)
        origin.fail(away)
        origin.release()
        await list.settled()
        await list.scroll()
        guard case .nextFailed(let next) = list.current.displayState else {
            Issue.record("\(list.current.displayState)")
            return
        }
        #expect(next.kind == .next && list.current.displayState != .nextFailed(first))
        let empty = bench.repository(StagedOrigin(0)).list("empty")
        try await empty.load()
        #expect(empty.current.displayState == .empty)
    }

    @Test(
        "Paging is disabled by a short page, by the total and by hasMore, with at most one request more (C19, C20)",
        arguments: 0..<3)
    func disabled(_ sign: Int) async throws {
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            let rows = Row.list(min(offset, 25)..<min(offset + size, 25))
            return switch sign {
            case 0: ItemPage(items: rows)
            case 1: ItemPage(items: rows, total: 25)
            default: ItemPage(items: rows, hasMore: offset + size < 25)
            }
        }
        let list = bench.list(source)
        try await list.load()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<25) && !list.current.hasMore)
        #expect(source.usage.requests <= 4)
    }

    @Test("Pull-to-refresh of a scrolled list keeps its rows while it runs and when it fails (C14, X2)")
    func refresh() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        await list.scrollToTheEnd()
        origin.hold()
        let count = origin.requests.count
        let refreshing = Task { try await list.refresh() }
        await origin.reached(count + 1)
        #expect(list.current.displayState == .refreshing && list.current.items.count == 48)
        origin.fail(away)
        origin.release()
        await #expect(throws: ListFailure.self) { try await refreshing.value }
        guard case .refreshFailed = list.current.displayState else {
            Issue.record("\(list.current.displayState)")
            return
        }
        #expect(list.current.items.count == 48)
    }

    @Test("Retry repeats the request that failed: page one, the scrolled page, the refresh (C11, X1)")
    func retries() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        origin.fail(away)
        _ = try? await list.load()
        try await list.retry()
        origin.fail(away)
        await list.scroll()
        try await list.retry()
        origin.fail(away)
        _ = try? await list.refresh()
        try await list.retry()
        #expect(
            origin.requests.map(\.target) == [.first, .first, .offset(10), .offset(10), .first, .first])
    }

    @Test(
        "After a failed page scrolling sends no request, or retries when the ledger says so (C25)",
        arguments: [PagedListOptions.AutomaticRetry.never, .perLedger])
    func gate(_ automatic: PagedListOptions.AutomaticRetry) async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin) { $0.automaticRetry = automatic }
        try await list.load()
        origin.fail(away)
        await list.scroll()
        let count = origin.requests.count
        for _ in 0..<5 { await list.scroll() }
        #expect(origin.requests.count == count)
        bench.clock.advance(by: .seconds(3_600))
        await list.scroll()
        #expect((origin.requests.count > count) == (automatic == .perLedger))
    }

    @Test("A list of every paging style is scrolled to its end (C4)", arguments: 0..<5)
    func styles(_ style: Int) async throws {
        @Sendable func rows(_ start: Int) -> [Row] { Row.list(min(start, 48)..<min(start + 10, 48)) }
        let source: ItemSource<Row> =
            switch style {
            case 0: .offsets(pageSize: 10) { offset, _ in rows(offset) }
            case 1: .pages(size: 10) { page, _ in rows((page - 1) * 10) }
            case 2:
                .cursors { (start: Int?, _) in
                    CursorPage(items: rows(start ?? 0), next: (start ?? 0) < 40 ? (start ?? 0) + 10 : nil)
                }
            case 3: .afterLast(pageSize: 10) { last, _ in rows(last.map { $0.number + 1 } ?? 0) }
            default:
                .links { link in
                    let start = link.flatMap { Int($0) } ?? 0
                    return CursorPage(items: rows(start), next: start < 40 ? "\(start + 10)" : nil)
                }
            }
        let list = bench.list(source)
        try await list.load()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<48) && list.current.isAtEnd)
    }

    @Test("A page that arrives after the list was replaced adds nothing to the new list (X3, X4)")
    func late() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        origin.ignoreCancellation()
        list.itemAppeared(at: 9)
        await origin.reached(2)
        try await list.reset()
        origin.rows = Row.list(100..<148)
        origin.release()
        await list.settled()
        try await list.load()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(100..<148))
    }

    @Test("Short pages do not shift the rows that are scrolled to: received rows count (X7)")
    func shortPages() async throws {
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, _ in
            ItemPage(items: Row.list(min(offset, 48)..<min(offset + 3, 48)), total: 48)
        }
        let list = bench.list(source)
        try await list.load()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<48) && list.current.isAtEnd)
    }

    @Test("A fresh list that is scrolled after a restart needs no request for its rows")
    func fresh() async throws {
        let origin = StagedOrigin()
        let before = bench.list(origin)
        try await before.load()
        await before.scrollToTheEnd()
        let count = origin.requests.count
        let after = bench.list(origin)
        try await after.load(.refreshIfStale)
        await after.scrollToTheEnd()
        #expect(origin.requests.count == count && after.current.items.count == 48)
    }
}
