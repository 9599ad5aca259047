import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Testing

@Suite("Synchronization of a list")
struct ListSyncTests {
    let clock = ManualClock()

    func sync(_ bench: SyncBench, _ origin: ListOrigin, _ change: (inout SyncOptions) -> Void = { _ in }) async throws
        -> SyncReport
    {
        var options = SyncOptions()
        // Pages are fetched without overlap, so that a test can count requests. The simulation covers lists read with
        // overlap.
        options.overlap = 0
        change(&options)
        clock.advance(by: .seconds(1))
        return try await ListSync(
            storage: bench.store, source: origin, key: bench.key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
    }

    @Test(
        "The first run fetches every page once, and the next run fetches only page one",
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

    @Test("An empty list that was fetched differs from a list never fetched (R11)")
    func empty() async throws {
        let bench = try await SyncBench(clock)
        #expect(try await bench.list == nil)
        _ = try await sync(bench, ListOrigin([]))
        let list = try #require(try await bench.list)
        #expect(list.record.validatedAt != nil)
        #expect(list.isComplete)
        #expect(list.length == 0)
    }

    @Test("Changes at the head cost one request, and the list equals the origin's list (R17)")
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
        "A change that page one does not explain is found and repaired, and no item is lost or duplicated (R18, R22)",
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
        "An item removed from the tail of a chain costs one walk, and one more fetch of page one and the last page (R20, R22)"
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
        "A sweep fetches no position far after the origin's total (R23)",
        arguments: [PagingAccess.offsets, .grid(size: 10)])
    func sweepToTheEnd(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48), access: access)
        _ = try await sync(bench, origin)
        let before = origin.requests.count
        let report = try await sync(bench, origin) { $0.work = .sweep }
        #expect(report.reconciliation == .swept)
        // Page one, the pages after it, and the first position after the end.
        #expect(origin.requests.count - before <= 7)
        #expect(try await bench.held == origin.names)
    }

    @Test("Ids that repeat at the origin are kept and reported (R25)", arguments: [PagingAccess.offsets, .chain])
    func repeatedIDs(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        // The id repeats within one page. A chain of names could not continue after a name that repeats across pages.
        let origin = ListOrigin(["a", "b", "a"] + names(0..<20), access: access)
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(report.warnings.contains { $0.contains("repeats item ids") })
        #expect(try await bench.held == origin.names)
    }
}
