import PageModel
import PagedRepositoryTesting
import StorageSupport
import Synchronization
import Testing

@testable import PagedRepository

@Suite("Request limits of background work", .timeLimit(.minutes(20)))
struct EngineLimitsTests {
    /// Counts the requests in flight at an origin.
    ///
    /// State: the current and the largest number of requests in flight, under a mutex.
    private final class CountedSource: PageSource {
        private let origin: StagedOrigin
        private let counts = Mutex((inside: 0, most: 0))

        init(_ origin: StagedOrigin) { self.origin = origin }

        var access: PagingAccess { origin.access }
        var usage: SourceUsage { origin.usage }
        var most: Int { counts.withLock { $0.most } }

        func fetch(_ request: PageRequest) async throws -> PageAnswer {
            counts.withLock { $0 = ($0.inside + 1, max($0.most, $0.inside + 1)) }
            defer { counts.withLock { $0.inside -= 1 } }
            // The yields let other requests arrive at the same time.
            for _ in 0..<20 { await Task.yield() }
            return try await origin.fetch(request)
        }
    }

    private let storage = MemoryStorage(clock: ManualClock())
    private var clock: ManualClock { storage.manualClock }
    private let origin = StagedOrigin()

    private func engine(_ origin: SyncEngine.Origin, _ change: (inout EngineOptions) -> Void = { _ in }) -> SyncEngine {
        var options = EngineOptions()
        options.spread = .zero
        options.lists = 8
        options.listsPerOrigin = 8
        change(&options)
        return SyncEngine(
            storage: storage, options: options, clock: PatientClock(clock), jitter: { 0.5 }, origin: { _ in origin })
    }

    private func pin(_ count: Int) async throws {
        for number in 0..<count {
            let record = try await storage.register(QueryKey("list\(number)"), at: clock.now())
            try await storage.setPinned(true, record.id)
        }
    }

    private func areWhole(_ count: Int) async throws -> Bool {
        for number in 0..<count {
            guard let record = try await storage.query(QueryKey("list\(number)")),
                let outline = try await storage.outline(of: record.id), outline.isComplete
            else { return false }
        }
        return true
    }

    @Test("Eight lists of one origin share its request limit", arguments: [1, 4])
    func perOrigin(_ limit: Int) async throws {
        try await pin(8)
        let source = CountedSource(origin)
        origin.hold()
        let engine = engine(.init("origin", source)) { $0.requestsPerOrigin = limit }
        let running = Task { try await engine.run() }
        await origin.reached(limit)
        for _ in 0..<5_000 { await Task.yield() }
        #expect(origin.requests.count == limit)
        origin.release()
        while try await !areWhole(8) { await Task.yield() }
        running.cancel()
        try await running.value
        #expect(source.most == limit)
    }

    @Test(
        "An origin's own gate limits background and foreground lists together, and a stopped engine leaves it empty")
    func shared() async throws {
        try await pin(4)
        let source = CountedSource(origin)
        let gate = OriginGate(concurrency: 2, clock: clock)
        let engine = engine(.init("origin", source, gate: gate))
        origin.hold()
        let running = Task { try await engine.run() }
        await origin.reached(2)
        while gate.waiting < 2 { await Task.yield() }
        let list = ListRepository(
            storage: storage, codec: JSONItemCodec<Row>(), clock: clock, jitter: { 0.5 },
            source: { _ in gate.limiting(source) }
        ).list(QueryKey("shown"))
        let shown = Task { try await list.loadAll() }
        while gate.waiting < 3 { await Task.yield() }
        for _ in 0..<5_000 { await Task.yield() }
        #expect(origin.requests.count == 2)
        origin.release()
        _ = try await shown.value
        while try await !areWhole(4) { await Task.yield() }
        running.cancel()
        try await running.value
        #expect(source.most == 2)
        #expect(list.current.items.count == 48)
        #expect(gate.waiting == 0 && gate.inFlight == 0)
    }
}
