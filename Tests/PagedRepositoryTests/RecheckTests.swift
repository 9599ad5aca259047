import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import PagedRepository

/// Held pages are requested again from time to time, so that changes are found that page one does not show (R54).
@Suite("Recheck")
struct RecheckTests {
    private let clock = ManualClock()
    private let week: Duration = .seconds(7 * 24 * 3_600)

    private func sync(
        _ bench: SyncBench, _ origin: ListOrigin, every period: Duration?, chance: Double = 0.5
    ) async throws -> SyncReport {
        var options = SyncOptions()
        options.recheckEvery = period
        return try await ListSync(
            storage: bench.store, source: origin, key: bench.key, options: options, clock: clock, chance: { chance }
        ).run()
    }

    private func names(_ range: Range<Int>) -> [String] { range.map { "i\($0)" } }

    @Test(
        "An insert and a delete that cancel each other are found within the period, in each style of paging",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func cancellingChanges(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200), access: access)
        _ = try await sync(bench, origin, every: week)
        origin.names.insert("new", at: 150)
        origin.names.remove(at: 170)
        var warnings: [String] = []
        for _ in 0..<14 {
            clock.advance(by: .seconds(12 * 3_600))
            warnings += try await sync(bench, origin, every: week).warnings
        }
        #expect(try await bench.held == origin.names)
        #expect(warnings.contains { $0.contains("every page is checked") })
    }

    @Test(
        "Each page of a quiet list is checked within the period, by one request for each page and half a period",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func everyPage(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200), access: access)
        _ = try await sync(bench, origin, every: week)
        let before = origin.requests.count
        let hours = 24 * 7 * 2
        var oldest: Duration = .zero
        for hour in 0..<hours {
            clock.advance(by: .seconds(3_600))
            // The fraction of a page decides by chance: here evenly over the hours.
            let report = try await sync(bench, origin, every: week, chance: Double(hour % 4) / 4)
            #expect(report.outcome == .complete && report.warnings.isEmpty)
            let list = try #require(try await bench.list)
            oldest = max(oldest, list.heldPages.map { clock.now() - $0.validatedAt }.max() ?? .zero)
        }
        #expect(oldest <= week)
        let pages = try #require(try await bench.list).heldPages.count
        #expect(origin.requests.count - before <= hours + 5 * pages)
        #expect(origin.requests.count - before >= hours + 2 * (pages - 1))
    }

    @Test("Without a period, and in a list that was just checked, no page but page one is requested")
    func none() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200))
        _ = try await sync(bench, origin, every: week)
        let before = origin.requests.count
        clock.advance(by: .seconds(3_600))
        _ = try await sync(bench, origin, every: week, chance: 0)
        clock.advance(by: .seconds(30 * 24 * 3_600))
        _ = try await sync(bench, origin, every: nil)
        #expect(origin.requests.count == before + 2)
    }

    @Test("After a pause of a period or longer, the next run checks every page")
    func longPause() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200))
        _ = try await sync(bench, origin, every: week)
        clock.advance(by: week * 3)
        _ = try await sync(bench, origin, every: week)
        let list = try #require(try await bench.list)
        #expect(list.heldPages.allSatisfy { clock.now() - $0.validatedAt < .seconds(60) })
    }

    @Test("The number of pages follows the time since the last run, and chance decides about the rest")
    func plan() {
        func count(_ pages: Int, _ elapsed: Duration, _ chance: Double = 0.5) -> Int {
            RecheckPlan.count(of: pages, elapsed: elapsed, period: week, chance: chance)
        }
        #expect(count(100, .zero) == 0)
        #expect(count(100, .seconds(-5)) == 0)
        #expect(count(100, week) == 100)
        #expect(count(100, week / 7) == 29)
        #expect(count(100, week / 7, 0.99) == 28)
        #expect(count(0, week) == 0)
        #expect(RecheckPlan.count(of: 5, elapsed: .seconds(1), period: .zero, chance: 0) == 5)
    }
}
