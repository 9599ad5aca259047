import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// Runs for single due pages whose page is held. The failed request was to show a change (R26, R54).
@Suite("Due pages that are held")
struct HeldFailureTests {
    private let clock = ManualClock()
    private static let styles: [PagingAccess] = [.offsets, .grid(size: 10), .chain]

    /// Returns a loaded list of 60 items, in which the page at position 10 has failed and is due again.
    private func failed(_ access: PagingAccess) async throws -> (bench: SyncBench, origin: ListOrigin) {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<60), access: access)
        _ = try await ListSync(storage: bench.store, source: origin, key: bench.key, clock: clock).run()
        let list = try #require(try await bench.list)
        clock.advance(by: .seconds(1))
        _ = try await bench.store.record(
            [.failed(offset: 10, failure: .status(503), nextAttemptIn: .seconds(30))], for: list.record.id)
        clock.advance(by: .seconds(60))
        return (bench, origin)
    }

    /// Does all due work, as a program for cron does.
    private func due(_ bench: SyncBench, _ origin: ListOrigin) async throws -> [SyncReport] {
        var reports: [SyncReport] = []
        for due in try await DueWork.all(in: bench.store) {
            for work in due.runs {
                var options = SyncOptions()
                options.retryWaitBudget = .zero
                options.reportsOutline = true
                reports.append(
                    try await ListSync(
                        storage: bench.store, source: origin, key: bench.key,
                        options: DueWork.options(for: work, from: options), clock: clock, jitter: { 0.5 }
                    ).run())
            }
        }
        return reports
    }

    @Test("The failure of an unchanged page is removed after one request for the page", arguments: styles)
    func unchanged(access: PagingAccess) async throws {
        let (bench, origin) = try await failed(access)
        let before = origin.requests.count
        let reports = try await due(bench, origin)
        #expect(reports.map(\.outcome) == [.complete])
        #expect((1...2).contains(origin.requests.count - before))
        #expect(try await bench.list?.failures == [])
        #expect(try await due(bench, origin).isEmpty)
    }

    @Test("A change in the page is stored before the failure is removed", arguments: styles)
    func changed(access: PagingAccess) async throws {
        let (bench, origin) = try await failed(access)
        origin.names[15] = "new"
        let reports = try await due(bench, origin)
        #expect(reports.map(\.outcome) == [.complete])
        #expect(try await bench.held == origin.names)
        #expect(try await bench.list?.failures == [])
    }

    /// Synchronises the whole list, whatever is due.
    private func sync(
        _ bench: SyncBench, _ origin: ListOrigin, _ change: (inout SyncOptions) -> Void = { _ in }
    ) async throws -> SyncReport {
        try await bench.sync(origin, clock) { options in
            options.retryWaitBudget = .zero
            change(&options)
        }
    }

    @Test("A sync of the whole list requests the failed page again, and then removes the failure", arguments: styles)
    func wholeList(access: PagingAccess) async throws {
        let (bench, origin) = try await failed(access)
        // Neither page one nor the total shows the change, so only a request for the page finds it.
        origin.names[15] = "new"
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.held == origin.names)
        #expect(try await bench.list?.failures == [])
    }

    @Test("A sweep confirms the failed page, and removes the failure in the same run", arguments: styles)
    func swept(access: PagingAccess) async throws {
        let (bench, origin) = try await failed(access)
        let report = try await sync(bench, origin) { $0.work = .sweep }
        #expect(report.outcome == .complete && report.reconciliation == .swept)
        #expect(try await bench.list?.failures == [])
        #expect(try await bench.held == origin.names)
    }

    @Test("Background work leaves the failed page alone before it is due, and the list incomplete", arguments: styles)
    func notDue(access: PagingAccess) async throws {
        let (bench, origin) = try await failed(access)
        let list = try #require(try await bench.list)
        _ = try await bench.store.record(
            [.failed(offset: 10, failure: .status(503), nextAttemptIn: .seconds(200))], for: list.record.id)
        clock.advance(by: .seconds(60))
        let before = origin.requests.count
        #expect(try await sync(bench, origin) { $0.honorsLedger = true }.outcome == .incomplete)
        #expect(origin.requests.count == before + 1)
        #expect(try await bench.list?.failures.map(\.offset) == [10])
    }

    @Test("A page that fails again keeps its failure, and is due later", arguments: styles)
    func again(access: PagingAccess) async throws {
        let (bench, origin) = try await failed(access)
        let earlier = try #require(try await bench.list?.failures.first)
        let before = origin.requests.count
        origin.before { _, _ in throw FetchFailure.status(503) }
        let reports = try await due(bench, origin)
        #expect(reports.map(\.outcome) == [.incomplete])
        #expect(origin.requests.count == before + 1)
        let failure = try #require(try await bench.list?.failures.first)
        #expect(failure.offset == 10 && failure.attempts == earlier.attempts + 1)
        #expect(try #require(failure.nextAttemptAt) > clock.now())
        #expect(try await due(bench, origin).isEmpty)
        #expect(try await bench.held == names(0..<60))
    }
}
