import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Testing

@testable import PagedRepository

/// Page one shows a change, and the probes that would locate it are not answered. The list stays as it was (R14), and
/// the ledger says that it is not up to date (R26).
@Suite("Probes without an answer")
struct LostProbeTests {
    private let clock = ManualClock()
    static let accesses: [PagingAccess] = [.offsets, .grid(size: 10)]

    private func sync(
        _ bench: SyncBench, _ origin: ListOrigin, _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await bench.sync(origin, clock, change)
    }

    /// Returns a loaded list of 300 items whose origin has 400 by now, and fails after the next page one.
    private func grown(_ access: PagingAccess, _ failure: FetchFailure) async throws -> (SyncBench, ListOrigin) {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<300), access: access)
        #expect(try await sync(bench, origin).outcome == .complete)
        origin.names.insert(contentsOf: names(300..<400), at: 150)
        let pageOne = origin.requests.count + 1
        origin.before { number, _ in if number > pageOne { throw failure } }
        clock.advance(by: .seconds(100))
        return (bench, origin)
    }

    @Test(
        "A probe whose Retry-After is longer than the run waits is recorded, with the total that page one showed",
        arguments: accesses, [Duration.zero, .seconds(2), .seconds(30)])
    func longPause(access: PagingAccess, budget: Duration) async throws {
        let (bench, origin) = try await grown(access, .status(503, retryAfter: .seconds(7_200)))
        let report = try await sync(bench, origin) { $0.retryWaitBudget = budget }
        #expect(report.outcome == .incomplete)
        #expect(report.headFailure?.httpStatus == 503)
        #expect(report.nextAttemptAt == clock.now() + .seconds(3_600))
        let list = try #require(try await bench.list)
        let entry = try #require(list.failures.first)
        #expect(list.failures.count == 1 && entry.offset == 0 && entry.state == .failedRetryable)
        #expect(entry.failure?.message.contains("the origin counts 400 items") == true)
        #expect(ListState(list).isSettled == false)
        #expect(try await bench.held == names(0..<300))
        // The record is removed with the change that it stood for.
        origin.before(nil)
        clock.advance(by: .seconds(7_200))
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
        #expect(try await bench.list?.failures == [])
    }

    @Test("A probe without an answer from an origin that is away by then is recorded", arguments: accesses)
    func away(access: PagingAccess) async throws {
        let (bench, origin) = try await grown(access, FetchFailure(.transport, "away", isRetryable: true))
        let report = try await sync(bench, origin) { $0.retryWaitBudget = .seconds(10) }
        #expect(report.outcome == .incomplete)
        #expect(report.headFailure?.failureClass == .transport)
        let entry = try #require(try await bench.list?.failures.first)
        #expect(entry.offset == 0 && entry.failure?.failureClass == .transport && entry.nextAttemptAt != nil)
    }

    @Test("A probe that is answered within the wait budget leaves no record")
    func shortPause() async throws {
        let (bench, origin) = try await grown(.offsets, .status(503))
        let pageOne = origin.requests.count + 1
        origin.before { number, _ in if number == pageOne + 1 { throw FetchFailure.status(503) } }
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
        #expect(try await bench.list?.failures == [])
    }

    @Test("A sweep whose step is not answered says why it is incomplete", arguments: accesses)
    func sweep(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60), access: access)
        _ = try await sync(bench, origin)
        let pageOne = origin.requests.count + 1
        origin.before { number, _ in
            if number > pageOne { throw FetchFailure.status(503, retryAfter: .seconds(7_200)) }
        }
        let report = try await sync(bench, origin) {
            $0.work = .sweep
            $0.retryWaitBudget = .seconds(2)
        }
        #expect(report.outcome == .incomplete && report.headFailure?.httpStatus == 503)
        #expect(try await bench.held == names(0..<60))
    }

    @Test("A sweep that has seen the list move, and must pause before it requests page one again, is recorded")
    func movedInSweep() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60), access: .grid(size: 10))
        _ = try await sync(bench, origin)
        let pageOne = origin.requests.count + 1
        origin.before { number, list in if number == pageOne + 1 { list.append("new") } }
        clock.advance(by: .seconds(100))
        var options = SyncOptions()
        options.work = .sweep
        options.concurrency = 2
        options.retryWaitBudget = .seconds(2)
        let report = try await ListSync(
            storage: bench.store, source: BusyAt(list: origin, offset: 20), key: bench.key, options: options,
            clock: clock, jitter: { 0.5 }
        ).run()
        #expect(report.outcome == .incomplete && report.headFailure?.httpStatus == 429)
        let entry = try #require(try await bench.list?.failures.first)
        #expect(entry.offset == 0 && entry.failure?.httpStatus == 429)
        #expect(entry.nextAttemptAt == clock.now() + .seconds(3_600))
        clock.advance(by: .seconds(7_200))
        #expect(try await sync(bench, origin) { $0.work = .sweep }.outcome == .complete)
        #expect(try await bench.held == names(0..<60) + ["new"])
        #expect(try await bench.list?.failures == [])
    }

    @Test(
        "A failed step of a sweep is in the ledger until a sweep or another run has verified its page (R26, R31)",
        arguments: accesses, [SyncOptions.Work.sweep, .everything])
    func recordedStep(access: PagingAccess, next: SyncOptions.Work) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60), access: access)
        _ = try await sync(bench, origin)
        func sweep() async throws -> SyncReport {
            clock.advance(by: .seconds(100))
            return try await sync(bench, origin) {
                $0.work = .sweep
                $0.concurrency = 1
                $0.retryWaitBudget = .zero
            }
        }
        let third = origin.requests.count + 3
        origin.before { number, _ in if number > third { throw FetchFailure.status(503) } }
        let stopped = try await sweep()
        #expect(stopped.outcome == .incomplete && stopped.nextAttemptAt.map { $0 > clock.now() } == true)
        let list = try #require(try await bench.list)
        let entry = try #require(list.failures.first)
        #expect(list.failures.count == 1 && entry.offset > 10 && entry.offset == list.record.sweep?.position)
        #expect(entry.attempts == 1 && entry.failure?.httpStatus == 503)
        #expect(stopped.unverified.keys.sorted() == [entry.offset])
        // Page one is answered, and the same step fails again.
        let fourth = origin.requests.count + 1
        origin.before { number, _ in if number > fourth { throw FetchFailure.status(503) } }
        #expect(try await sweep().outcome == .incomplete)
        #expect(origin.requests.count == fourth + 1)
        #expect(try await bench.list?.failures.map(\.offset) == [entry.offset])
        #expect(try await bench.list?.failures.first?.attempts == 2)
        origin.before(nil)
        clock.advance(by: .seconds(3_600))
        #expect(try await sync(bench, origin) { $0.work = next }.outcome == .complete)
        #expect(try await bench.list?.failures == [])
    }

    @Test("A step of a sweep that is answered by a later attempt of the same run leaves no record", arguments: accesses)
    func answeredStep(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60), access: access)
        _ = try await sync(bench, origin)
        clock.advance(by: .seconds(100))
        let second = origin.requests.count + 2
        origin.before { number, _ in if number == second { throw FetchFailure.status(503) } }
        let report = try await sync(bench, origin) { $0.work = .sweep }
        #expect(report.outcome == .complete && report.reconciliation == .swept && report.unverified.isEmpty)
        #expect(try await bench.list?.failures == [])
    }

    @Test("A background sweep requests no page whose retry is not due (R33)", arguments: accesses)
    func backgroundStep(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60), access: access)
        _ = try await sync(bench, origin)
        let record = try #require(try await bench.list?.record)
        _ = try await bench.store.commit(
            CommitPlan(
                query: record.id, version: record.version,
                edits: [.setSweep(SweepProgress(position: 20, startedAt: clock.now()))]))
        _ = try await bench.store.record(
            [.failed(offset: 20, failure: .status(503), nextAttemptIn: .seconds(200))], for: record.id)
        clock.advance(by: .seconds(100))
        func requests() async throws -> Int {
            let before = origin.requests.count
            _ = try await sync(bench, origin) {
                $0 = DueWork.options(for: .sweep, from: $0)
                $0.retryWaitBudget = .zero
            }
            return origin.requests.count - before
        }
        #expect(try await requests() == 1)
        clock.advance(by: .seconds(100))
        #expect(try await requests() > 1)
        #expect(try #require(try await bench.list).record.sweep == nil)
        #expect(try await bench.list?.failures == [])
    }

    @Test("A page that could not be checked for its age is in the ledger, and the list stays as it was (R54)")
    func recheck() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60))
        _ = try await sync(bench, origin)
        clock.advance(by: .seconds(30 * 86_400))
        let pageOne = origin.requests.count + 1
        origin.before { number, _ in
            if number > pageOne { throw FetchFailure.status(503, retryAfter: .seconds(7_200)) }
        }
        let report = try await sync(bench, origin) { $0.retryWaitBudget = .seconds(2) }
        #expect(report.outcome == .incomplete && report.headFailure == nil)
        #expect(report.unverified.isEmpty, "the run was not a sweep")
        #expect(try await bench.held == names(0..<60))
        let list = try #require(try await bench.list)
        #expect(list.failures.map(\.offset) == [list.heldPages[1].offset])
        #expect(list.failures.first?.nextAttemptAt == clock.now() + .seconds(3_600))
        origin.before(nil)
        clock.advance(by: .seconds(7_200))
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.list?.failures == [])
    }
}

/// Asks for a pause instead of answering one position.
private struct BusyAt: PageSource {
    let list: ListOrigin
    let offset: Int

    var access: PagingAccess { list.access }
    var usage: SourceUsage { list.usage }

    func fetch(_ request: PageRequest) async throws -> PageAnswer {
        if request.target == .offset(offset) { throw FetchFailure.status(429, retryAfter: .seconds(7_200)) }
        return try await list.fetch(request)
    }
}
