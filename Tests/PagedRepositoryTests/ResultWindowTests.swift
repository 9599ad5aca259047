import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import PagedRepository

/// An origin counts more items than it returns, and refuses the positions after its result window (R24).
@Suite("Result windows")
struct ResultWindowTests {
    static let accesses: [PagingAccess] = [.offsets, .grid(size: 10)]

    @Test(
        "A window that ends inside a page is told from a wrong total by the refusal",
        arguments: accesses, [40, 45, 49, 51])
    func insideAPage(_ access: PagingAccess, _ window: Int) async throws {
        let bench = try await SyncBench()
        let origin = WindowOrigin(ListOrigin(names(0..<103), access: access), window: window)
        for _ in 0..<3 {
            let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
            #expect(report.outcome == .limited)
            #expect(try await bench.held == names(0..<window))
        }
        #expect(try await bench.list?.record.resultWindow == window)
    }

    @Test(
        "A window costs fewer requests behind it than it has pages, however many items are counted",
        arguments: accesses)
    func requests(_ access: PagingAccess) async throws {
        let bench = try await SyncBench()
        let origin = WindowOrigin(ListOrigin(names(0..<3_000), access: access), window: 200)
        for _ in 0..<2 {
            let before = origin.list.requests.count
            let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
            #expect(report.outcome == .limited && report.limit == .resultWindow)
            #expect(report.warnings.contains { $0.contains("3000") && $0.contains("200") }, "\(report.warnings)")
            let behind = origin.list.requests.dropFirst(before).count {
                if case .offset(let offset) = $0.target { offset >= 200 } else { false }
            }
            #expect(behind < 20)
        }
        #expect(try await bench.held == names(0..<200))
    }

    @Test(
        "A page that extends past the window is refused as a whole, and its first positions are fetched",
        arguments: [40, 47])
    func refusedAsWhole(total: Int) async throws {
        let bench = try await SyncBench()
        let origin = WindowOrigin(ListOrigin(names(0..<total)), window: 40)
        origin.refusesWhole.withLock { $0 = true }
        for _ in 0..<2 {
            let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
            #expect(report.outcome == (total == 40 ? .complete : .limited))
            #expect(try await bench.held == names(0..<40))
        }
        #expect(origin.list.requests.count <= 20)
    }

    @Test("Without a total, an origin that refuses the page behind a full one with 422, twice, has a window (R24)")
    func refusedWithoutTotal() async throws {
        let bench = try await SyncBench()
        let origin = WindowOrigin(ListOrigin(names(0..<103), access: .grid(size: 10)), window: 40)
        origin.list.state.withLock { $0.total = nil }
        origin.fails.withLock { $0 = true }
        for _ in 0..<3 {
            let before = origin.list.requests.count
            let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
            #expect(report.outcome == .limited && report.limit == .resultWindow)
            #expect(origin.list.requests.count - before <= 4 + 8)
        }
        let behind = origin.list.requests.count { $0.target == .offset(50) }
        #expect(behind == 1, "the window is stored, and the page behind the refused one is requested once")
        #expect(try await bench.held == names(0..<40))
        #expect(try await bench.list?.record.resultWindow == 40)
    }

    @Test("Without a total, a page that the origin refuses with 422 is a failure if a page behind it has items (R24)")
    func refusedPageWithoutTotal() async throws {
        let bench = try await SyncBench()
        let origin = WindowOrigin(ListOrigin(names(0..<103), access: .grid(size: 10)), window: .max)
        origin.list.state.withLock { $0.total = nil }
        origin.fails.withLock { $0 = true }
        origin.refused.withLock { $0 = 40..<50 }
        var expected: [String?] = names(0..<103)
        for position in 40..<50 { expected[position] = nil }
        for _ in 0..<2 {
            let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
            #expect(report.outcome == .incomplete && report.limit == nil)
            #expect(try await bench.held == expected)
        }
        #expect(try await bench.list?.record.resultWindow == nil)
        #expect(origin.list.requests.count <= 11 + 4 + 8, "no page is requested again and again")
        origin.refused.withLock { $0 = nil }
        #expect(try await ListSync(storage: bench.store, source: origin, key: bench.key).run().outcome == .complete)
        #expect(try await bench.held == names(0..<103))
    }

