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
        try await bench.sync(origin, clock) { ($0.recheckEvery, $0.work) = (period, work) }
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
        "Refreshes between two runs delay the check of no page beyond the period",
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

    @Test(
        "A sweep notes its end; a load and a refresh note none, and an interrupted sweep none until it is finished",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func sweepEnds(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60), access: access)
        for _ in 0..<2 {
            _ = try await sync(bench, origin, every: week)
            clock.advance(by: .seconds(60))
        }
        #expect(try await bench.list?.record.lastAuditAt == nil)
        let broken = origin.requests.count + 3
        origin.before { number, _ in
            guard number < broken else { throw FetchFailure(.server, "down", isRetryable: false, httpStatus: 500) }
        }
        #expect(try await sync(bench, origin, every: week, .sweep).reconciliation != .swept)
        #expect(try await bench.list?.record.lastAuditAt == nil)
        origin.before(nil)
        clock.advance(by: .seconds(60))
        #expect(try await sync(bench, origin, every: week, .sweep).reconciliation == .swept)
        let ended = clock.now()
        #expect(try await bench.list?.record.lastAuditAt == ended)
        clock.advance(by: .seconds(60))
        _ = try await sync(bench, origin, every: week)
        #expect(try await bench.list?.record.lastAuditAt == ended)
    }

    @Test("A sweep of a list in one answer notes its end, because page one is the list")
    func singlePage() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<5), access: .single)
        _ = try await sync(bench, origin, every: week)
        #expect(try await bench.list?.record.lastAuditAt == nil)
        clock.advance(by: .seconds(60))
        _ = try await sync(bench, origin, every: week, .sweep)
        #expect(try await bench.list?.record.lastAuditAt == clock.now())
    }

    @Test(
        "A round of the recheck notes its end once every page was checked since it began, within a period",
        arguments: [PagingAccess.offsets, .grid(size: 10), .chain])
    func rounds(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<200), access: access)
        _ = try await sync(bench, origin, every: week)
        let step: Duration = .seconds(6 * 3_600)
        let registered = clock.now()
        var ends: [Timestamp] = []
        for _ in 0..<4 * 7 * 4 {
            clock.advance(by: step)
            _ = try await sync(bench, origin, every: week)
            let list = try #require(try await bench.list)
            guard let end = list.record.lastAuditAt, end != ends.last else { continue }
            let began = ends.last ?? registered + week / 4
            #expect(end == clock.now())
            #expect((week / 4 * 3...week + step * 2).contains(end - began))
            #expect(list.heldPages.allSatisfy { $0.validatedAt >= began && $0.validatedAt <= end })
            ends.append(end)
        }
        #expect(ends.count >= 3)
    }

    @Test("A list of one page is checked by each refresh, so its rounds end without further requests")
    func onePage() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<5))
        _ = try await sync(bench, origin, every: week)
        let before = origin.requests.count
        for _ in 0..<8 {
            #expect(try await bench.list?.record.lastAuditAt == nil)
            clock.advance(by: .seconds(21 * 3_600 + 1))
            _ = try await sync(bench, origin, every: week)
        }
        #expect(try await bench.list?.record.lastAuditAt == clock.now())
        #expect(origin.requests.count == before + 8)
    }

    @Test("A round ends when the pointer has passed each position, and every page with items was checked since")
    func roundEnds() {
        let start = Timestamp(milliseconds: 1_800_000_000_000)
        func began(_ last: Timestamp?, hours: Int) -> Timestamp? {
            RecheckPlan.round(after: last, registered: start, now: start + .seconds(hours * 3_600), period: week)
        }
        #expect(began(nil, hours: 167) == nil && began(nil, hours: 168) == start + week / 4)
        let last = start + week
        #expect(began(last, hours: 168 + 125) == nil && began(last, hours: 168 + 126) == last)
        #expect(began(start + week * 9, hours: 168) == start + week / 4, "a clock that was set back")
        for hour in [0, 60, 125] {
            let now = Timestamp(milliseconds: 453_600_000 * 4_000 + Int64(hour) * 3_600_000)
            let next = RecheckPlan.ahead(end: 500, now: now, period: week, count: 30)
            #expect(next.lowerBound == 500 * hour / 126 && next.count == min(30, 500 - next.lowerBound))
        }
        #expect(RecheckPlan.ahead(end: 0, now: start, period: week, count: 30).isEmpty)
        let pages = held([0..<20], total: .exact(20)).heldPages
        let checked = pages.map(\.validatedAt).min() ?? start
        #expect(RecheckPlan.isChecked(pages, since: checked))
        #expect(!RecheckPlan.isChecked(pages, since: checked + .milliseconds(1)))
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
