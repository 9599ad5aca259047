import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

/// Forward by a year, and back by a day.
private let jumps: [Duration] = [.seconds(365 * 86_400), .seconds(-86_400)]

/// A clock whose wall time the test can set, and on which time passes only when the test says so. A sleep lasts for a
/// duration, as it does on the system's clock.
///
/// State: the time since the start, the wall time and the sleepers with their deadlines, under a mutex.
private final class WallClock: SyncClock, StorageClock {
    private struct State {
        var uptime = Duration.zero
        var wall = Timestamp(milliseconds: 1_800_000_000_000)
        var sleepers: [Int: (until: Duration, waiter: CheckedContinuation<Void, any Error>)] = [:]
        var nextSleeper = 0
    }

    private let state = Mutex(State())

    func now() -> Timestamp { state.withLock { $0.wall } }
    func uptime() -> Uptime { Uptime(milliseconds: state.withLock { $0.uptime.wholeMilliseconds }, boot: "boot") }

    func sleep(until moment: Timestamp) async throws {
        let number = state.withLock { state in
            state.nextSleeper += 1
            return state.nextSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if moment <= state.wall { return .success(()) }
                    state.sleepers[number] = (state.uptime + (moment - state.wall), waiter)
                    return nil
                }
                if let result { waiter.resume(with: result) }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.waiter.resume(throwing: CancellationError())
        }
    }

    /// Sets the wall clock and lets time pass.
    func jump(by difference: Duration, passing pause: Duration) {
        let due = state.withLock { state in
            state.uptime += pause
            state.wall = state.wall + difference + pause
            let due = state.sleepers.filter { $0.value.until <= state.uptime }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.map(\.waiter)
        }
        for waiter in due { waiter.resume() }
    }

    /// Waits until a task sleeps on this clock. The yields first let every task run that was woken before.
    func isQuiet() async {
        for _ in 0..<2_000 { await Task.yield() }
        while state.withLock({ $0.sleepers.isEmpty }) { await Task.yield() }
    }
}

@Suite("Bad input: a clock that jumps", .timeLimit(.minutes(20)))
struct BadClockTests {
    private let bench = BadInputBench()
    private let origin = StagedOrigin()
    private var clock: ManualClock { bench.clock }

    // MARK: Loads

