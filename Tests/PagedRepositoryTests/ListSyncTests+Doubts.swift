import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

// Answers that need a confirmation, or prove no end: empty, shrunk, miscounted, or without a stated end (R20, R24, R44).
extension ListSyncTests {
    @Test(
        "An empty answer deletes no item, and a run with a budget for the wait requests page one a minute later (R20)")
    func badMinute() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin)
        let good = origin.names
        origin.before { number, names in names = number == 6 ? [] : good }
        let report = try await sync(bench, origin) { $0.retryWaitBudget = .seconds(90) }
        #expect(report.reconciliation == .unchanged)
        #expect(report.outcome == .complete)
        #expect(origin.requests.count == 7)
        #expect(clock.slept == [.seconds(60)], "the second request is not in the same bad minute")
        #expect(try await bench.held == good)
        #expect(try #require(try await bench.list).failures.isEmpty)
    }

    @Test("An empty answer stays unconfirmed beyond the end of a run, and is accepted a minute later (R20)")
    func emptied() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin)
        let good = origin.names
        origin.before { _, names in names = [] }
        let began = clock.now()
        // The number of requests within the minute makes no difference.
        for _ in 0..<3 {
            let doubted = try await sync(bench, origin)
            #expect(doubted.outcome == .incomplete)
            #expect(doubted.headFailure?.failureClass == .unconfirmed)
            // Each run begins a second later.
            #expect(doubted.nextAttemptAt == began + .seconds(1 + 60))
            #expect(try await bench.held == good)
            clock.advance(by: .seconds(10))
        }
        #expect(origin.requests.count == 5 + 3)
        clock.advance(by: .seconds(30))
        let emptied = try await sync(bench, origin)
        #expect(emptied.outcome == .complete)
        #expect(try await bench.held == [])
        #expect(origin.requests.count == 5 + 4)
    }

    @Test("A list that shrinks by more than half is accepted after two answers of the same size (R20)")
    func shrunk() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin)
        let good = origin.names
        origin.before { number, names in names = number == 6 ? Array(good.prefix(5)) : Array(good.prefix(6)) }
        let report = try await sync(bench, origin)
        #expect(clock.slept == [.seconds(2), .seconds(2)])
        #expect(report.warnings == ["the origin confirmed that the list has shrunk to 6 items"])
        #expect(try await bench.held == Array(good.prefix(6)))
    }

    @Test(
        "A total that is too large becomes an estimate; more than two pages make a list by position unproven",
        arguments: [
            PagingAccess.offsets, .grid(size: 10), .chain,
        ], [68, 78])
    func lyingTotal(access: PagingAccess, total: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48), access: access)
        origin.state.withLock { $0.total = { _ in .exact(total) } }
        let report = try await sync(bench, origin)
        let outcome = access == .chain || total == 68 ? SyncReport.Outcome.complete : .unproven
        #expect(report.outcome == outcome)
        #expect(report.list?.record.total == .estimate(total))
        #expect(report.list?.record.end == 48)
        // Readers that start no run call the list unproven, too.
        let stored = try #require(try await bench.list)
        #expect(stored.record == report.list?.record)
        #expect(SyncReport(stored: stored).outcome == outcome)
        let before = origin.requests.count
        let again = try await sync(bench, origin)
        #expect(again.reconciliation == .unchanged && again.outcome == outcome)
        let warning = "the origin counts \(total) items but returned 48"
        #expect(again.warnings.contains(warning) == (outcome == .unproven))
        // The run fetches page one and the end, because an estimate does not show whether the list has grown.
        #expect(origin.requests.count - before == 2)
        #expect(try await bench.held == origin.names)
        origin.state.withLock { $0.total = { .exact($0) } }
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(try await bench.list?.record.isUnproven == false)
    }

    @Test(
        "A run notices that a list without totals has grown at its end (R24)",
        arguments: [PagingAccess.offsets, .chain, .grid(size: 10)], [1, 30])
    func growth(access: PagingAccess, more: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<45), access: access)
        origin.state.withLock { $0.total = nil }
        _ = try await sync(bench, origin)
        var before = origin.requests.count
        #expect(try await sync(bench, origin).outcome == .complete)
        #expect(origin.requests.count - before == 2)
        before = origin.requests.count
        origin.names += (0..<more).map { "late\($0)" }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
        // The run fetches the new items. With offsets it also fetches the page after them (R53), and page one and the
        // end again, to see that the list did not change.
        #expect(origin.requests.count - before <= 2 + more / 10 + 1 + (access.supportsRandomAccess ? 3 : 0))
    }

    @Test("An origin that ignores the requested offset is reported as a loop, and page one stays as it was")
    func ignoredOffsets() async throws {
        let bench = try await SyncBench(clock)
        final class Deaf: PageSource {
            let count = Mutex(0)
            var access: PagingAccess { .offsets }
            var usage: SourceUsage { SourceUsage(requests: count.withLock { $0 }) }
            func fetch(_ request: PageRequest) async throws -> PageAnswer {
                count.withLock { $0 += 1 }
                return .page(FetchedPage(content: named(0..<10), total: .exact(1 << 53)))
            }
        }
        let report = try await ListSync(storage: bench.store, source: Deaf(), key: bench.key, clock: clock).run()
        #expect(report.outcome == .unproven)
        #expect(report.list?.failures.first?.failure?.failureClass == .loop)
        #expect(report.list?.record.allowsDuplicates == false)
        #expect(report.usage.requests < 20)
        #expect(Set(try await bench.held.compactMap { $0 }) == Set(names(0..<10)))
    }

    @Test(
        "An empty answer in the middle of a load is fetched again and not taken for the end (R20)",
        arguments: [2, 3, 4])
    func emptyInTheMiddle(request: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        let good = origin.names
        origin.before { number, names in names = number == request ? [] : good }
        origin.state.withLock { $0.total = { _ in .exact(48) } }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(origin.requests.count == 6)
        #expect(try await bench.held == good)
    }

    @Test("A run that only updates a stored list ends as purged if there is none, without a request")
    func updatesOnly() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        let report = try await bench.sync(origin, clock) { $0.updatesOnly = true }
        #expect(report.outcome == .purged)
        #expect(origin.requests.isEmpty)
        #expect(try await bench.store.records().isEmpty)
        // A list that the source refuses was not purged.
        _ = try await sync(bench, origin)
        let refused = try await ListSync(
            storage: bench.store, source: RefusingSource(), key: bench.key,
            options: {
                var options = SyncOptions()
                options.updatesOnly = true
                return options
            }(), clock: clock
        ).run()
        #expect(refused.outcome == .failed)
    }

    /// A source that accepts no stored list.
    private struct RefusingSource: PageSource {
        var access: PagingAccess { .offsets }
        var usage: SourceUsage { SourceUsage() }
        func authorize(_ list: QueryRecord) throws(FetchFailure) {
            throw FetchFailure(.rejected, "the list belongs to another request", isRetryable: false)
        }
        func fetch(_ request: PageRequest) async throws -> PageAnswer { .pastEnd }
    }

    @Test("A total that is far too high costs a few requests, not thousands (R44)")
    func hugeTotal() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        origin.state.withLock { $0.total = { _ in .exact(1 << 53) } }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .unproven)
        #expect(report.list?.record.end == 48)
        #expect(origin.requests.count < 30)
    }

    @Test(
        "A list without totals ends at its last item (R24)", arguments: [PagingAccess.offsets, .chain], [0, 5, 10, 48])
    func noTotals(access: PagingAccess, count: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<count), access: access)
        origin.state.withLock { $0.total = nil }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
        #expect(report.list?.record.end == count)
    }

    @Test("A chain that repeats itself is reported as a loop, and the run stops (R24)")
    func loop() async throws {
        let bench = try await SyncBench(clock)
        final class Loop: PageSource {
            let count = Mutex(0)
            var access: PagingAccess { .chain }
            var usage: SourceUsage { SourceUsage(requests: count.withLock { $0 }) }
            func fetch(_ request: PageRequest) async throws -> PageAnswer {
                let number = count.withLock {
                    $0 += 1; return $0
                }
                return .page(FetchedPage(content: named(0..<10), next: PageCursor("page\(number)")))
            }
        }
        let report = try await ListSync(storage: bench.store, source: Loop(), key: bench.key, clock: clock).run()
        #expect(report.outcome == .unproven)
        #expect(report.list?.failures.first?.failure?.failureClass == .loop)
        // At most twenty repeated answers after the stored pages, and twenty again from page one.
        #expect(report.usage.requests <= 2 * 21)
        #expect(try await bench.held == names(0..<10))
    }
}
