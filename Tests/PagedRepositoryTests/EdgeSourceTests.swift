import Foundation
import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting
import Synchronization
import Testing

/// Blocks its callers, cancelled or not, until the test ends them.
///
/// State: the waiting callers, under a mutex.
final class DeafSource: Sendable {
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

    var callers: Int { waiting.withLock { $0.count } }

    func wait() async { await withCheckedContinuation { caller in waiting.withLock { $0.append(caller) } } }

    func release() {
        let callers = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for caller in callers { caller.resume() }
    }
}

@Suite(
    "At the edge of an application: source calls that hang, cancel themselves or call back", .timeLimit(.minutes(20)))
struct EdgeSourceTests {
    private let bench = BadInputBench()

    // MARK: Calls that ignore cancellation (X14)

    @Test("A source call that never ends is abandoned after its time limit, and other callers can load the list (X14)")
    func neverEnds() async throws {
        let deaf = DeafSource()
        var source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            await deaf.wait()
            return ItemPage(items: Row.list(100..<110), total: 110)
        }
        source.timeLimit = .milliseconds(5)
        let list = bench.list(source)
        let failure = await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(failure?.failure.failureClass == .timeout && list.current.failure == failure)
        #expect(try await bench.outline?.failures.first?.failure?.failureClass == .timeout)
        #expect(try await bench.outline?.ledger.contains { $0.state == .inFlight } == false)
        let other = bench.list(StagedOrigin())
        #expect(try await other.load() == .loaded(10))
        // The late answer of the first call is dropped.
        #expect(deaf.callers == 1)
        deaf.release()
        try await other.loadAll()
        try await bench.expectServed(0..<48, other)
    }

    @Test("The cancellation of the last caller ends the run, although the source call ignores it (X14)")
    func ignoresCancellation() async throws {
        let deaf = DeafSource()
        var source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            await deaf.wait()
            return ItemPage(items: Row.list(offset..<offset + size), total: 48)
        }
        source.timeLimit = nil
        let list = bench.list(source)
        let loading = Task { try await list.load() }
        while deaf.callers == 0 { await Task.yield() }
        loading.cancel()
        await #expect(throws: CancellationError.self) { try await loading.value }
        while list.current.isLoading { await Task.yield() }
        #expect(try await bench.outline?.ledger.contains { $0.state == .inFlight } == false)
        #expect(try await bench.list(StagedOrigin()).load() == .loaded(10))
        deaf.release()
    }

    @Test("A source that throws CancellationError without being cancelled fails, and the retry asks for the same page")
    func cancelsItself() async throws {
        let isBroken = Mutex(false)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            if isBroken.withLock({ $0 }) { throw CancellationError() }
            return ItemPage(items: Row.list(offset..<min(offset + size, 48)), total: 48)
        }
        let list = bench.list(source)
        try await list.load()
        isBroken.withLock { $0 = true }
        let failure = await #expect(throws: ListFailure.self) { try await list.loadNext() }
        #expect(failure?.kind == .next && failure?.failure.failureClass == .transport)
        #expect(list.current.displayState == failure.map { .nextFailed($0) })
        isBroken.withLock { $0 = false }
        #expect(try await list.retry() == .loaded(10))
        try await bench.expectServed(0..<20, list)
    }

    // MARK: A source that uses its own list

    @Test("A source that loads its own list gets an error instead of waiting for itself")
    func callsBack() async throws {
        let place = Mutex<PagedList<Row>?>(nil)
        let thrown = Mutex<[any Error]>([])
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            let list = place.withLock { $0 }
            do { _ = try await list?.refresh() } catch { thrown.withLock { $0.append(error) } }
            do { _ = try await list?.loadNext() } catch { thrown.withLock { $0.append(error) } }
            return ItemPage(items: Row.list(offset..<min(offset + size, 48)), total: 48)
        }
        let list = bench.list(source)
        place.withLock { $0 = list }
        #expect(try await list.load() == .loaded(10))
        #expect(thrown.withLock { $0.count } == 2)
        #expect(thrown.withLock { $0.allSatisfy { $0 is ListFailure } })
        place.withLock { $0 = nil }
    }

    @Test("A source that prefetches its own list does not wait for itself")
    func prefetchesItself() async throws {
        let place = Mutex<PagedList<Row>?>(nil)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            let list = place.withLock { $0 }
            await list?.prefetch(from: 9)
            return ItemPage(items: Row.list(offset..<min(offset + size, 48)), total: 48)
        }
        let list = bench.list(source)
        try await list.load()
        place.withLock { $0 = list }
        #expect(try await list.loadNext() == .loaded(10))
        place.withLock { $0 = nil }
        await list.settled()
        #expect(list.current.items.count >= 20 && list.current.failure == nil)
    }

    @Test("A source that waits for its own list, or loads it by another repository, does not wait for itself")
    func callsBackElsewhere() async throws {
        let place = Mutex<(list: PagedList<Row>, other: ListRepository<Row>)?>(nil)
        let thrown = Mutex<[any Error]>([])
        let source = ItemSource<Row>.offsets(pageSize: 10) { [key = bench.key] offset, size in
            let known = place.withLock { $0 }
            await known?.list.settled()
            do { _ = try await known?.other.list(key).refresh() } catch { thrown.withLock { $0.append(error) } }
            do { _ = try await known?.other.page(key, offset: 0, limit: 5, policy: .originFirst) } catch {
                thrown.withLock { $0.append(error) }
            }
            return ItemPage(items: Row.list(offset..<min(offset + size, 48)), total: 48)
        }
        let list = bench.list(source)
        place.withLock { $0 = (list, bench.repository(source)) }
        #expect(try await list.load() == .loaded(10))
        #expect(thrown.withLock { $0.count } == 2)
        #expect(thrown.withLock { $0.allSatisfy { $0 is ListFailure } })
        place.withLock { $0 = nil }
    }

    @Test("A failure is one line, and has the words of the source's error where the options allow it")
    func oneLine() async throws {
        struct Asleep: LocalizedError { var errorDescription: String? { "The server\nis asleep." } }
        let source = ItemSource<Row>.offsets(pageSize: 10) { _, _ -> [Row] in throw Asleep() }
        let list = bench.list(source) { $0.sync.recordsErrorText = true }
        let failure = await #expect(throws: ListFailure.self) { try await list.load() }
        #expect(failure?.failure.message == "the source threw Asleep: The server is asleep.")
        #expect(failure?.cause is Asleep)
        let own = FetchFailure(.rejected, "first\nsecond\r\nthird", isRetryable: false)
        #expect(own.description == "rejected: first second third")
    }

    // MARK: Odd answers

    @Test("One answer of 200,000 items is shown up to the item limit, and items with equal or empty ids are all shown")
    func oddAnswers() async throws {
        let many = ItemSource<Row>.offsets(pageSize: 10) { offset, _ in
            offset == 0 ? (0..<200_000).map { Row(id: "\($0)", number: $0) } : []
        }
        let list = bench.repository(many) { $0.sync.pagesPerQuery = 10 }.list("many")
        try await list.load()
        #expect(list.current.displayState == .items && list.current.items.count == 100_000)
        #expect(list.current.hasMore && list.current.isAtItemLimit)
        for name in ["", "same"] {
            let equal = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
                (offset..<max(offset, min(offset + size, 25))).map { Row(id: name, number: $0) }
            }
            let list = bench.repository(equal).list(QueryKey("list \(name)"))
            try await list.loadAll()
            #expect(list.current.items.map(\.number) == Array(0..<25))
            #expect(list.current.isAtEnd)
        }
    }
}

