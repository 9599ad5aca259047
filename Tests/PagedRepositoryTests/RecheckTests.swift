import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import PagedRepository

/// Held pages are requested again from time to time, so that changes are found that page one does not show (R54).
@Suite("Recheck")
struct RecheckTests {
    private let clock = ManualClock()
    private let week: Duration = .seconds(7 * 24 * 3_600)

    private func sync(
        _ bench: SyncBench, _ origin: ListOrigin, every period: Duration?, _ work: SyncOptions.Work = .everything
    ) async throws -> SyncReport {
        var options = SyncOptions()
        options.recheckEvery = period
        options.work = work
        return try await ListSync(
            storage: bench.store, source: origin, key: bench.key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
    }

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
        #expect(warnings.contains { $0.contains("checking every page") })
    }

    @Test(
        "Each page of a quiet list is checked within the period, by a few requests for each page",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func everyPage(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200), access: access)
        _ = try await sync(bench, origin, every: week)
        let before = origin.requests.count
        let hours = 24 * 7 * 2
        var oldest: Duration = .zero
        for _ in 0..<hours {
            clock.advance(by: .seconds(3_600))
            let report = try await sync(bench, origin, every: week)
            #expect(report.outcome == .complete && report.warnings.isEmpty)
            let list = try #require(try await bench.list)
            oldest = max(oldest, list.heldPages.map { clock.now() - $0.validatedAt }.max() ?? .zero)
        }
        #expect(oldest <= week)
        let pages = try #require(try await bench.list).heldPages.count
        #expect(origin.requests.count - before <= hours + 5 * pages)
        #expect(origin.requests.count - before >= hours + pages - 1)
    }

    @Test(
        "Refreshes between two runs take no page from their checks",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func refreshes(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200), access: access)
        _ = try await sync(bench, origin, every: week)
        var oldest: Duration = .zero
        for _ in 0..<21 {
            clock.advance(by: .seconds(24 * 3_600 - 60))
            _ = try await sync(bench, origin, every: week, .refresh)
            clock.advance(by: .seconds(60))
            _ = try await sync(bench, origin, every: week)
            let list = try #require(try await bench.list)
            oldest = max(oldest, list.heldPages.map { clock.now() - $0.validatedAt }.max() ?? .zero)
        }
        #expect(oldest <= week)
    }

    @Test("Without a period, and in a list that was just checked, no page but page one is requested")
    func none() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200))
        _ = try await sync(bench, origin, every: week)
        let before = origin.requests.count
        clock.advance(by: .seconds(3_600))
        _ = try await sync(bench, origin, every: week)
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

    @Test("A page that was requested for a change and failed keeps its list incomplete until it arrives")
    func failedPage() async throws {
        let bench = try await SyncBench(clock)
        let list = ListOrigin(names(0..<60), access: .chain)
        let origin = RefusingOrigin(list)
        func sync() async throws -> SyncReport {
            var options = SyncOptions()
            options.retryWaitBudget = .zero
            return try await ListSync(
                storage: bench.store, source: origin, key: bench.key, options: options, clock: clock, jitter: { 0.5 }
            ).run()
        }
        _ = try await sync()
        // The total shows both changes together. The walk that looks for them fails in the middle.
        list.names.remove(at: 45)
        origin.refused.withLock { $0 = "i29" }
        clock.advance(by: .seconds(60))
        #expect(try await sync().outcome != .complete)
        list.names.append("new")
        clock.advance(by: .seconds(3_600))
        for _ in 0..<2 { #expect(try await sync().outcome == .incomplete) }
        let before = list.requests.count
        _ = try await sync()
        #expect(list.requests.count - before <= 2)
        origin.refused.withLock { $0 = nil }
        for _ in 0..<2 { _ = try await sync() }
        #expect(try await sync().outcome == .complete)
        #expect(try await bench.held == list.names)
    }

    @Test("The pointer passes each position once in three quarters of a period, whatever the times of the runs")
    func plan() {
        let hours = (0...126).map { Timestamp(milliseconds: 1_800_000_000_000 + $0 * 3_600_000) }
        for steps in [1, 5, 7, 12, 28, 63] {
            var passed: [Int] = []
            for (from, to) in zip(
                stride(from: 0, to: 126, by: steps), stride(from: steps, through: 126 + steps, by: steps))
            {
                passed += RecheckPlan.passed(end: 500, from: hours[from], to: hours[min(to, 126)], period: week)
                    .flatMap(\.self)
            }
            #expect(passed.sorted() == Array(0..<500), "\(steps)")
        }
        func count(_ from: Int, _ to: Int, _ period: Duration) -> Int {
            RecheckPlan.passed(
                end: 10, from: Timestamp(milliseconds: Int64(from)), to: Timestamp(milliseconds: Int64(to)),
                period: period
            ).reduce(0) { $0 + $1.count }
        }
        #expect(count(0, 0, week) == 0 && count(5, 3, week) == 0)
        #expect(count(0, 700_000_000, week) == 10)
        #expect(count(0, 1, .zero) == 10)
        #expect(count(-453_600_000, 0, week) == 10)
    }

    @Test("The stretches behind the pointer cover each position once, and the pointer passes each page once in a cycle")
    func stretches() {
        for hour in [0, 1, 60, 125] {
            let now = Timestamp(milliseconds: 453_600_000 * 4_000 + Int64(hour) * 3_600_000)
            let stretches = RecheckPlan.stretches(end: 500, now: now, period: week, first: 30)
            #expect(stretches.flatMap(\.self).flatMap(\.self).sorted() == Array(0..<500))
            #expect(stretches.map { $0.reduce(0) { $0 + $1.count } } == [30, 60, 120, 240, 50])
            let pointer = 500 * hour / 126
            #expect(stretches[0].contains { $0.upperBound == (pointer == 0 ? 500 : pointer) })
        }
        #expect(RecheckPlan.stretches(end: 0, now: Timestamp(milliseconds: 0), period: week, first: 30) == [])
    }
}

/// A chain whose cursor can be refused.
private final class RefusingOrigin: PageSource {
    let list: ListOrigin
    let refused = Mutex<String?>(nil)

    init(_ list: ListOrigin) { self.list = list }

    var access: PagingAccess { list.access }
    var usage: SourceUsage { list.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        if case .cursor(let cursor) = request.target, cursor.text == refused.withLock({ $0 }) {
            throw FetchFailure(.rejected, "the cursor is refused", isRetryable: false, httpStatus: 422)
        }
        return try await list.fetch(request)
    }
}
