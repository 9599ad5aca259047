import Measuring
import PageModel
import PageStore
import PagedRepository

/// How long a commit takes to reach everybody who listens to a list, against as many streams of plain numbers.
enum Observers {
    static func run(_ count: Int, rounds: Int) async throws {
        try await StoredLists<Product>.with(lists: 1_000) { stored in
            let list = stored.list(0, of: stored.repository())
            let (bareAttached, barely) = try await bare(count, rounds)

            let countdown = Countdown()
            countdown.expect(count, toSee: stored.filledAt.milliseconds)
            let start = ContinuousClock.now
            let listeners = (0..<count).map { _ in
                let snapshots = list.snapshots
                return Task {
                    var last: Int64 = 0
                    for await snapshot in snapshots {
                        let stamp = snapshot.validatedAt?.milliseconds ?? 0
                        countdown.saw(stamp, after: last)
                        last = max(last, stamp)
                    }
                }
            }
            await countdown.all()
            let attached = ContinuousClock.now - start
            let settled = try await Machine.settled() - start
            let told = try await commits(to: stored, rounds, countdown, count)
            for listener in listeners { listener.cancel() }
            for listener in listeners { await listener.value }

            let limit = bareAttached.milliseconds
            Figure.title("\(count) observers of one list. limit: as many streams of numbers")
            Figure("attached, until each has its first items, ms", attached.milliseconds, limit: limit).print()
            Figure("attached, until no task runs, ms", max(attached, settled).milliseconds, limit: limit).print()
            Figure("from before a commit until all have its snapshot, µs", told, limit: barely).print()
        }
    }

    /// Page one is confirmed: no item changes, the age of the list does.
    private static func commits(
        to stored: StoredLists<Product>, _ rounds: Int, _ countdown: Countdown, _ count: Int
    ) async throws -> Samples {
        let query = stored.queries[0]
        guard let version = try await stored.store.outline(of: query)?.record.version else {
            throw Unexpected("expected: a list")
        }
        var samples = Samples()
        for round in 1...rounds {
            let moment = stored.filledAt + .milliseconds(round)
            stored.clock.set(to: moment)
            let plan = CommitPlan(
                query: query, version: version, edits: [.touchPage(offset: 0, validator: nil), .validated])
            countdown.expect(count, toSee: moment.milliseconds)
            try await samples.time {
                try expect(try await stored.store.commit(plan) == .committed(version), "a commit")
                await countdown.all()
            }
        }
        return samples
    }

    /// The same without lists: nothing but waking everybody.
    private static func bare(_ count: Int, _ rounds: Int) async throws -> (attached: Duration, told: Samples) {
        let countdown = Countdown()
        countdown.expect(count, toSee: 1)
        var continuations: [AsyncStream<Int64>.Continuation] = []
        var listeners: [Task<Void, Never>] = []
        let start = ContinuousClock.now
        for _ in 0..<count {
            let (numbers, continuation) = AsyncStream<Int64>.makeStream(bufferingPolicy: .bufferingNewest(1))
            continuations.append(continuation)
            listeners.append(
                Task {
                    var last: Int64 = 0
                    for await number in numbers {
                        countdown.saw(number, after: last)
                        last = number
                    }
                })
            continuation.yield(1)
        }
        await countdown.all()
        let attached = ContinuousClock.now - start
        try await Machine.settled()
        var samples = Samples()
        for round in 2...Int64(rounds + 1) {
            countdown.expect(count, toSee: round)
            await samples.time {
                for continuation in continuations { continuation.yield(round) }
                await countdown.all()
            }
        }
        for continuation in continuations { continuation.finish() }
        for listener in listeners { await listener.value }
        return (attached, samples)
    }
}
