import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@Suite("Background work")
struct SyncEngineTests {
    private let storage = MemoryStorage(clock: ManualClock())
    private var clock: ManualClock { storage.manualClock }

    private func engine(
        _ origin: any PageSource, _ change: (inout EngineOptions) -> Void = { _ in }
    ) -> SyncEngine {
        var options = EngineOptions()
        options.spread = .zero
        change(&options)
        return SyncEngine(
            storage: storage, options: options, clock: PatientClock(clock), jitter: { 0.5 },
            origin: { _ in .init("origin", origin) })
    }

    private func list(_ origin: StagedOrigin, _ name: String = "list") -> PagedList<Row> {
        ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: clock, jitter: { 0.5 }, source: { _ in origin }
        )
        .list(QueryKey(name))
    }

    private func outline(_ name: String = "list") async throws -> ListOutline {
        let record = try #require(try await storage.query(QueryKey(name)))
        return try #require(try await storage.outline(of: record.id))
    }

    @Test("A pinned list is loaded completely, and its page one is refreshed when it is stale")
    func pinned() async throws {
        let origin = StagedOrigin()
        let record = try await storage.register(QueryKey("list"), at: clock.now())
        try await storage.setPinned(true, record.id)
        let engine = engine(origin)
        try await engine.run { try await outline().isComplete }
        let before = origin.requests.count
        #expect(before >= 5)
        clock.advance(by: .seconds(61))
        origin.rows.insert(StagedOrigin.row(99), at: 0)
        try await engine.run { try await outline().coverage.count == 49 }
        #expect(origin.requests.count == before + 1)
    }

    @Test("A list that is neither pinned nor observed is not refreshed")
    func unwanted() async throws {
        let origin = StagedOrigin()
        try await list(origin).load()
        clock.advance(by: .seconds(3_600))
        let before = origin.requests.count
        let running = Task { try await engine(origin).run() }
        for _ in 0..<5_000 { await Task.yield() }
        #expect(origin.requests.count == before)
        running.cancel()
        try await running.value
    }

    @Test("An observed list is refreshed as soon as it is stale, and not before")
    func observed() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        var snapshots = list.snapshots.makeAsyncIterator()
        _ = await snapshots.next()
        while storage.observedQueries.isEmpty { await Task.yield() }
        let engine = engine(origin)
        origin.rows.insert(StagedOrigin.row(99), at: 0)
        try await engine.run { list.current.items.first?.number == 99 }
        #expect(clock.now() - Timestamp(milliseconds: 1_800_000_000_000) >= .seconds(60), "the list was stale")
        #expect(origin.requests.count == 2)
    }

    @Test("A failed page is fetched at its retry time (R28, R33)")
    func retries() async throws {
        let origin = StagedOrigin()
        let list = list(origin)
        try await list.load()
        origin.fail(.status(503))
        await #expect(throws: ListFailure.self) { try await list.loadNext() }
        let failing = try #require(try await outline().failures.first)
        try await engine(origin).run { try await outline().coverage.headEnd >= 19 }
        #expect(clock.now() >= (try #require(failing.nextAttemptAt)))
        #expect(try await outline().failures.isEmpty)
        #expect(origin.requests.count == 3)
    }

    @Test("An unreachable origin is probed from time to time, and all waiting lists are fetched after its return (R32)")
    func away() async throws {
        let origin = StagedOrigin()
        for number in 0..<8 {
            let record = try await storage.register(QueryKey("list\(number)"), at: clock.now())
            try await storage.setPinned(true, record.id)
        }
        let failure = FetchFailure(.transport, "not heard", isRetryable: true)
        for _ in 0..<12 { origin.fail(failure) }
        try await engine(origin).run {
            for number in 0..<8 where try await !outline("list\(number)").isComplete { return false }
            return true
        }
        let whole = 8 * 6
        #expect(
            origin.requests.count <= 12 + whole + 8,
            "\(origin.requests.count): lists that are stale by then are refreshed")
        #expect(clock.now() - Timestamp(milliseconds: 1_800_000_000_000) >= .seconds(60), "left alone meanwhile")
    }

    @Test("A storage whose server is away for a while does not end the engine")
    func serverAway() async throws {
        let origin = StagedOrigin()
        let record = try await storage.register(QueryKey("list"), at: clock.now())
        try await storage.setPinned(true, record.id)
        var options = EngineOptions()
        options.spread = .zero
        let engine = SyncEngine(
            storage: AwayStorage(storage, calls: 3), options: options, clock: PatientClock(clock), jitter: { 0.5 },
            origin: { _ in .init("origin", origin) })
        let began = clock.now()
        let running = Task { try await engine.run() }
        // The bound counts when the engine has ended.
        for _ in 0..<1_000_000 {
            if try await outline().isComplete { break }
            await Task.yield()
        }
        running.cancel()
        try await running.value
        #expect(try await outline().isComplete)
        #expect(clock.now() - began >= options.circuitPause * 3, "the engine waits before it looks again")
    }

    @Test("An engine stopped in the middle of a fetch leaves no lease behind (R30)")
    func shutdown() async throws {
        let origin = StagedOrigin()
        let record = try await storage.register(QueryKey("list"), at: clock.now())
        try await storage.setPinned(true, record.id)
        origin.hold()
        try await engine(origin).run { origin.requests.count >= 1 }
        #expect(try await outline().ledger.allSatisfy { $0.state != .inFlight })
        origin.release()
        try await engine(origin).run { try await outline().isComplete }
    }

    @Test("The engine limits the lists that it works on at one origin")
    func limits() async throws {
        let origin = StagedOrigin()
        for number in 0..<8 {
            let record = try await storage.register(QueryKey("list\(number)"), at: clock.now())
            try await storage.setPinned(true, record.id)
        }
        origin.hold()
        let running = Task { try await engine(origin) { $0.listsPerOrigin = 3 }.run() }
        await origin.reached(3)
        for _ in 0..<5_000 { await Task.yield() }
        #expect(origin.requests.count == 3)
        origin.release()
        running.cancel()
        try await running.value
    }
}

/// A storage whose server cannot be reached during the first calls.
///
/// State: the number of calls that are left to fail, under a mutex.
private final class AwayStorage: RelayedStorage {
    let storage: any PageStorage
    private let calls: Mutex<Int>

    init(_ storage: any PageStorage, calls: Int) {
        self.storage = storage
        self.calls = Mutex(calls)
    }

    func relay<Value: Sendable>(
        _ call: StorageCall, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let isAway = calls.withLock { calls in
            calls -= 1
            return calls >= 0
        }
        if isAway { throw StorageError(.unavailable, "the server is away") }
        return try await body()
    }
}

/// A manual clock for the engine. A sleep first yields many times, so that time passes only while other tasks have no
/// work.
struct PatientClock: SyncClock {
    private let clock: ManualClock
    init(_ clock: ManualClock) { self.clock = clock }

    func now() -> Timestamp { clock.now() }

    func sleep(until moment: Timestamp) async throws {
        for _ in 0..<2_000 {
            try Task.checkCancellation()
            await Task.yield()
        }
        try await clock.sleep(until: moment)
    }
}