    @Test("An origin that repeats its last page below its total ends the list as limited, and each run says so")
    func repeatedBelowTotal() async throws {
        let bench = try await SyncBench()
        let origin = ListOrigin(names(0..<100), access: .grid(size: 20), size: 20)
        origin.state.withLock { $0.total = { _ in .exact(250) } }
        let source = LastPageAgain(list: origin, last: 80)
        for _ in 0..<2 {
            let report = try await ListSync(storage: bench.store, source: source, key: bench.key).run()
            #expect(report.outcome == .limited)
            #expect(report.warnings.contains { $0.contains("250") && $0.contains("only the first 100") })
            #expect(try await bench.held == names(0..<100))
        }
    }

    @Test("A list that has become shorter than its window is complete again", arguments: accesses)
    func shorterThanWindow(_ access: PagingAccess) async throws {
        let bench = try await SyncBench()
        let origin = ListOrigin(names(0..<100), access: access)
        origin.state.withLock { $0.total = { .exact($0 + $0 / 10) } }
        var options = SyncOptions()
        options.confirmationPause = .zero
        func sync() async throws -> SyncReport {
            try await ListSync(storage: bench.store, source: origin, key: bench.key, options: options).run()
        }
        #expect(try await sync().outcome == .limited)
        origin.names = names(0..<68)
        for _ in 0..<2 {
            #expect(try await sync().outcome == .complete)
            #expect(try await bench.held == names(0..<68))
        }
        #expect(try await bench.list?.record.resultWindow == nil)
    }

    @Test(
        "A held position that the origin counts and does not find is a failure, and no item is removed",
        arguments: accesses, [SyncOptions.Work.everything, .sweep])
    func heldPositions(_ access: PagingAccess, _ work: SyncOptions.Work) async throws {
        let clock = ManualClock()
        let bench = try await SyncBench(clock)
        let origin = WindowOrigin(ListOrigin(names(0..<103), access: access), window: .max, answer: .notFound)
        func sync(_ work: SyncOptions.Work) async throws -> SyncReport {
            try await run(bench, origin, clock) { ($0.work, $0.retryWaitBudget) = (work, .zero) }
        }
        #expect(try await sync(.everything).outcome == .complete)
        origin.list.names.remove(at: 20)
        origin.window.withLock { $0 = 60 }
        for _ in 0..<3 {
            #expect(try await sync(work).outcome == .incomplete)
            #expect(try await bench.held.count >= 102)
            clock.advance(by: .seconds(7_200))
        }
        origin.window.withLock { $0 = .max }
        _ = try await sync(.everything)
        #expect(try await sync(.everything).outcome == .complete)
        #expect(try await bench.held == origin.list.names)
    }

    @Test(
        "Positions that are not found and counted show a window after an hour, and are failures before",
        arguments: accesses)
    func notFound(_ access: PagingAccess) async throws {
        let clock = ManualClock()
        let bench = try await SyncBench(clock)
        let origin = WindowOrigin(ListOrigin(names(0..<303), access: access), window: 60, answer: .notFound)
        func sync(_ work: SyncOptions.Work = .everything) async throws -> SyncReport {
            try await run(bench, origin, clock) { ($0.work, $0.retryWaitBudget) = (work, .zero) }
        }
        for _ in 0..<3 {
            let before = origin.list.requests.count
            #expect(try await sync().outcome == .incomplete)
            #expect(origin.list.requests.count - before <= 14)
            clock.advance(by: .seconds(1_000))
        }
        clock.advance(by: .seconds(3_000))
        #expect(try await sync().outcome == .limited)
        #expect(try await bench.list?.record.resultWindow == 60)
        #expect(try await bench.held == names(0..<60))
        let before = origin.list.requests.count
        #expect(try await sync().outcome == .limited)
        #expect(origin.list.requests.count - before == 1)
        // The window is looked at again by a sweep, and by the recheck.
        origin.window.withLock { $0 = .max }
        if access == .offsets {
            #expect(try await sync(.sweep).outcome == .complete)
        } else {
            clock.advance(by: .seconds(8 * 86_400))
            #expect(try await sync().outcome == .complete)
        }
        #expect(try await bench.list?.record.resultWindow == nil)
        #expect(try await bench.held == names(0..<303))
    }

