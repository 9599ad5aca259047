import PagedRepository
import PagedRepositoryTesting
import Ports
import Testing

@Suite("Stapler, ported", .timeLimit(.minutes(1)))
@MainActor
struct StaplerTests {
    @Test("Scrolling to the last row, again and again, loads every page once, and the indicator follows")
    func scrolls() async throws {
        let bench = try await Bench()
        let stapler = Stapler(bench.list)
        #expect(stapler.items.isEmpty && stapler.pages == 0 && stapler.total == 0)
        #expect(!stapler.shouldShowNextPageActivityIndicator && bench.origin.requests.isEmpty)
        try await stapler.initialLoad()
        await until { stapler.items.count == 10 }
        #expect(stapler.pages == 1 && stapler.total == 48 && !stapler.shouldShowNextPageActivityIndicator)
        for count in [20, 30, 40, 48] {
            for _ in 0..<5 { stapler.loadNextPageIfNeeded() }
            await until { stapler.items.count >= count }
            await bench.list.settled()
            await until { stapler.shouldShowNextPageActivityIndicator == (bench.list.current.items.count < 48) }
        }
        for _ in 0..<5 { stapler.loadNextPageIfNeeded() }
        await bench.list.settled()
        #expect(stapler.items.map(\.id) == Array(0..<48) && stapler.pages == 5)
        #expect(bench.origin.requests.count == 5)
    }

    @Test("The error of a later page arrives apart from those of page one, and a refresh keeps the items")
    func errors() async throws {
        let bench = try await Bench()
        var failures: [ListFailure] = []
        let stapler = Stapler(bench.list) { failures.append($0) }
        bench.origin.fail(Bench.away)
        await #expect(throws: ListFailure.self) { try await stapler.initialLoad() }
        try await stapler.initialLoad()
        await until { stapler.items.count == 10 }
        bench.origin.fail(Bench.away)
        stapler.loadNextPageIfNeeded()
        await until { !failures.isEmpty }
        #expect(failures.map(\.kind) == [.next] && stapler.items.count == 10)
        bench.origin.fail(Bench.away)
        await #expect(throws: ListFailure.self) { try await stapler.refresh() }
        #expect(failures.count == 1 && stapler.items.count == 10)
    }
}
