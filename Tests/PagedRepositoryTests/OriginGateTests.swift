import PageModel
import PagedRepositoryTesting
import Synchronization
import Testing

@testable import PagedRepository

@Suite("Gate of an origin", .timeLimit(.minutes(20)))
struct OriginGateTests {
    private struct Odd: Error, Equatable { var number: Int }

    private let clock = ManualClock()
    private let start = ManualClock().now()

    /// Starts a request. Returns once the request waits at the gate or is in flight.
    private func ask(_ source: any PageSource, _ offset: Int, at gate: OriginGate) async -> Task<Void, any Error> {
        let before = gate.waiting + gate.inFlight
        let task = Task { try await source.fetch(offset) }
        await until { gate.waiting + gate.inFlight > before }
        return task
    }

    private func until(_ condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    @Test("The gate limits the requests in flight across all sources")
    func concurrency() async throws {
        let gate = OriginGate(concurrency: 4, clock: clock)
        let origin = CrowdedOrigin(clock, isOpen: false)
        let sources = (0..<3).map { _ in gate.limiting(origin) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                let source = sources[number % 3]
                group.addTask { try await source.fetch(number) }
            }
            await until { gate.waiting == 16 && origin.served.count == 4 }
            for number in origin.served { origin.letOut(number) }
            await until { gate.waiting == 12 && origin.served.count == 8 }
            origin.open()
            try await group.waitForAll()
        }
        #expect(origin.served.sorted() == Array(0..<20))
        #expect(origin.most == 4)
        #expect(gate.waiting == 0 && gate.inFlight == 0)
    }

    @Test("The gate admits requests in the order of their arrival")
    func order() async throws {
        let gate = OriginGate(concurrency: 1, clock: clock)
        let origin = CrowdedOrigin(clock, isOpen: false)
        let source = gate.limiting(origin)
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<6 { tasks.append(await ask(source, number, at: gate)) }
        for number in 0..<6 {
            await until { origin.served.count == number + 1 }
            #expect(origin.served.last == number)
            origin.letOut(number)
        }
        for task in tasks { try await task.value }
    }

    @Test("A request cancelled in the queue gives up its own place at once and no other place")
    func cancelledInLine() async throws {
        let gate = OriginGate(concurrency: 1, clock: clock)
        let origin = CrowdedOrigin(clock, isOpen: false)
        let source = gate.limiting(origin)
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<4 { tasks.append(await ask(source, number, at: gate)) }
        for number in 1...2 {
            tasks[number].cancel()
            await #expect(throws: CancellationError.self) { try await tasks[number].value }
        }
        #expect(gate.waiting == 1 && gate.inFlight == 1)
        origin.open()
        try await tasks[0].value
        try await tasks[3].value
        #expect(origin.served == [0, 3])
        #expect(gate.waiting == 0 && gate.inFlight == 0)
    }

    @Test("A request cancelled while it waits for the rate limit leaves its time to the next request")
    func cancelledAsleep() async throws {
        let gate = OriginGate(concurrency: 4, requestsPerSecond: 1, clock: WaitedClock(clock))
        let origin = CrowdedOrigin(clock)
        let source = gate.limiting(origin)
        try await source.fetch(0)
        let second = await ask(source, 1, at: gate)
        let third = await ask(source, 2, at: gate)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(gate.waiting == 1 && origin.served == [0])
        clock.advance(by: .seconds(1))
        try await third.value
        #expect(origin.moments == [start, start + .seconds(1)])
        #expect(gate.waiting == 0 && gate.inFlight == 0)
    }

    @Test("A request cancelled before it starts does not reach the origin")
    func cancelledBefore() async throws {
        let gate = OriginGate(clock: clock)
        let origin = CrowdedOrigin(clock)
        let source = gate.limiting(origin)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await source.fetch(0)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(origin.served == [])
        #expect(gate.waiting == 0 && gate.inFlight == 0)
    }