    @Test(
        "A stored window that the held items disprove is dropped, and one sync completes the list",
        arguments: accesses, [0, 10, 25])
    func disprovedByItems(_ access: PagingAccess, _ window: Int) async throws {
        let bench = try await SyncBench()
        let origin = ListOrigin(names(0..<103), access: access)
        func sync() async throws -> SyncReport {
            try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
        }
        #expect(try await sync().outcome == .complete)
        let list = try #require(try await bench.list)
        // Items are missing, as after an eviction.
        let edits: [ListEdit] = [.truncate(at: 30), .setTotal(.exact(103)), .setEnd(nil), .setResultWindow(window)]
        _ = try await bench.store.commit(
            CommitPlan(query: list.record.id, version: list.record.version, edits: edits), claiming: nil)
        #expect(try await bench.list?.coverage.count == 30)
        #expect(try await sync().outcome == .complete)
        #expect(try await bench.list?.record.resultWindow == nil)
        #expect(try await bench.held == names(0..<103))
    }

    @Test(
        "A stored window that an answer disproves is dropped, and one sync completes the list", arguments: accesses,
        [0, 3])
    func disprovedByAnswer(_ access: PagingAccess, _ window: Int) async throws {
        let bench = try await SyncBench()
        let origin = ListOrigin(names(0..<103), access: access)
        let record = try await bench.store.register(bench.key)
        _ = try await bench.store.commit(
            CommitPlan(query: record.id, version: record.version, edits: [.setResultWindow(window)]), claiming: nil)
        let report = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
        #expect(report.outcome == .complete)
        #expect(try await bench.list?.record.resultWindow == nil)
        #expect(try await bench.held == names(0..<103))
    }

    @Test("One page of many that is not found is a gap, and the pages after it are fetched", arguments: accesses)
    func onePage(_ access: PagingAccess) async throws {
        let clock = ManualClock()
        let bench = try await SyncBench(clock)
        let origin = WindowOrigin(ListOrigin(names(0..<103), access: access), window: .max, answer: .notFound)
        origin.refused.withLock { $0 = 40..<50 }
        func sync() async throws -> SyncReport {
            try await run(bench, origin, clock) { $0.retryWaitBudget = .zero }
        }
        #expect(try await sync().outcome == .incomplete)
        #expect(try await bench.held.compactMap(\.self).count >= 80)
        clock.advance(by: .seconds(7_200))
        #expect(try await sync().outcome == .incomplete)
        origin.refused.withLock { $0 = nil }
        clock.advance(by: .seconds(7_200))
        #expect(try await sync().outcome == .complete)
        #expect(try await bench.held == names(0..<103))
    }

    private func run(
        _ bench: SyncBench, _ origin: WindowOrigin, _ clock: ManualClock,
        _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> SyncReport {
        var options = SyncOptions()
        change(&options)
        return try await ListSync(
            storage: bench.store, source: origin, key: bench.key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
    }

    @Test("A total that counts too many items, and empty pages after the end, make a complete list")
    func wrongTotal() async throws {
        let bench = try await SyncBench()
        let list = ListOrigin(names(0..<45))
        list.state.withLock { $0.total = { .exact($0 + 3) } }
        var report = try await ListSync(storage: bench.store, source: list, key: bench.key).run()
        #expect(report.outcome == .complete)
        report = try await ListSync(storage: bench.store, source: list, key: bench.key).run()
        #expect(report.outcome == .complete)
        #expect(try await bench.held == names(0..<45))
    }
}

/// Returns the last page for every later position.
private struct LastPageAgain: PageSource {
    let list: ListOrigin
    let last: Int

    var access: PagingAccess { list.access }
    var usage: SourceUsage { list.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        guard case .offset(let offset) = request.target, offset > last else { return try await list.fetch(request) }
        var clamped = request
        clamped.target = .offset(last)
        return try await list.fetch(clamped)
    }
}
