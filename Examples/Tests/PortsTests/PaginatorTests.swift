import PagedRepository
import PagedRepositoryTesting
import Ports
import Testing

@Suite("SwiftPaginator, ported", .timeLimit(.minutes(1)))
@MainActor
struct PaginatorTests {
    @Test("Pages arrive with their results, and the status and the last page follow")
    func pages() async throws {
        let bench = try await Bench()
        var pages: [[Int]] = []
        let paginator = Paginator(bench.list, resultsHandler: { _, results in pages.append(results.map(\.id)) })
        #expect(paginator.requestStatus == .none && paginator.total == 0)
        while !paginator.reachedLastPage {
            // The second call joins the first one, or fetches the page after it if the first call has ended.
            async let again: Void = paginator.fetchNextPage()
            try await paginator.fetchNextPage()
            try await again
            await until { pages.flatMap { $0 }.count == paginator.results.count }
            #expect(paginator.requestStatus == .done)
        }
        try await paginator.fetchNextPage()
        await until { pages.flatMap { $0 }.count >= 48 }
        #expect(pages.flatMap { $0 } == Array(0..<48))
        #expect(paginator.results.count == 48 && paginator.reachedLastPage)
        #expect(bench.origin.requests.count == 5)
    }

    @Test("A failure calls its block, and the first page resets the paginator before it loads")
    func failuresAndResets() async throws {
        let bench = try await Bench()
        var (failures, counts) = (0, [Int]())
        let paginator = Paginator(
            bench.list, resultsHandler: { _, _ in }, resetHandler: { counts.append($0.results.count) },
            failureHandler: { _ in failures += 1 })
        try await paginator.fetchNextPage()
        bench.origin.fail(Bench.away)
        await #expect(throws: ListFailure.self) { try await paginator.fetchNextPage() }
        await until { failures == 1 }
        #expect(paginator.results.count == 10)
        bench.origin.items.removeFirst(40)
        try await paginator.reset()
        await until { counts == [0] }
        try await paginator.fetchFirstPage()
        await until { counts.count == 2 }
        #expect(paginator.results.map(\.id) == Array(40..<48) && paginator.reachedLastPage)
    }
}
