import PagedRepository
import PagedRepositoryTesting

enum TestingSnippets {
    static func simulated() async throws -> Bool {
        // snippet: simulated
        let clock = ManualClock()
        let origin = SimulatedOrigin(
            OriginPlan(
                style: .cursor, count: 40, events: [.before(3, .insert(at: .start, count: 2)), .on(5, .transport)]))
        let sync = ListSync(
            storage: MemoryStorage(clock: clock), source: origin, key: "events", clock: clock, jitter: { 0.5 })
        let report = try await sync.run()
        let waited = clock.slept  // the sleeps of the code under test, in order
        // end
        return report.outcome == .complete && !waited.isEmpty
    }

    static func scripted(_ first: FetchedPage, _ key: QueryKey) async throws -> Bool {
        // snippet: scripted
        let origin = ScriptedSource([
            .init(.first, .page(first)),
            .init(.offset(20), fails: FetchFailure(.transport, "cut off", isRetryable: true)),
        ])
        let list = ListRepository(storage: MemoryStorage(), codec: RawItemCodec()) { _ in origin }.list(key)
        try await list.load()
        // end
        return origin.unscripted.isEmpty
    }
}
