import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

// Runs that fail, are stopped, or run beside another one: which pages are kept, and which pages the next run fetches
// (R26, R30, R31).
extension ListSyncTests {
    @Test("When the load of a replaced list is interrupted, the old pages stay readable after the new head (R14, R19)")
    func interruptedRefetch() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin)
        origin.names = (0..<49).map { "other\($0)" }
        let report = try await sync(bench, origin) { $0.maxPages = 2 }
        #expect(report.outcome == .limited)
        let list = try #require(try await bench.list)
        #expect(list.coverage.segments == [0..<20])
        #expect(list.gaps == [20..<49])
        #expect(list.pages.contains { $0.generation == 1 }, "the old pages are still stored")
        // The next run refreshes page one and fetches the missing pages. Page two is kept (R31).
        let before = origin.requests.count
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(origin.requests.count - before == 1 + 3)
        #expect(try await bench.held == origin.names)
    }

    @Test("A stopped run is resumed at any page, and committed pages are not fetched again (R31)", arguments: 1...5)
    func resume(pages: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        #expect(try await sync(bench, origin) { $0.maxPages = pages }.pagesFetched == pages)
        let before = origin.requests.count
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(origin.requests.count - before == 1 + (5 - pages))
        #expect(report.reconciliation == (pages < 5 ? .resumed : .unchanged))
        #expect(try await bench.held == origin.names)
    }

    @Test("Failures are retried on schedule, the ledger keeps permanent failures, and other pages continue")
    func failures() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        origin.before { number, _ in
            if number == 2 { throw FetchFailure.status(500) }
            if number == 3 { throw FetchFailure.status(404) }
        }
        let report = try await sync(bench, origin) { $0.concurrency = 1 }
        #expect(report.outcome == .incomplete)
        #expect(report.list?.gaps.count == 1)
        let failures = try #require(report.list?.failures)
        #expect(failures.map(\.state) == [.failedPermanent])
        #expect(failures.first?.failure?.httpStatus == 404)
        // The next run retries the page, and its success clears the ledger entry (R33).
        origin.before(nil)
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.list?.failures == [])
    }

    @Test("The attempts of a page are counted across runs until the page succeeds (R26)")
    func attemptsSurvive() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<20))
        origin.before { number, _ in if number > 1 { throw FetchFailure.status(503) } }
        for run in 1...2 {
            let report = try await sync(bench, origin) { $0.retry.attempts = 3 }
            #expect(report.outcome == .incomplete)
            if run == 1 { #expect(report.list?.failures.first?.attempts == 3) }
            origin.before { number, _ in if number != 5 { throw FetchFailure.status(503) } }
        }
        #expect(try await bench.list?.failures.first?.attempts ?? 0 >= 6)
    }

    @Test("A run against an unreachable origin changes nothing and reports offline")
    func offline() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<20))
        let refused = FetchFailure(.transport, "connection refused", isRetryable: true)
        origin.before { _, _ in throw refused }
        var report = try await sync(bench, origin) { $0.registersFirst = false }
        #expect(report.outcome == .offline)
        #expect(report.list == nil, "the list is not registered before the origin has answered")
        report = try await sync(bench, origin)
        #expect(report.outcome == .offline)
        #expect(report.list?.failures.first?.failure == refused, "the ledger holds every attempted page (R26)")
        #expect(report.list?.record.validatedAt == nil)
        origin.before(nil)
        _ = try await sync(bench, origin)
        origin.before { _, _ in throw refused }
        report = try await sync(bench, origin)
        #expect(report.outcome == .offline)
        #expect(report.headFailure == refused)
        #expect(try await bench.held == origin.names)
        #expect(report.nextAttemptAt != nil)
    }

    @Test("A run whose page one is answered and whose other pages time out is incomplete, and not offline")
    func deepPagesTimeOut() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<100))
        let late = FetchFailure(.timeout, "no complete answer within 1.0 seconds", isRetryable: true)
        origin.before { number, _ in if number > 1 { throw late } }
        var report = try await sync(bench, origin)
        #expect(report.outcome == .incomplete)
        #expect(report.headFailure == nil)
        #expect(report.list?.failures.first?.failure == late, "the ledger names the pages without an answer")
        #expect(report.nextAttemptAt != nil)
        // Without any answer the origin is offline.
        origin.before { _, _ in throw late }
        report = try await sync(bench, origin)
        #expect(report.outcome == .offline)
        #expect(report.headFailure == late)
    }

    @Test(
        "The next run fetches a page that was found damaged, and no other page behind page one but the last",
        arguments: [
            PagingAccess.offsets, .grid(size: 10), .chain,
        ])
    func damagedPage(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48), access: access)
        _ = try await sync(bench, origin)
        let list = try #require(try await bench.list)
        // `show` marks a page as stale in the same way when its checksum fails.
        _ = try await bench.store.commit(
            CommitPlan(query: list.record.id, version: list.record.version, edits: [.markStale(20..<30)]))
        let before = origin.requests.count
        #expect(try await sync(bench, origin).outcome == .complete)
        // Without a total, a chain's end is requested, too (R24).
        #expect(origin.requests.count - before == (access == .chain ? 3 : 2))
        #expect(try await bench.held == origin.names)
    }

    @Test("After a rejected cursor the list is read again from page one (R22)")
    func rejectedCursor() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48), access: .chain)
        origin.before { number, _ in if number == 3 { throw FetchFailure.status(410) } }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(report.warnings.contains { $0.contains("cursor") })
        #expect(try await bench.held == origin.names)
    }

    @Test("Two concurrent runs of a list fetch every page once between them, and both end complete (R30)")
    func twoAtOnce() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<480))
        // Both runs know the list. Runs of an unregistered list cannot see each other's first request.
        _ = try await ListSync(storage: bench.store, source: origin, key: bench.key).run()
        let list = try #require(try await bench.list)
        _ = try await bench.store.commit(
            CommitPlan(query: list.record.id, version: list.record.version, edits: [.markStale(10..<480)]))
        let before = origin.requests.count
        var options = SyncOptions()
        options.overlap = 0
        let second = try await SQLitePageStore.open(at: bench.store.path, mode: .mustExist, clock: clock)
        try await withThrowingTaskGroup(of: SyncReport.self) { group in
            for store in [bench.store, second] {
                group.addTask { [options] in
                    try await ListSync(storage: store, source: origin, key: bench.key, options: options).run()
                }
            }
            for try await report in group { #expect(report.outcome == .complete) }
        }
        #expect(try await bench.held == origin.names)
        let asked = origin.requests.dropFirst(before).map(\.target)
        #expect(asked.count { $0 != .first } == 47)
        #expect(
            Set(asked).count == 48,
            "\(asked.filter { if case .offset(let offset) = $0 { offset % 10 != 0 } else { false } })")
    }

    @Test("A cancelled run keeps the fetched pages and leaves no page in flight")
    func cancelled() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<480))
        let key = bench.key, store = bench.store, clock = clock
        let task = Mutex<Task<SyncReport, any Error>?>(nil)
        origin.before { number, _ in if number == 8 { task.withLock { $0?.cancel() } } }
        let started = Task {
            var options = SyncOptions()
            options.concurrency = 1
            return try await ListSync(storage: store, source: origin, key: key, options: options, clock: clock).run()
        }
        task.withLock { $0 = started }
        let report = try await started.value
        // The cancellation takes effect at the eighth request or later. Pages that arrived before it are held.
        if report.outcome != .complete {
            #expect(report.outcome == .incomplete)
            #expect(try await bench.list?.ledger.allSatisfy { $0.state != .inFlight } == true)
        }
        let held = try await bench.held
        #expect(held.count >= 70)
        #expect(held.compactMap { $0 } == Array(origin.names.prefix(held.count)))
    }
}
