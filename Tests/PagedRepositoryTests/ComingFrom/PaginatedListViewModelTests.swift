import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// The promises of the page "Coming from PaginatedListViewModel", for a list that a user scrolls through.
@Suite("Coming from PaginatedListViewModel, scrolling", .timeLimit(.minutes(20)))
struct ScrollingPaginatedListViewModelTests {
    private struct Away: Error {}

    /// An origin whose pages hand over the start of the next one.
    ///
    /// State: the requested starts, and the starts that fail once, under a mutex.
    private final class Pages: Sendable {
        private let state = Mutex((asked: [Int?](), failing: Set<Int>()))
        let overlap: Int
        let count: Int

        init(_ count: Int = 48, overlap: Int = 0) { (self.count, self.overlap) = (count, overlap) }

        var asked: [Int?] { state.withLock { $0.asked } }

        func fail(at start: Int) { state.withLock { _ = $0.failing.insert(start) } }

        func page(_ start: Int?) throws -> CursorPage<Row, Int> {
            let fails = state.withLock { state in
                state.asked.append(start)
                return state.failing.remove(start ?? 0) != nil
            }
            if fails { throw Away() }
            let end = min((start ?? 0) + 10, count)
            return CursorPage(items: Row.list((start ?? 0)..<end), next: end < count ? end - overlap : nil)
        }

        var source: ItemSource<Row> { .cursors { (start: Int?, _) in try self.page(start) } }
    }

    private let bench = BadInputBench()

    @Test("Nil is requested for page one only, and each scrolled page with the cursor of the page before (C2, C4, C6)")
    func cursors() async throws {
        let pages = Pages()
        let list = bench.list(pages.source)
        await list.scroll()
        #expect(pages.asked.isEmpty)
        try await list.loadNext()
        for _ in 0..<5 { await list.scrollToTheEnd() }
        #expect(pages.asked == [nil, 10, 20, 30, 40])
        #expect(list.current.items.map(\.number) == Array(0..<48))
    }

    @Test("The list is exhausted when the page without a cursor has arrived, and not after a reset (C7, C9, C15)")
    func exhausted() async throws {
        let pages = Pages(20)
        let list = bench.list(pages.source)
        try await list.load()
        #expect(!list.current.isAtEnd)
        await list.scrollToTheEnd()
        #expect(list.current.isAtEnd && pages.asked.count == 2)
        await list.scrollToTheEnd()
        #expect(pages.asked.count == 2)
        try await list.reset()
        #expect(!list.current.isAtEnd && list.current.items.isEmpty)
        try await list.loadNext()
        #expect(pages.asked.last == .some(nil))
    }

    @Test("A scrolled page that fails is requested with the same cursor, and its error ends with the retry (C10, C11)")
    func retry() async throws {
        let pages = Pages()
        let list = bench.list(pages.source)
        let log = SnapshotLog(list)
        try await list.load()
        pages.fail(at: 10)
        await list.scroll()
        await list.scroll()
        #expect(list.current.failure?.cause is Away && !list.current.isLoading)
        try await list.loadNext()
        #expect(pages.asked == [nil, 10, 10] && list.current.failure == nil)
        while log.all.last?.items.count != 20 { await Task.yield() }
        #expect(log.all.filter { $0.isLoadingNext }.allSatisfy { $0.failure == nil })
    }

    @Test("A first page that failed can be loaded, and the list is scrolled to its end (X1)")
    func firstPage() async throws {
        let pages = Pages()
        pages.fail(at: 0)
        let list = bench.list(pages.source)
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        try await list.loadNext()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<48))
    }

    @Test("Pages that overlap by an item are scrolled through without showing it twice (X15)")
    func overlap() async throws {
        let list = bench.list(Pages(overlap: 1).source)
        try await list.load()
        await list.scrollToTheEnd()
        #expect(list.current.items.map(\.number) == Array(0..<48) && list.current.isAtEnd)
    }

    @Test("After a restart scrolling continues with the stored cursor")
    func restart() async throws {
        let pages = Pages()
        try await bench.list(pages.source).load()
        let list = bench.list(pages.source)
        try await list.load(.cacheOnly)
        await list.scrollToTheEnd()
        #expect(pages.asked == [nil, 10, 20, 30, 40])
        #expect(list.current.items.map(\.number) == Array(0..<48))
    }

    @Test("An origin that repeats itself without end is abandoned while the user scrolls")
    func endless() async throws {
        let asked = Mutex(0)
        let source = ItemSource<Row>.cursors { (start: Int?, _) in
            asked.withLock { $0 += 1 }
            return CursorPage(items: Row.list(0..<10), next: (start ?? 0) + 1)
        }
        let list = bench.list(source)
        try await list.load()
        for _ in 0..<50 {
            await list.scroll()
            _ = try? await list.retry()
        }
        #expect(list.current.items.map(\.number) == Array(0..<10))
        #expect(asked.withLock { $0 } < 1_200, "\(asked.withLock { $0 }) requests")
        #expect(!list.current.isLoading)
    }
}
