import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Testing

@Suite("A synchronisation")
struct ListSyncTests {
    let clock = ManualClock()

    func sync(_ bench: SyncBench, _ origin: ListOrigin, _ change: (inout SyncOptions) -> Void = { _ in }) async throws
        -> SyncReport
    {
        var options = SyncOptions()
        // Pages one behind the other, so that requests can be counted; lists are read with overlap by the lives of the
        // simulation.
        options.overlap = 0
        change(&options)
        clock.advance(by: .seconds(1))
        return try await ListSync(
            storage: bench.store, source: origin, key: bench.key, options: options, clock: clock, chance: { 0.5 }
        ).run()
    }

    func names(_ range: Range<Int>) -> [String] { range.map { "i\($0)" } }

    @Test(
        "the first run fetches every page once; the next one asks for page one",
        arguments: [
            PagingAccess.offsets, .grid(size: 10), .chain,
        ], [0, 1, 9, 10, 11, 48, 50])
    func firstAndNext(access: PagingAccess, count: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<count), access: access)
        var report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(report.reconciliation == .firstLoad)
        #expect(report.usage.requests == max(1, (count + 9) / 10))
        #expect(try await bench.held == origin.names)
        report = try await sync(bench, origin)
        #expect(report.reconciliation == .unchanged)
        #expect(report.usage.requests == max(1, (count + 9) / 10) + 1)
        #expect(report.pagesKept == max(0, (count + 9) / 10 - 1))
    }

    @Test("R11: fetched and empty is not never fetched")
    func empty() async throws {
        let bench = try await SyncBench(clock)
        #expect(try await bench.list == nil)
        _ = try await sync(bench, ListOrigin([]))
        let list = try #require(try await bench.list)
        #expect(list.record.validatedAt != nil)
        #expect(list.isComplete)
        #expect(list.length == 0)
    }

    @Test("R17: changes at the head cost one request, and the list is the origin's")
    func headChanges() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin)
        origin.names = ["a", "b", "i0", "i1", "c", "i3", "i40"] + names(4..<40) + names(41..<48)
        let before = origin.requests.count
        let report = try await sync(bench, origin)
        #expect(origin.requests.count - before == 1)
        #expect(report.reconciliation == .shifted)
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test(
        "R18, R22: what the head does not explain is found and mended; nothing is lost, nothing is twice",
        arguments: [
            PagingAccess.offsets, .grid(size: 10), .chain,
        ])
    func deepChange(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48), access: access)
        _ = try await sync(bench, origin)
        origin.names.insert("deep", at: 30)
        let report = try await sync(bench, origin) { $0.concurrency = 1 }
        #expect(report.reconciliation == (access == .chain ? .spliced : .repaired))
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
        #expect(try await bench.list?.pages.allSatisfy { $0.generation == 1 } == true)
    }

    @Test(
        "R20, R22: what is gone from the tail of a chain costs one walk, page one once more, and the last page once more"
    )
    func tailOfChain() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<95), access: .chain)
        _ = try await sync(bench, origin)
        origin.names.removeLast()
        let before = origin.requests.count
        let report = try await sync(bench, origin)
        #expect(origin.requests.count - before <= 10 + 3)
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
    }

    @Test(
        "R23: a sweep asks for nothing far behind what the origin counts",
        arguments: [PagingAccess.offsets, .grid(size: 10)])
    func sweepToTheEnd(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48), access: access)
        _ = try await sync(bench, origin)
        let before = origin.requests.count
        let report = try await sync(bench, origin) { $0.work = .sweep }
        #expect(report.reconciliation == .swept)
        // Page one, what lies behind it, and the place where nothing is any more.
        #expect(origin.requests.count - before <= 7)
        #expect(try await bench.held == origin.names)
    }

    @Test("R25: ids that repeat at the origin are kept, and said", arguments: [PagingAccess.offsets, .chain])
    func repeatedIDs(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        // Twice within a page; a chain of names cannot follow a name that stands twice across pages.
        let origin = ListOrigin(["a", "b", "a"] + names(0..<20), access: access)
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(report.warnings.contains { $0.contains("repeats item ids") })
        #expect(try await bench.held == origin.names)
    }
}
