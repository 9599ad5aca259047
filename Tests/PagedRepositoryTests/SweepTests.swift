import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// Sweeps that are interrupted, and sweeps of lists with repeated ids (R23, R25, R31).
@Suite("Sweeps")
struct SweepTests {
    private let clock = ManualClock()
    private static let styles: [PagingAccess] = [.offsets, .grid(size: 10), .chain]

    private func sync(
        _ bench: SyncBench, _ origin: ListOrigin, _ work: SyncOptions.Work = .everything,
        _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> SyncReport {
        clock.advance(by: .seconds(1))
        return try await bench.sync(origin, clock) { options in
            options.work = work
            change(&options)
        }
    }

    /// An origin of 60 items that ignores positions from some moment on.
    private final class DeafOrigin: PageSource {
        let isDeaf = Mutex(false)
        var access: PagingAccess { .offsets }
        var usage: SourceUsage { SourceUsage() }

        func fetch(_ request: PageRequest) async throws -> PageAnswer {
            var start = 0
            if case .offset(let offset) = request.target, !isDeaf.withLock(\.self) { start = min(offset, 60) }
            return .page(FetchedPage(content: named(names(start..<min(start + 10, 60))), total: .exact(60)))
        }
    }

    @Test("A sweep at an origin that began to ignore positions is unproven, and keeps the held items (R24)")
    func ignoredPositions() async throws {
        let bench = try await SyncBench(clock)
        let origin = DeafOrigin()
        func sync(_ work: SyncOptions.Work) async throws -> SyncReport {
            var options = SyncOptions()
            options.work = work
            return try await ListSync(
                storage: bench.store, source: origin, key: bench.key, options: options, clock: clock, jitter: { 0.5 }
            ).run()
        }
        #expect(try await sync(.everything).outcome == .complete)
        origin.isDeaf.withLock { $0 = true }
        let report = try await sync(.sweep)
        #expect(report.outcome == .unproven, "\(report.warnings)")
        #expect(report.list?.record.resultWindow == nil)
        #expect(Set(try await bench.list?.pages.flatMap { Array($0.range) } ?? []) == Set(0..<60))
        // The origin accepts positions again.
        origin.isDeaf.withLock { $0 = false }
        #expect(try await sync(.sweep).outcome == .complete)
        #expect(try await bench.held == names(0..<60))
    }

    /// A sweep that is stopped after this many answers.
    /// - Returns: how far it has come.
    private func interrupt(_ bench: SyncBench, _ origin: ListOrigin, after answers: Int) async throws -> Int {
        let last = origin.requests.count + answers
        origin.before { number, _ in
            if number > last { throw FetchFailure.status(503, retryAfter: .seconds(7_200)) }
        }
        let report = try await sync(bench, origin, .sweep) {
            $0.concurrency = 1
            $0.retryWaitBudget = .seconds(2)
        }
        origin.before(nil)
        clock.advance(by: .seconds(7_200))
        #expect(report.reconciliation != .swept && report.outcome != .complete)
        return try #require(try await bench.list?.record.sweep).position
    }

    @Test("A sweep continues where an interrupted one has stopped, and requests no page before", arguments: styles)
    func continued(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<100), access: access)
        _ = try await sync(bench, origin)
        let stopped = try await interrupt(bench, origin, after: 5)
        #expect((40...50).contains(stopped))
        let before = origin.requests.count
        let report = try await sync(bench, origin, .sweep)
        #expect(report.reconciliation == .swept && report.outcome == .complete)
        #expect(try await bench.list?.record.sweep == nil)
        let requests = origin.requests.dropFirst(before)
        for case .offset(let offset) in requests.map(\.target) { #expect(offset + 10 > stopped) }
        // Page one, the remaining pages with one item again in each, and the end.
        #expect(requests.count <= 1 + 7 + 2)
        #expect(requests.count >= 1 + (100 - stopped) / 10)
    }

