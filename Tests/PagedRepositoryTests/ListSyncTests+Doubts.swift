import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

// An origin that is not to be believed at once: empty, shrunk, miscounted, without an end that is told (R20, R24, R44).
extension ListSyncTests {
    @Test("R20: an empty answer deletes nothing; a patient run asks once more, a minute later")
    func badMinute() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin)
        let good = origin.names
        origin.before { number, names in names = number == 6 ? [] : good }
        let report = try await sync(bench, origin) { $0.patience = .seconds(90) }
        #expect(report.reconciliation == .unchanged)
        #expect(report.outcome == .complete)
        #expect(origin.requests.count == 7)
        #expect(clock.slept == [.seconds(60)], "not in the same bad minute")
        #expect(try await bench.held == good)
        #expect(try #require(try await bench.list).failures.isEmpty)
    }

    @Test("R20: the doubt outlives a run that is not patient; the same answer, asked for a minute later, is believed")
    func emptied() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin)
        let good = origin.names
        origin.before { _, names in names = [] }
        let began = clock.now()
        // However often it is asked within the minute.
        for _ in 0..<3 {
            let doubted = try await sync(bench, origin)
            #expect(doubted.outcome == .incomplete)
            #expect(doubted.headFailure?.failureClass == .doubtful)
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

    @Test("R20: a list that loses more than half, and says so twice, is believed; another claim is another doubt")
    func shrunk() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        _ = try await sync(bench, origin)
        let good = origin.names
        origin.before { number, names in names = number == 6 ? Array(good.prefix(5)) : Array(good.prefix(6)) }
        let report = try await sync(bench, origin)
        #expect(clock.slept == [.seconds(2), .seconds(2)])
        #expect(report.warnings == ["the origin says twice that the list has shrunk to 6 items"])
        #expect(try await bench.held == Array(good.prefix(6)))
    }

    @Test(
        "a total that counts more than there is becomes an estimate, and does not cost a refetch each time",
        arguments: [
            PagingAccess.offsets, .grid(size: 10), .chain,
        ])
    func lyingTotal(access: PagingAccess) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48), access: access)
        origin.state.withLock { $0.total = { .exact($0 + 30) } }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(report.list?.record.total == .estimate(78))
        #expect(report.list?.record.end == 48)
        let before = origin.requests.count
        #expect(try await sync(bench, origin).reconciliation == .unchanged)
        // Page one, and the end: an estimate does not say whether the list has grown.
        #expect(origin.requests.count - before == 2)
        #expect(try await bench.held == origin.names)
    }

    @Test(
        "R24: a list without totals that grows at its end is seen to have grown",
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
        // What is new, and for offsets page one and the end once more: nothing else says that the list stood still.
        #expect(origin.requests.count - before <= 2 + more / 10 + 1 + (access.isRandom ? 2 : 0))
    }

    @Test("an origin that ignores what it is asked: a loop is told, and page one stays what it was")
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
        "one empty answer in the middle of a load is asked for again, and not taken for the end (R20)",
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

    @Test("R44: a total far too high costs two requests, not thousands")
    func hugeTotal() async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<48))
        origin.state.withLock { $0.total = { _ in .exact(1 << 53) } }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(report.list?.record.end == 48)
        #expect(origin.requests.count < 30)
    }

    @Test(
        "R24: no totals at all: the list ends where it ends", arguments: [PagingAccess.offsets, .chain], [0, 5, 10, 48])
    func noTotals(access: PagingAccess, count: Int) async throws {
        let bench = try await SyncBench(clock)
        let origin = ListOrigin(names(0..<count), access: access)
        origin.state.withLock { $0.total = nil }
        let report = try await sync(bench, origin)
        #expect(report.outcome == .complete)
        #expect(try await bench.held == origin.names)
        #expect(report.list?.record.end == count)
    }

    @Test("R24: a chain that repeats itself is a loop, and stops")
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
        // Twenty answers that repeat, once behind what was stored and once from page one.
        #expect(report.usage.requests <= 2 * 21)
        #expect(try await bench.held == names(0..<10))
    }
}
