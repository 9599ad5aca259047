import Measuring
import PageModel
import PageStore
import PagedRepository

/// The cost of an idle engine, and of its look at all lists.
enum IdleEngine {
    private static let lists = 1_000

    static func run(seconds: Int, rounds: Int) async throws {
        // One more list is not pinned, so that commits to it are no work for the engine.
        try await StoredLists<Label>.with(lists: lists + 1) { stored in
            for query in stored.queries.prefix(lists) { try await stored.store.setPinned(true, query) }
            try await run(stored, seconds, rounds)
        }
    }

    private static func run(_ stored: StoredLists<Label>, _ seconds: Int, _ rounds: Int) async throws {
        try await Machine.settled()
        let asleep = try await Machine.idleCost(seconds: seconds)

        var options = EngineOptions()
        // Fresh for as long as this takes.
        options.freshness.staleAfter = .seconds(86_400)
        let looked = Countdown()
        looked.expect(lists)
        // An engine asks for the origin of every list that it looks at.
        let engine = SyncEngine(
            storage: stored.store, options: options,
            origin: { _ in
                looked.arrived()
                return SyncEngine.Origin("origin", UnusedSource())
            })
        let (start, before) = (ContinuousClock.now, Machine.processorTime)
        let running = Task { try await engine.run() }
        await looked.all()
        let first = (wall: ContinuousClock.now - start, processor: Machine.processorTime - before)

        try await Machine.settled()
        let idle = try await Machine.idleCost(seconds: seconds)
        let looks = try await looks(stored, looked, rounds)
        running.cancel()
        try await running.value

        Figure.title("an engine over \(lists) pinned lists, fresh and whole. limit: the same process without it")
        Figure("idle: processor time a second (1.00 is 0.1 % of a core), ms", idle, limit: asleep, target: .atMost(1))
            .print()
        Figure("its first look at all lists, ms", first.wall.milliseconds).print()
        Figure("  of processor time, ms", first.processor.milliseconds).print()
        Figure("a commit to another list, and the look that follows, µs", looks).print()
    }

    /// Each commit says that a list was validated, which may be work; it is found not to be.
    private static func looks(_ stored: StoredLists<Label>, _ looked: Countdown, _ rounds: Int) async throws -> Samples
    {
        let query = stored.queries[lists]
        guard let version = try await stored.store.outline(of: query)?.record.version else {
            throw Unexpected("expected: a list")
        }
        var samples = Samples()
        for round in 1...rounds {
            stored.clock.set(to: stored.filledAt + .milliseconds(round))
            let plan = CommitPlan(query: query, version: version, edits: [.validated])
            looked.expect(lists)
            try await samples.time {
                try expect(try await stored.store.commit(plan) == .committed(version), "a commit")
                await looked.all()
            }
        }
        return samples
    }
}