    @Test(
        "After a clock jump, cached items are served as stale and refreshed once (R29)", arguments: jumps
    )
    func freshness(jump: Duration) async throws {
        let repository = bench.repository(origin)
        let list = repository.list(bench.key)
        try await list.load()
        clock.advance(by: jump)
        try await list.load(.cacheOnly)
        #expect(list.current.freshness == .stale)
        try await bench.expectServed(0..<10, list)
        #expect(origin.requests.count == 1)
        for _ in 0..<3 { try await list.load(.refreshIfStale) }
        #expect(origin.requests.count == 2)
        #expect(list.current.freshness == .fresh)
        clock.advance(by: jump)
        for _ in 0..<3 { #expect(try await repository.page(bench.key, offset: 0, limit: 10).items.count == 10) }
        #expect(origin.requests.count == 3)
    }

    @Test(
        "While the origin is unreachable, expired items and items from the future are served and marked (R15)",
        arguments: jumps)
    func away(jump: Duration) async throws {
        let list = bench.list(origin) { $0.freshness.expiredAfter = .seconds(3_600) }
        try await list.load()
        clock.advance(by: jump)
        origin.fail(FetchFailure(.transport, "the origin does not answer", isRetryable: true))
        #expect(try await list.load(.originFirst) == .cached)
        #expect(list.current.freshness == (jump > .zero ? .expired : .stale))
        #expect(list.current.failure?.kind == .refresh)
        try await bench.expectServed(0..<10, list)
    }

    @Test("A clock jump during a fetch causes no further request, and the answer is stored (R29)", arguments: jumps)
    func underWay(jump: Duration) async throws {
        let list = bench.list(origin)
        try await list.load()
        origin.hold()
        let next = Task { try await list.loadNext() }
        await origin.reached(2)
        clock.advance(by: jump)
        origin.release()
        #expect(try await next.value == .loaded(10))
        try await bench.expectServed(0..<20, list)
        #expect(origin.requests.count == 2)
    }

    // MARK: Retries and leases

    @Test("A retry scheduled before a clock jump is neither frozen nor repeated (R29)", arguments: jumps)
    func scheduledRetry(jump: Duration) async throws {
        let list = bench.list(origin) { ($0.automaticRetry, $0.prefetchLimit) = (.perLedger, 1) }
        try await list.load()
        origin.fail(.status(503))
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        await list.prefetch(from: 9)
        #expect(origin.requests.count == 2, "the retry is not due yet")
        clock.advance(by: jump)
        await list.prefetch(from: 9)
        #expect(origin.requests.count == 3)
        #expect(list.current.failure == nil && list.current.failingPages == 0)
        try await bench.expectServed(0..<20, list)
    }

    @Test(
        "Two loads of one page, before and after a clock jump, both end, and each page is stored once (R29, R30)",
        arguments: jumps)
    func lease(jump: Duration) async throws {
        let (slow, quick) = (bench.list(origin), bench.list(StagedOrigin()))
        try await slow.load()
        origin.hold()
        let first = Task { try await slow.loadNext() }
        await origin.reached(2)
        clock.advance(by: jump)
        let second = Task { try await quick.loadNext() }
        // A running owner renews its lease after half its duration, by the clock as it is now.
        if jump < .zero { #expect(try await second.value == .loaded(10)) }
        origin.release()
        _ = try await (first.value, second.value)
        // A load that starts after the first has finished fetches the next page.
        let held = quick.current.items.count
        #expect(held == 20 || held == 30 && jump > .zero)
        try await slow.load(.cacheOnly)
        try await bench.expectServed(0..<held, slow)
        try await bench.expectServed(0..<held, quick)
        #expect(origin.requests.count == 2)
    }

    @Test("Background work makes a retry that a clock jump put out of reach exactly once (R29)", arguments: jumps)
    func retryInBackground(jump: Duration) async throws {
        let list = bench.list(origin)
        try await list.load()
        origin.fail(.status(503))
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        clock.advance(by: jump)
        let began = clock.now()
        try await bench.engine(origin).run {
            if clock.now() - began > .seconds(600) { return true }
            return try await bench.outline?.coverage.headEnd == 20
        }
        #expect(clock.now() - began <= .seconds(1))
        #expect(try await bench.outline?.coverage.headEnd == 20)
        #expect(try await bench.outline?.failures == [])
        #expect(origin.requests.count == 3)
    }

    @Test("After a year without any process, overdue retries are spread out, and each page is fetched once (R29)")
    func spread() async throws {
        let isWell = Mutex(false)
        let moments = Mutex<[Timestamp]>([])
        let source = ItemSource<Row>.offsets(pageSize: 10) { [clock] offset, size in
            guard offset == 0 || isWell.withLock({ $0 }) else { throw FetchFailure.status(503) }
            moments.withLock { $0.append(clock.now()) }
            return ItemPage(items: Row.list(offset..<offset + size), total: 100)
        }
        let keys = (0..<8).map { QueryKey("list\($0)") }
        for key in keys {
            let list = bench.repository(source).list(key)
            try await list.load()
            await #expect(throws: ListFailure.self) { try await list.loadNext() }
        }
        clock.advance(by: jumps[0])
        isWell.withLock { $0 = true }
        moments.withLock { $0 = [] }
        let began = clock.now()
        let engine = bench.engine(source) { $0.spread = .seconds(80) }
        try await engine.run {
            if clock.now() - began > .seconds(3_600) { return true }
            return try await bench.storage.due(before: clock.now() + .seconds(3_600), limit: 9).isEmpty
        }
        let came = moments.withLock { $0 }
        #expect(came.count == 8)
        #expect(Set(came).count >= 4)
        #expect(came.allSatisfy { $0 - began <= .seconds(80) })
    }

    // MARK: The engine while it sleeps

    @Test(
        "A pinned list is refreshed once after a clock jump, at the time it would have been anyway (R29)",
        arguments: jumps)
    func sleepingEngine(jump: Duration) async throws {
        let (clock, origin) = (WallClock(), StagedOrigin(8))
        let bench = BadInputBench(clock)
        try await bench.pin()
        let running = Task { try await bench.engine(origin, on: clock).run() }
        await origin.reached(1)
        await clock.isQuiet()
        clock.jump(by: jump, passing: .seconds(60))
        await origin.reached(2)
        await clock.isQuiet()
        #expect(origin.requests.count == 2)
        clock.jump(by: .zero, passing: .seconds(60))
        await origin.reached(3)
        running.cancel()
        try await running.value
        #expect(try await bench.outline?.isComplete == true)
    }

    @Test(
        "An unreachable origin is retried after the usual pause, whatever the wall clock shows (R29, R32)",
        arguments: jumps)
    func awayInBackground(jump: Duration) async throws {
        let (clock, origin) = (WallClock(), StagedOrigin(8))
        let bench = BadInputBench(clock)
        try await bench.pin()
        origin.fail(FetchFailure(.transport, "the origin does not answer", isRetryable: true))
        let running = Task {
            try await bench.engine(origin, on: clock) { $0.sync.transportFailuresUntilOffline = 1 }.run()
        }
        await origin.reached(1)
        await clock.isQuiet()
        clock.jump(by: jump, passing: .seconds(1))
        for _ in 0..<3 where origin.requests.count < 2 {
            await clock.isQuiet()
            clock.jump(by: .zero, passing: .seconds(30))
        }
        for _ in 0..<5_000 where origin.requests.count < 2 { await Task.yield() }
        #expect(origin.requests.count == 2)
        running.cancel()
        try await running.value
    }
}