    @Test("A request cancelled at the moment of its turn loses no place of the gate", arguments: [true, false])
    func cancelledAtTheTurn(_ cancelsFirst: Bool) async throws {
        let gate = OriginGate(concurrency: 1, clock: clock)
        let source = gate.limiting(CrowdedOrigin(clock))
        for number in 0..<500 {
            try await gate.enter()
            let unlucky = await ask(source, number, at: gate)
            let next = await ask(source, number, at: gate)
            await withTaskGroup(of: Void.self) { group in
                if cancelsFirst { group.addTask { unlucky.cancel() } }
                group.addTask { gate.leave() }
                if !cancelsFirst { group.addTask { unlucky.cancel() } }
            }
            try await next.value
            if case .failure(let error) = await unlucky.result { #expect(error is CancellationError) }
            #expect(gate.waiting == 0 && gate.inFlight == 0)
        }
    }

    @Test("An error frees the place and is rethrown unchanged")
    func errors() async throws {
        let gate = OriginGate(concurrency: 1, clock: clock)
        let origin = CrowdedOrigin(clock)
        let source = gate.limiting(origin)
        for number in 0..<3 {
            origin.fail(number, with: Odd(number: number))
            await #expect(throws: Odd(number: number)) { try await source.fetch(number) }
        }
        let failure = FetchFailure.status(429, retryAfter: .seconds(7))
        origin.fail(3, with: failure)
        await #expect(throws: failure) { try await source.fetch(3) }
        try await source.fetch(4)
        #expect(gate.waiting == 0 && gate.inFlight == 0)
    }

    @Test(
        "After Retry-After, all requests to the origin wait, including the ones already in the queue (R28)",
        arguments: [429, 503])
    func quiet(_ status: Int) async throws {
        let gate = OriginGate(concurrency: 1, clock: clock)
        let origin = CrowdedOrigin(clock, isOpen: false)
        let first = await ask(gate.limiting(origin), 0, at: gate)
        await until { origin.served == [0] }
        let waiting = await ask(gate.limiting(origin), 1, at: gate)
        origin.fail(0, with: FetchFailure.status(status, retryAfter: .seconds(10)))
        origin.open()
        await #expect(throws: FetchFailure.self) { try await first.value }
        try await waiting.value
        try await gate.limiting(origin).fetch(2)
        #expect(origin.moments == [start, start + .seconds(10), start + .seconds(10)])
        #expect(clock.slept == [.seconds(10)])
    }

    @Test(
        "The pause after a Retry-After is capped at longestRetryAfterHold, and no clock set back extends it (R29)"
    )
    func longestRetryAfterHold() async throws {
        let gate = OriginGate(longestRetryAfterHold: .seconds(20), clock: clock)
        let origin = CrowdedOrigin(clock)
        let source = gate.limiting(origin)
        origin.fail(0, with: FetchFailure.status(503, retryAfter: .seconds(86_400)))
        await #expect(throws: FetchFailure.self) { try await source.fetch(0) }
        clock.advance(by: .seconds(-3_600))
        try await source.fetch(1)
        #expect(clock.slept == [.seconds(20)])
    }

    @Test("Ten requests at two a second take four and a half seconds")
    func rate() async throws {
        let gate = OriginGate(requestsPerSecond: 2, clock: clock)
        let source = gate.limiting(CrowdedOrigin(clock))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10 { group.addTask { try await source.fetch(number) } }
            try await group.waitForAll()
        }
        #expect(clock.now() - start == .milliseconds(4_500))
        #expect(clock.slept == Array(repeating: .milliseconds(500), count: 9))
    }

    @Test("A gate with a rate that is not greater than 0 traps when it is made, because it would admit no request")
    func noRate() async {
        await #expect(processExitsWith: .failure) { _ = OriginGate(requestsPerSecond: 0) }
        await #expect(processExitsWith: .failure) { _ = OriginGate(requestsPerSecond: -1) }
        await #expect(processExitsWith: .failure) { _ = OriginGate(requestsPerSecond: .nan) }
        _ = OriginGate(requestsPerSecond: .infinity)
        _ = OriginGate(requestsPerSecond: .leastNonzeroMagnitude)
    }

    @Test("The gate forwards the properties of a source, and wrapping a source twice in one gate limits it once")
    func relays() async throws {
        let gate = OriginGate(concurrency: 1, clock: clock)
        let origin = CrowdedOrigin(clock)
        let once = gate.limiting(origin)
        let twice = gate.limiting(once)
        for source in [once, twice, OriginGate(concurrency: 1, clock: clock).limiting(once)] {
            try await source.fetch(0)
            #expect(source.access == .grid(size: 7))
            #expect(source.largestOverlap == 3)
            #expect(source.probeSize == 2)
            #expect(source.usage == origin.usage)
        }
        #expect(origin.served.count == 3)
    }
}

/// A manual clock whose time passes only when the test says so.
private struct WaitedClock: SyncClock {
    private let clock: ManualClock
    init(_ clock: ManualClock) { self.clock = clock }

    func now() -> Timestamp { clock.now() }
    func sleep(until moment: Timestamp) async throws { try await clock.alarm(at: moment) }
}