@Suite("At the edge of an application: a list that background work fetches", .timeLimit(.minutes(20)))
struct EdgeObserverTests {
    private let bench = BadInputBench()
    private let unavailable = FetchFailure(.server, "the origin answered 503", isRetryable: true, httpStatus: 503)

    /// Another run on the same storage, as a `SyncEngine` makes it.
    private func backgroundRefresh(_ origin: StagedOrigin) -> ListSync {
        var options = SyncOptions()
        options.work = .refresh
        options.retryWaitBudget = .zero
        return ListSync(storage: bench.storage, source: origin, key: bench.key, options: options, clock: bench.clock)
    }

    @Test("An observer that comes after background work has failed sees the failure until the retry")
    func comesLater() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        origin.fail(unavailable)
        _ = try await backgroundRefresh(origin).run()
        var snapshots = list.snapshots.makeAsyncIterator()
        while let snapshot = await snapshots.next(), snapshot.failure == nil {}
        #expect(list.current.failure?.kind == .refresh && list.current.items.count == 10)
        #expect(try await list.retry() == .upToDate)
        #expect(list.current.failure == nil && origin.requests.map(\.target) == [.first, .first, .first])
    }

    @Test("A failure of background work during a load of the next page is shown when the load has ended")
    func failsMeanwhile() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        var snapshots = list.snapshots.makeAsyncIterator()
        try await list.load()
        origin.hold()
        let next = Task { try await list.loadNext() }
        await origin.reached(2)
        let other = StagedOrigin()
        other.fail(unavailable)
        _ = try await backgroundRefresh(other).run()
        // The notice arrives while the list loads.
        for _ in 0..<200 { await Task.yield() }
        origin.release()
        #expect(try await next.value == .loaded(10))
        while let snapshot = await snapshots.next(), snapshot.failure == nil {}
        #expect(list.current.failure?.kind == .refresh && list.current.items.count == 20)
    }

    @Test("An observer sees that background work could not fetch the list, and that the next attempt succeeded")
    func failsElsewhere() async throws {
        let origin = StagedOrigin()
        let list = bench.list(origin)
        try await list.load()
        var snapshots = list.snapshots.makeAsyncIterator()
        let sync = backgroundRefresh(origin)
        origin.fail(unavailable)
        _ = try await sync.run()
        while let snapshot = await snapshots.next(), snapshot.failure == nil {}
        #expect(list.current.failure?.kind == .refresh && list.current.failure?.failure.httpStatus == 503)
        #expect(list.current.items.count == 10)
        _ = try await sync.run()
        while let snapshot = await snapshots.next(), snapshot.failure != nil {}
        #expect(list.current.failure == nil)
    }
}
