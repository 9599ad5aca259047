import PageModel
import PagedRepository
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

extension BadInputBench {
    /// - Parameter other: The clock of the engine. `nil` selects the clock of the bench, on which time passes only
    ///   while no task has anything else to do.
    func engine(
        _ source: any PageSource, on other: (any SyncClock)? = nil, _ change: (inout EngineOptions) -> Void = { _ in }
    ) -> SyncEngine {
        var options = EngineOptions()
        options.spread = .zero
        options.sync.overlap = 0
        change(&options)
        let chances = Mutex(-1)
        return SyncEngine(
            storage: storage, options: options, clock: other ?? PatientClock(clock),
            // Each call returns the next of 0, 1/8, 2/8…
            jitter: {
                Double(
                    chances.withLock {
                        $0 += 1; return $0 % 8
                    }) / 8
            }, origin: { _ in .init("origin", source) })
    }

    /// Pins a list, so that background work keeps it complete.
    func pin(_ key: QueryKey? = nil) async throws {
        let record = try await storage.register(key ?? self.key)
        try await storage.setPinned(true, record.id)
    }
}

@Suite("Background work whose source misbehaves", .timeLimit(.minutes(20)))
struct FailingOriginEngineTests {
    private let bench = BadInputBench()

    /// The time since background work began.
    private func elapsed(since began: Timestamp) -> Duration { bench.clock.now() - began }

    @Test("Background work sends 100 requests an hour at most to an origin that always fails (R28)")
    func backOff() async throws {
        try await bench.pin()
        let source = ItemSource<Row>.offsets(pageSize: 10) { _, _ -> [Row] in throw FetchFailure.status(503) }
        let began = bench.clock.now()
        try await bench.engine(source).run {
            source.usage.requests > 100 || elapsed(since: began) > .seconds(3_600)
        }
        #expect(source.usage.requests <= 100)
        // A fetch that was cancelled when the engine stopped is not counted as a failure.
        let entry = try #require(try await bench.outline?.ledger.first)
        #expect(entry.failure?.httpStatus == 503 && entry.attempts >= source.usage.requests - 1)
    }

    @Test("A page one that is refused permanently is fetched once and not retried automatically (R33)")
    func refused() async throws {
        try await bench.pin()
        let source = ItemSource<Row>.offsets(pageSize: 10) { _, _ -> [Row] in throw FetchFailure.status(403) }
        let running = Task { try await bench.engine(source).run() }
        while try await bench.outline?.failures.first?.state != .failedPermanent { await Task.yield() }
        for _ in 0..<5_000 { await Task.yield() }
        #expect(source.usage.requests == 1)
        running.cancel()
        try await running.value
    }

    @Test("A later page refused permanently is fetched once, however often page one is refreshed (R33)")
    func refusedLater() async throws {
        try await bench.pin()
        let refused = Mutex(0)
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, size in
            if offset > 0 {
                refused.withLock { $0 += 1 }
                throw FetchFailure.status(403)
            }
            return ItemPage(items: Row.list(0..<size), total: 20)
        }
        let began = bench.clock.now()
        try await bench.engine(source).run { elapsed(since: began) > .seconds(600) }
        // The engine stops some time after the condition holds, and the clock goes on until then.
        let refreshes = Int(elapsed(since: began) / .seconds(60))
        #expect(refused.withLock { $0 } == 1)
        #expect(source.usage.requests <= 1 + 2 + refreshes, "page one, each time it is stale")
        let list = bench.list(source)
        try await list.load(.cacheOnly)
        try await bench.expectServed(0..<10, list)
        #expect(list.current.failingPages == 1 && list.current.gaps == [10..<20])
    }

    @Test(
        "A source that hangs gets one request, delays no other list and does not prevent the engine from stopping (R30)"
    )
    func hangs() async throws {
        let (deaf, well) = (StagedOrigin(), StagedOrigin())
        deaf.hold()
        let other = QueryKey("other")
        try await bench.pin()
        try await bench.pin(other)
        let engine = SyncEngine(storage: bench.storage, clock: PatientClock(bench.clock), jitter: { 0.5 }) {
            [bench] record in
            record.key == bench.key ? .init("deaf", deaf) : .init("well", well)
        }
        try await engine.run {
            guard deaf.requests.count > 0, let record = try await bench.storage.query(other) else { return false }
            return try await bench.storage.outline(of: record.id)?.isComplete == true
        }
        #expect(deaf.requests.count == 1)
        #expect(try await bench.outline?.ledger.allSatisfy { $0.state != .inFlight && $0.leaseOwner == nil } == true)
        #expect(try await bench.outline?.record.validatedAt == nil, "the list does not count as loaded")
    }

    @Test(
        "The ledger records a repeated page one and an undecodable page, and the good page is kept",
        arguments: [
            FetchFailure.Class.loop, .undecodable,
        ])
    func lies(failureClass: FetchFailure.Class) async throws {
        try await bench.pin()
        let source = ItemSource<Row>.offsets(pageSize: 10) { offset, _ in
            if offset > 0, failureClass == .undecodable {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no JSON"))
            }
            return ItemPage(items: Row.list(0..<10), total: 20)
        }
        try await bench.engine(source).run { try await bench.outline?.failures.isEmpty == false }
        let entry = try #require(try await bench.outline?.failures.first)
        #expect(
            entry.failure?.failureClass == failureClass && entry.state == .failedPermanent && entry.nextAttemptAt == nil
        )
        let list = bench.list(source)
        try await list.load(.cacheOnly)
        try await bench.expectServed(0..<10, list)
        #expect(source.usage.requests <= 12)
    }
}
