#if ServiceLifecycle
import Logging
import PageModel
import PagedRepository
import PagedRepositoryTesting
import ServiceLifecycle
import StorageSupport
import Testing

@Suite("Background work as a service", .timeLimit(.minutes(20)))
struct ServiceTests {
    @Test("A graceful shutdown of the service group stops the engine and releases the pages in flight")
    func gracefulShutdown() async throws {
        let clock = ManualClock()
        let (storage, origin) = (MemoryStorage(clock: clock), StagedOrigin())
        let record = try await storage.register(QueryKey("list"), at: clock.now())
        try await storage.setPinned(true, record.id)
        var options = EngineOptions()
        options.spread = .zero
        let engine = SyncEngine(
            storage: storage, options: options, clock: PatientClock(clock), jitter: { 0.5 },
            origin: { _ in .init("origin", origin) })
        let group = ServiceGroup(services: [engine], logger: Logger(label: "test"))
        origin.hold()
        let running = Task { try await group.run() }
        await origin.reached(1)
        await group.triggerGracefulShutdown()
        try await running.value
        let list = try #require(try await storage.outline(of: record.id))
        #expect(list.ledger.allSatisfy { $0.state != .inFlight })
        origin.release()
    }
}
#endif