    @Test(
        "A change that another run repairs before the position of an interrupted sweep takes the sweep back to it",
        arguments: [PagingAccess.offsets, .grid(size: 10)])
    func takenBack(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<100), access: access)
        _ = try await sync(bench, origin)
        let stopped = try await interrupt(bench, origin, after: 6)
        origin.names.remove(at: 25)
        #expect(try await sync(bench, origin).outcome == .complete)
        let kept = try #require(try await bench.list?.record.sweep).position
        #expect(kept <= 25 && kept < stopped)
        #expect(try await sync(bench, origin, .sweep).reconciliation == .swept)
        #expect(try await bench.held == origin.names)
    }

    @Test("A sweep of a chain whose two replicas answer in turn removes no item that both of them show (R22)")
    func replicas() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<65), access: .chain, size: 9)
        origin.state.withLock { $0.countsPositions = true }
        #expect(try await sync(bench, origin).outcome == .complete)
        origin.before { number, list in list = (number.isMultiple(of: 2) ? [] : ["a", "b"]) + names(0..<65) }
        _ = try await sync(bench, origin, .sweep)
        let held = Set(try await bench.held.compactMap { $0 })
        #expect(held.isSuperset(of: names(0..<65)))
        origin.before { _, list in list = names(0..<65) }
        #expect(try await sync(bench, origin, .sweep).outcome == .complete)
        #expect(try await bench.held == names(0..<65))
    }

    @Test("A sweep of many pages of known items is not a loop (R24)", arguments: styles)
    func manyPages(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<400), access: access)
        _ = try await sync(bench, origin)
        let report = try await sync(bench, origin, .sweep)
        #expect(report.outcome == .complete && report.reconciliation == .swept, "\(report.warnings)")
    }

    @Test("A sweep removes the mark of repeated ids once no id repeats, and not before", arguments: styles)
    func takesBack(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(["a", "b", "a"] + names(0..<20), access: access)
        _ = try await sync(bench, origin)
        #expect(try await bench.list?.record.allowsDuplicates == true)
        _ = try await sync(bench, origin, .sweep)
        #expect(try await bench.list?.record.allowsDuplicates == true)
        #expect(try await bench.held == origin.names)
        origin.names[2] = "c"
        _ = try await sync(bench, origin)
        #expect(try await bench.held == origin.names)
        #expect(try await sync(bench, origin, .sweep).outcome == .complete)
        #expect(try await bench.list?.record.allowsDuplicates == false)
        #expect(try await bench.held == origin.names)
    }

    @Test("Items that an insert moves into the next page do not mark a list as one of repeated ids", arguments: styles)
    func drift(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<100), access: access)
        origin.state.withLock { $0.countsPositions = true }
        origin.before { number, names in
            if number.isMultiple(of: 2), number < 40 { names.insert("new\(number)", at: 0) }
        }
        for _ in 0..<3 {
            _ = try await sync(bench, origin)
            #expect(try await bench.list?.record.allowsDuplicates == false)
        }
        origin.before(nil)
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.list?.record.allowsDuplicates == false)
        #expect(try await bench.held == origin.names)
    }

    @Test("A sweep confirms every page, also one that an insert has made longer than an answer", arguments: styles)
    func confirmed(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<100), access: access)
        _ = try await sync(bench, origin)
        origin.names.insert("new", at: 45)
        _ = try await sync(bench, origin)
        clock.advance(by: .seconds(3_600))
        let begun = clock.now()
        let report = try await sync(bench, origin, .sweep)
        #expect(report.reconciliation == .swept && report.outcome == .complete)
        #expect(report.pagesKept == 0)
        #expect(try await bench.list?.heldPages.allSatisfy { $0.validatedAt >= begun } == true)
        #expect(try await bench.held == origin.names)
    }

    @Test(
        "A sweep ends where the origin refuses the position behind the end of the list with 422 (R24)",
        arguments: [PagingAccess.offsets, .grid(size: 10)], [true, false])
    func refusedEnd(access: PagingAccess, hasTotal: Bool) async throws {
        let bench = try await SyncBench(clock)
        let list = ListOrigin(names(0..<100), access: access)
        if !hasTotal { list.state.withLock { $0.total = nil } }
        let origin = WindowOrigin(list, window: 100)
        origin.fails.withLock { $0 = true }
        // Without a total, the list may have a result window there.
        let outcome = hasTotal ? SyncReport.Outcome.complete : .limited
        #expect(try await bench.sync(origin, clock).outcome == outcome)
        for _ in 0..<2 {
            let report = try await bench.sync(origin, clock) { $0.work = .sweep }
            #expect(report.outcome == outcome && report.reconciliation == .swept)
            #expect(try await bench.held == list.names)
        }
    }
}
