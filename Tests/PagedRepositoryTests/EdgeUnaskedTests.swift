import PageModel
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// A source that answers each request with "not modified", without a validator.
private struct NeverModified: PageSource {
    let requests: @Sendable () -> Void

    var access: PagingAccess { .offsets }
    var usage: SourceUsage { SourceUsage() }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        requests()
        return .notModified(total: .unknown, validator: nil)
    }
}

@Suite("At the edge of an application: failures that must be visible", .timeLimit(.minutes(20)))
struct EdgeUnaskedTests {
    private let bench = BadInputBench()

    @Test("A source that answers each request with \"not modified\" fails, and is not requested again and again")
    func notModifiedUnasked() async throws {
        let requests = Mutex(0)
        let source = NeverModified(requests: { requests.withLock { $0 += 1 } })
        for _ in 0..<2 {
            await #expect(throws: (any Error).self) { try await bench.list(source).load() }
        }
        #expect(requests.withLock(\.self) <= 4)
    }

    @Test(
        "A page that fails in another repository is shown as the next page, also if it begins before the end of the items",
        .timeLimit(.minutes(5)))
    func failureOfGridPage() async throws {
        let rows = Mutex(Row.list(0..<40)), fails = Mutex(false)
        let source = ItemSource<Row>.pages(size: 10) { number, size -> ItemPage<Row> in
            if number > 1, fails.withLock(\.self) { throw FetchFailure.status(403) }
            let all = rows.withLock(\.self)
            return ItemPage(items: Array(all.dropFirst((number - 1) * size).prefix(size)), total: all.count)
        }
        let first = bench.list(source)
        try await first.load()
        try await first.loadNext()
        rows.withLock { $0.insert(StagedOrigin.row(1_000), at: 0) }
        try await first.refresh()
        #expect(first.current.items.count == 21)
        let listener = Task { [snapshots = first.snapshots] in for await _ in snapshots {} }
        defer { listener.cancel() }
        let second = bench.list(source)
        try await second.load(.cacheOnly)
        fails.withLock { $0 = true }
        // The first list may not listen yet when the page fails for the first time.
        while first.current.failure == nil {
            await #expect(throws: (any Error).self) { try await second.loadNext() }
            await Task.yield()
        }
        #expect(first.current.failure?.kind == .next)
        fails.withLock { $0 = false }
        try await first.retry()
        #expect(first.current.failure == nil && first.current.items.count > 21)
    }
}
